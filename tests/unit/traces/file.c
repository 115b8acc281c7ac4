/* A trace written and read: every record, metric, time and width; and files that are no whole
 * trace, each of which is named for what it is. */
#include "src/base/mem.h"
#include "tests/support/records.h"
#include "tests/support/support.h"
#include "traces/format.h"
#include "traces/reader.h"
#include "traces/writer.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[96], part[104], other[96];

static void begin(void)
{
    strcpy(folder, "/tmp/qhalo-trace-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.qht", folder);
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(other, sizeof other, "%s/b.qht", folder);
}

static void end(void)
{
    unlink(path);
    unlink(part);
    unlink(other);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* --- whole traces --- */

static const records_trace traces[] = {
    {.n_devices = 1, .n_epochs = 1, .n = {0}},
    {.n_devices = 1, .n_epochs = 3, .n = {5}, .same = true},
    {.n_devices = 3, .n_epochs = 4, .n = {1, 17, 300}},
    {.n_devices = 3, .n_epochs = 7, .n = {40, 0, 2}, .same = true, .untimed = 2},
    {.n_devices = 2, .n_epochs = 2, .n = {8190, 8191}},
    {.n_devices = 2, .n_epochs = 2, .n = {8192, 20000}, .same = true},
    {.n_devices = 5, .n_epochs = 1009, .n = {1, 2, 3, 4, 5}, .same = true}, /* three index frames */
    {.n_devices = 4, .n_epochs = 3, .n = {9, 9, 9, 9}, .widths = true},
    {.n_devices = 2, .n_epochs = 0},
};

static void check_device(const records_trace *t, qh_trace *trace, qh_trace_cursor *c, int d)
{
    const qh_record *r = NULL;
    int64_t at = 0, n = 0, frame = 0;

    for (int e = 0; e < t->n_epochs; e++) {
        uint64_t seed = t->same ? t->seed : t->seed + 1000 * (uint64_t)e;

        for (int64_t i = 0; i <= t->n[d]; i++, at++) {
            qh_record wanted = {.op = QH_OP_EPOCH_END, .epoch = e, .peer = -1};

            if (at == n) {
                ck_assert_int_eq(qh_trace_frame_epoch(trace, d, frame), e);
                ck_assert_msg(qh_trace_read(c, d, frame++, &r, &n) == QH_OK, "%s", qh_error_text());
                at = 0;
            }
            if (i < t->n[d])
                wanted = records_draw(seed, d, t->n_devices, e, i, false);
            ck_assert(records_same(&r[at], &wanted));
        }
    }
    ck_assert_int_eq(at, n);
    ck_assert_int_eq(frame, qh_trace_n_frames(trace, d));
}

static void check_epochs(const records_trace *t, qh_trace_cursor *c)
{
    qh_epoch_metrics m;
    qh_time span[8];

    for (int e = 0; e < t->n_epochs; e++) {
        ck_assert_int_eq(qh_trace_read_epoch(c, e, &m), QH_OK);
        ck_assert_int_eq(m.epoch, e);
        ck_assert(m.loss == 1.0 / (1 + e) && m.rate == 1);
        ck_assert_int_eq(m.evaluated, e % 2);
        ck_assert(e % 2 ? m.metric[3] == 0.125 : isnan(m.metric[3]));
        if (e >= t->n_epochs - t->untimed)
            continue;
        ck_assert_int_eq(qh_trace_read_times(c, e, span), QH_OK);
        for (int d = 0; d < t->n_devices; d++)
            ck_assert_int_eq(span[d], 1000 * (e + 1) + d);
    }
}

static qh_status count_widths(void *ctx, const qh_trace_widths *w)
{
    int *n = ctx;

    ck_assert_int_eq(w->peer, (w->device + 1) % 4);
    ck_assert_int_eq(w->layer, 1);
    ck_assert_int_eq(w->first, 0);
    ck_assert_int_eq(w->n, 7);
    ck_assert_mem_eq(w->width, ((uint8_t[]){2, 4, 8, 16, 32, 1, 3}), 7);
    ++*n;
    return QH_OK;
}

static qh_trace *open_trace(const char *name, bool partial)
{
    qh_trace *t = NULL;

    ck_assert_msg(qh_trace_open(name, partial, &t) == QH_OK, "%s", qh_error_text());
    return t;
}

START_TEST(there_and_back)
{
    records_trace t = traces[_i];
    qh_trace_cursor *c = NULL;
    qh_trace *trace;
    int n_tables = 0;

    t.path = path;
    t.seed = (uint64_t)_i;
    records_write(&t);
    ck_assert_int_ne(access(part, F_OK), 0);
    trace = open_trace(path, false);
    ck_assert(qh_trace_look(trace)->closed);
    ck_assert_int_eq(qh_trace_look(trace)->n_epochs, t.n_epochs);
    ck_assert_int_eq(qh_trace_look(trace)->n_times, t.n_epochs - t.untimed);
    ck_assert_str_eq(qh_trace_look(trace)->json, "{\"schema\":\"qhalo.trace/1\"}");
    ck_assert_int_eq(qh_trace_cursor_new(trace, &c), QH_OK);
    for (int d = t.n_devices - 1; d >= 0; d--)
        check_device(&t, trace, c, d);
    check_epochs(&t, c);
    for (int64_t i = 0; i < qh_trace_look(trace)->n_widths; i++)
        ck_assert_int_eq(qh_trace_read_widths(c, i, count_widths, &n_tables), QH_OK);
    ck_assert_int_eq(n_tables, t.widths ? t.n_devices * t.n_epochs : 0);
    qh_trace_cursor_free(c);
    qh_trace_close(trace);
}
END_TEST

/* --- bytes of a file --- */

static uint8_t *slurp(const char *name, int64_t *n)
{
    struct stat s;
    uint8_t *data = NULL;
    int fd = open(name, O_RDONLY);

    ck_assert_int_eq(fstat(fd, &s), 0);
    ck_assert_int_eq(QH_NEW_ARRAY(&data, s.st_size), QH_OK);
    ck_assert_int_eq(read(fd, data, (size_t)s.st_size), s.st_size);
    close(fd);
    *n = s.st_size;
    return data;
}

static void spill(const char *name, const uint8_t *data, int64_t n)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    ck_assert_int_eq(write(fd, data, (size_t)n), n);
    close(fd);
}

