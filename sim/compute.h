/* Compute models: the duration of a recorded operation.
 *
 * modeled: roofline, launch + max(flops / (peak * efficiency), bytes / (bandwidth * efficiency)),
 * Williams, Waterman and Patterson, CACM 52(4), 2009; independent of the host. measured: the CPU
 * time that the sink stamped, times a factor. */
#ifndef QH_SIM_COMPUTE_H
#define QH_SIM_COMPUTE_H

#include "src/base/units.h"
#include "src/record/record.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct qh_accelerator {
    char *name, *about; /* owned */
    double peak_flops;  /* per second, fp32 */
    double memory_bytes_per_s;
    double copy_bytes_per_s; /* device to host and back, for staging; 0: its memory is the host's */
    qh_time launch;
    double measured_factor;         /* measured: host CPU time times this */
    double efficiency[QH_OP_COUNT]; /* by operation, of whichever limit binds; (0, 1] */
} qh_accelerator;

/* A preset's NAME or a FILE.yaml. */
qh_status qh_accelerator_open(const char *name_or_file, qh_accelerator **out);
/* From the text of a description, which name stands for. */
qh_status qh_accelerator_open_text(const char *name, const char *text, qh_accelerator **out);
/* The text behind a preset's NAME or a FILE.yaml, which the caller frees. */
qh_status qh_accelerator_describe(const char *name_or_file, char **text);
/* Whether a file, right or wrong, is meant for an accelerator: keys of one and no model. */
bool qh_accelerator_describes(const char *path);
void qh_accelerator_free(qh_accelerator *a);
void qh_accelerator_show(const qh_accelerator *a, FILE *out);
int64_t qh_accelerator_preset_count(void);
const char *qh_accelerator_preset_name(int64_t i);
const char *qh_accelerator_preset_about(int64_t i);
const char *qh_accelerator_preset_text(int64_t i);

typedef enum qh_compute_kind { QH_COMPUTE_MODELED, QH_COMPUTE_MEASURED } qh_compute_kind;

/* Duration of a compute record (SPMM .. ASSIGN), rounded to the nearest picosecond; a record that
 * would take longer than virtual time lasts gives QH_TIME_NEVER. */
qh_time qh_compute_duration(const qh_accelerator *a, qh_compute_kind kind, const qh_record *r);

/* The duration times a factor > 0, rounded to the nearest picosecond; QH_TIME_NEVER past the end.
 */
qh_time qh_compute_scaled(qh_time duration, double factor);

/* Duration of the host copy of one block of bytes, when the network stages: launch + bytes / copy
 * rate, or 0 where device memory is host memory. */
qh_time qh_compute_staging(const qh_accelerator *a, int64_t bytes);

#endif
