#include "src/base/file.h"

#include "src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct qh_output {
    char *path, *temporary; /* owned */
    FILE *stream;           /* owned */
};

/* So that an error line says where even when the name is empty. */
static const char *shown(const char *path)
{
    return *path ? path : "''";
}

/* Opens path for reading and gives its size; only regular files have one to trust. */
static qh_status open_sized(const char *path, int *fd, int64_t *size)
{
    struct stat s;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused, not waited for */
    if (*fd < 0)
        return qh_fail(QH_EINPUT, "%s: cannot be read: %s", shown(path), strerror(errno));
    if (fstat(*fd, &s) == 0 && S_ISREG(s.st_mode)) {
        *size = (int64_t)s.st_size;
        return QH_OK;
    }
    close(*fd);
    return qh_fail(QH_EINPUT, "%s: is not a regular file; a file is wanted here", path);
}

qh_status qh_map_open(const char *path, qh_map *out)
{
    qh_status st;
    int64_t size = 0;
    void *data = NULL;
    int fd = -1;

    QH_TRY(st, open_sized(path, &fd, &size));
    if (size > 0) {
        data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            st = qh_fail(errno == ENOMEM ? QH_ERESOURCE : QH_EINPUT, "%s: cannot be mapped: %s",
                         path, strerror(errno));
    }
    close(fd);
    if (st == QH_OK)
        *out = (qh_map){.data = data, .size = size};
out:
    return st;
}

void qh_map_close(qh_map *map)
{
    if (map->data)
        munmap((void *)(uintptr_t)map->data, (size_t)map->size);
    *map = (qh_map){0};
}

qh_status qh_file_read_text(const char *path, int64_t max_bytes, char **out)
{
    qh_status st;
    qh_map map = {0};
    char *text = NULL;

    QH_TRY(st, qh_map_open(path, &map));
    if (map.size > max_bytes) {
        st = qh_fail(QH_EINPUT, "%s: has %lld bytes; at most %lld are read", path,
                     (long long)map.size, (long long)max_bytes);
        goto out;
    }
    QH_TRY(st, QH_NEW_ARRAY(&text, map.size + 1));
    if (map.size > 0)
        memcpy(text, map.data, (size_t)map.size);
    *out = text;
out:
    qh_map_close(&map);
    return st;
}

/* Temporary names of open outputs, for a signal handler. */
static _Atomic(const char *) open_name[32];

static void replace_name(const char *from, const char *to)
{
    for (size_t i = 0; i < QH_COUNT(open_name); i++) {
        const char *now = from;

        if (atomic_compare_exchange_strong(&open_name[i], &now, to))
            return;
    }
}

void qh_output_remove_open(void)
{
    for (size_t i = 0; i < QH_COUNT(open_name); i++) {
        const char *name = atomic_load(&open_name[i]);

        if (name)
            unlink(name);
    }
}

static void output_free(qh_output *o)
{
    if (!o)
        return;
    replace_name(o->temporary, NULL);
    qh_mem_free(o->temporary);
    qh_mem_free(o->path);
    qh_mem_free(o);
}

qh_status qh_output_open(const char *path, qh_output **out)
{
    qh_status st;
    qh_output *o = NULL;
    int64_t room = (int64_t)strlen(path) + 32;

    QH_TRY(st, QH_NEW(&o));
    QH_TRY(st, qh_mem_strdup(path, &o->path));
    QH_TRY(st, QH_NEW_ARRAY(&o->temporary, room));
    snprintf(o->temporary, (size_t)room, "%s.tmp.%ld", path, (long)getpid());
    replace_name(NULL, o->temporary); /* first, or a signal between the two leaves a file */
    o->stream = fopen(o->temporary, "wbe");
    if (!o->stream) {
        st = qh_fail(QH_ERESOURCE, "%s: cannot be written: %s", path, strerror(errno));
        goto out;
    }
    *out = o;
    o = NULL;
out:
    output_free(o);
    return st;
}

FILE *qh_output_stream(qh_output *o)
{
    return o->stream;
}

qh_status qh_output_commit(qh_output **o)
{
    qh_output *done = *o;
    int bad;

    *o = NULL;
    errno = 0;
    bad = ferror(done->stream) || fflush(done->stream) != 0;
    /* A pipe or a device that cannot sync says EINVAL: then there is nothing to sync. */
    bad = bad || (fsync(fileno(done->stream)) != 0 && errno != EINVAL);
    bad = fclose(done->stream) != 0 || bad;
    bad = bad || rename(done->temporary, done->path) != 0;
    if (bad) {
        qh_fail(QH_ERESOURCE, "%s: could not be written: %s", done->path,
                errno ? strerror(errno) : "a write failed; is the disk full?");
        unlink(done->temporary);
    }
    output_free(done);
    return bad ? QH_ERESOURCE : QH_OK;
}

void qh_output_abort(qh_output **o)
{
    if (!*o)
        return;
    fclose((*o)->stream);
    unlink((*o)->temporary);
    output_free(*o);
    *o = NULL;
}

qh_status qh_make_folder(const char *path)
{
    qh_status st;
    char *part = NULL;

    QH_TRY(st, qh_mem_strdup(path, &part));
    for (char *c = part + 1; *part && *c; c++)
        if (*c == '/') {
            *c = '\0';
            mkdir(part, 0777); /* whether it worked shows at the last one */
            *c = '/';
        }
    if (mkdir(part, 0777) != 0 && !(errno == EEXIST && qh_is_folder(path)))
        st = qh_fail(QH_ERESOURCE, "%s: the folder cannot be made: %s", shown(path),
                     strerror(errno));
out:
    qh_mem_free(part);
    return st;
}

bool qh_is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

bool qh_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}