/* Everything of the trace is read; what it says, as a hash, or its status. */
static qh_status read_all(qh_trace *t, uint64_t *hash)
{
    const qh_trace_info *info = qh_trace_look(t);
    qh_trace_cursor *c = NULL;
    const qh_record *r = NULL;
    qh_epoch_metrics m;
    qh_time span[8];
    int64_t n = 0;
    qh_status st;

    *hash = (uint64_t)info->n_epochs;
    QH_TRY(st, qh_trace_cursor_new(t, &c));
    for (int d = 0; d < info->n_devices; d++)
        for (int64_t k = 0; k < qh_trace_n_frames(t, d); k++) {
            QH_TRY(st, qh_trace_read(c, d, k, &r, &n));
            for (int64_t i = 0; i < n; i++)
                *hash = (*hash ^ (uint64_t)(r[i].bytes + r[i].flops + r[i].op)) * 0x100000001b3;
        }
    for (int64_t e = 0; e < info->n_epochs; e++)
        QH_TRY(st, qh_trace_read_epoch(c, e, &m));
    for (int64_t e = 0; e < info->n_times; e++)
        QH_TRY(st, qh_trace_read_times(c, e, span));
out:
    qh_trace_cursor_free(c);
    return st;
}

static qh_status open_and_read(const char *name, bool partial, uint64_t *hash)
{
    qh_trace *t = NULL;
    qh_status st = qh_trace_open(name, partial, &t);

    if (st == QH_OK)
        st = read_all(t, hash);
    qh_trace_close(t);
    if (st < 0)
        ck_assert_msg(strncmp(qh_error_text(), name, strlen(name)) == 0, "%s", qh_error_text());
    return st;
}

static const records_trace small = {
    .path = path, .n_devices = 2, .n_epochs = 3, .n = {6, 9}, .seed = 1};

