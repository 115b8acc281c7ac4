/* Files: read whole, map, and write under a temporary name that is renamed when all went well. */
#ifndef QH_BASE_FILE_H
#define QH_BASE_FILE_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A read-only mapping of a whole file. */
typedef struct qh_map {
    const uint8_t *data;
    int64_t size;
} qh_map;

/* Errors: QH_EINPUT naming the path and the system's reason. An empty file maps to size 0. */
qh_status qh_map_open(const char *path, qh_map *out);
void qh_map_close(qh_map *map);

/* The whole file as a NUL-ended text the caller frees with qh_mem_free; refuses more than
 * max_bytes. Errors: QH_EINPUT. */
qh_status qh_file_read_text(const char *path, int64_t max_bytes, char **out);

/* A file being written: text and bytes go to PATH.tmp.PID; commit flushes, syncs and renames it
 * to PATH, abort removes it. A short write (full disk) is an error at the latest in commit. */
typedef struct qh_output qh_output;

qh_status qh_output_open(const char *path, qh_output **out);
FILE *qh_output_stream(qh_output *o);      /* borrowed; for fprintf and fwrite */
qh_status qh_output_commit(qh_output **o); /* sets *o to NULL, done or failed */
void qh_output_abort(qh_output **o);       /* NULL is fine */

/* Unlinks the temporary files of all outputs that are open: for a signal handler that ends the
 * program (async-signal-safe). Of more than 32 at once the later ones are left. */
void qh_output_remove_open(void);

qh_status qh_make_folder(const char *path); /* parents too; existing is fine. QH_ERESOURCE */
bool qh_is_folder(const char *path);
bool qh_file_exists(const char *path);

#endif