/* As many epochs as are whole, never one more, and an error where partial is not asked for. */
START_TEST(cut_at_any_byte)
{
    int64_t n, epochs = small.n_epochs;
    uint64_t hash;

    records_write(&small);
    qh_mem_free(slurp(path, &n));
    while (n-- > 0) {
        qh_trace *t = NULL;
        qh_status st;

        ck_assert_int_eq(truncate(path, n), 0);
        ck_assert_int_eq(open_and_read(path, false, &hash), QH_EINPUT);
        st = qh_trace_open(path, true, &t);
        if (st == QH_OK) {
            ck_assert_int_le(qh_trace_look(t)->n_epochs, epochs);
            ck_assert_int_ge(qh_trace_look(t)->n_epochs, epochs - 1);
            ck_assert(!qh_trace_look(t)->closed && *qh_trace_end(t));
            ck_assert_int_eq(read_all(t, &hash), QH_OK);
            epochs = qh_trace_look(t)->n_epochs;
        } else {
            ck_assert_int_eq(epochs, 0); /* the head was cut */
        }
        qh_trace_close(t);
    }
    ck_assert_int_eq(epochs, 0);
}
END_TEST

static void flip(int64_t byte)
{
    int fd = open(path, O_RDWR);
    uint8_t value;

    ck_assert_int_eq(pread(fd, &value, 1, byte), 1);
    value ^= (uint8_t)(1 << byte % 8);
    ck_assert_int_eq(pwrite(fd, &value, 1, byte), 1);
    close(fd);
}

/* A flipped bit is an error wherever it is; at worst the trace is as if it ended there. */
START_TEST(a_flipped_bit)
{
    uint64_t right, hash;
    int64_t n;

    records_write(&small);
    qh_mem_free(slurp(path, &n));
    ck_assert_int_eq(open_and_read(path, false, &right), QH_OK);
    for (int64_t i = 0; i < n; i++) {
        qh_trace *t = NULL;

        flip(i);
        ck_assert_msg(open_and_read(path, false, &hash) == QH_EINPUT, "byte %d", (int)i);
        if (qh_trace_open(path, true, &t) == QH_OK && qh_trace_look(t)->n_epochs == 3 &&
            read_all(t, &hash) == QH_OK)
            ck_assert(hash == right); /* the flip was behind all epochs */
        qh_trace_close(t);
        flip(i);
    }
    ck_assert_int_eq(open_and_read(path, false, &hash), QH_OK);
}
END_TEST

static void refused(const char *name, const char *says)
{
    qh_trace *t = NULL;

    for (int partial = 0; partial < 2; partial++) {
        ck_assert_msg(qh_trace_open(name, partial, &t) == QH_EINPUT, "'%s' is missed", says);
        ck_assert_msg(strstr(qh_error_text(), says), "'%s', without '%s'", qh_error_text(), says);
    }
}

START_TEST(files_that_are_no_trace)
{
    uint8_t *data, *twice = NULL;
    int64_t n;

    records_write(&small);
    data = slurp(path, &n);
    refused("/nonexistent.qht", "cannot be read");
    refused(folder, "not a regular file");
    spill(other, data, 0);
    refused(other, "is no trace");
    spill(other, (const uint8_t *)"epoch,loss\n0,1.5\n1,1.2\n2,0.9\n3,0.9\n", 36);
    refused(other, "is no trace");
    ck_assert_int_eq(QH_NEW_ARRAY(&twice, 2 * n), QH_OK); /* joined with itself */
    memcpy(twice, data, (size_t)n);
    memcpy(twice + n, data, (size_t)n);
    spill(other, twice, 2 * n);
    refused(other, "were files joined?");
    spill(other, twice, n + n / 2);
    refused(other, "were two files joined?");
    spill(other, twice, n + 1);
    refused(other, "were two files joined?");
    data[8] = 9; /* another version, its checksum right */
    qh_put_u64(data + 24, qh_trace_head_hash(data, (char *)data + 32, qh_get_u64(data + 16)));
    spill(other, data, n);
    refused(other, "version 9");
    data[8] = QH_TRACE_VERSION;
    data[12] = 3; /* devices: the frames were made for 2 */
    qh_put_u64(data + 24, qh_trace_head_hash(data, (char *)data + 32, qh_get_u64(data + 16)));
    spill(other, data, n);
    ck_assert_int_eq(open_and_read(other, false, &(uint64_t){0}), QH_EINPUT);
    qh_mem_free(twice);
    qh_mem_free(data);
}
END_TEST

/* --- writing --- */

START_TEST(left_open)
{
    records_trace t = small;
    qh_trace *trace;
    uint64_t hash;

    t.open = true;
    records_write(&t);
    ck_assert_int_ne(access(path, F_OK), 0);
    trace = open_trace(part, false);
    ck_assert(!qh_trace_look(trace)->closed);
    ck_assert_int_eq(qh_trace_look(trace)->n_epochs, 3);
    ck_assert_int_eq(read_all(trace, &hash), QH_OK);
    qh_trace_close(trace);
    t.n_epochs = 0; /* over the one that is there; nothing whole is not kept */
    records_write(&t);
    ck_assert_int_ne(access(part, F_OK), 0);
}
END_TEST

START_TEST(one_writer_at_a_time)
{
    qh_trace_writer *a = NULL, *b = NULL;

    ck_assert_int_eq(qh_trace_writer_open(path, 1, &a), QH_OK);
    ck_assert_int_eq(qh_trace_writer_open(path, 1, &b), QH_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(qh_error_text(), "another run"));
    ck_assert_int_eq(access(part, F_OK), 0);
    qh_trace_writer_abandon(&a);
    ck_assert_int_eq(qh_trace_writer_open("/nonexistent/a.qht", 1, &b), QH_ERESOURCE);
}
END_TEST

/* A limit in the middle of an epoch: an error, and the epochs before it can be read. */
START_TEST(a_full_disk)
{
    struct rlimit old, tight;
    qh_trace_writer *w = NULL;
    qh_epoch_metrics m = {.rate = 1};
    qh_record r[400];
    qh_status st = QH_OK;
    qh_trace *t;
    int e;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = (struct rlimit){10000, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
    ck_assert_int_eq(qh_trace_writer_open(path, 1, &w), QH_OK);
    ck_assert_int_eq(qh_trace_writer_begin(w, "{}"), QH_OK);
    for (e = 0; st == QH_OK && e < 100; e++) {
        for (int i = 0; i < 400; i++)
            r[i] = records_draw((uint64_t)e, 0, 1, e, i, false);
        m.epoch = e;
        ck_assert_int_eq(qh_trace_writer_records(w, 0, e, r, 400), QH_OK);
        st = qh_trace_writer_epoch(w, &m);
    }
    ck_assert_int_eq(st, QH_ERESOURCE);
    ck_assert_msg(strstr(qh_error_text(), "could not be written"), "%s", qh_error_text());
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
    qh_trace_writer_abandon(&w);
    t = open_trace(part, false);
    ck_assert_int_gt(e, 2);
    ck_assert_int_eq(qh_trace_look(t)->n_epochs, e - 1);
    qh_trace_close(t);
    ck_assert_int_eq(qh_trace_writer_open("/dev/full", 1, &w), QH_OK); /* a device, in place */
    ck_assert_int_eq(qh_trace_writer_begin(w, "{}"), QH_ERESOURCE);
    qh_trace_writer_abandon(&w);
    ck_assert_int_eq(access("/dev/full", F_OK), 0);
}
END_TEST

START_TEST(what_may_be_replaced)
{
    records_write(&small);
    ck_assert(qh_trace_may_replace(path));
    ck_assert(qh_trace_may_replace("/nonexistent"));
    ck_assert(qh_trace_may_replace("/dev/null"));
    spill(other, NULL, 0);
    ck_assert(qh_trace_may_replace(other));
    spill(other, (const uint8_t *)"my notes, not short", 18);
    ck_assert(!qh_trace_may_replace(other));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("trace files");
    TCase *t = tcase_create("files");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, begin, end);
    tcase_add_loop_test(t, there_and_back, 0, (int)QH_COUNT(traces));
    tcase_add_test(t, cut_at_any_byte);
    tcase_add_test(t, a_flipped_bit);
    tcase_add_test(t, files_that_are_no_trace);
    tcase_add_test(t, left_open);
    tcase_add_test(t, one_writer_at_a_time);
    tcase_add_test(t, a_full_disk);
    tcase_add_test(t, what_may_be_replaced);
    suite_add_tcase(s, t);
    return s;
}
