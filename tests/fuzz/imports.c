/* Programs for trace import that nobody wrote: right ones with words and lines changed at random.
 * They are taken or refused with file:line, and what is taken replays. QHALO_FUZZ_SECONDS says for
 * how long (a second and a half by default). */
#include "sim/replay.h"
#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"
#include "traces/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_INPUT = 1 << 14 };

static const char *const seeds[][2] = {
    {"smpi", "0 init\n0 isend 1 3 100\n0 irecv 1 4 200 6\n0 compute 5000\n0 waitall\n"
             "0 send 2 0 70000\n0 bcast 100 1\n0 allreduce 40 7\n# epoch 0 ends\n0 barrier\n"
             "1 init\n1 irecv 0 3 100\n1 send 0 4 200 6\n1 wait 0 1 3\n1 bcast 100 1\n"
             "1 allreduce 40 7\n1 barrier\n2 init\n2 recv 0 -1 0\n2 bcast 100 1\n"
             "2 allreduce 40 7\n2 barrier\n2 sleep 1e-6\n"},
    {"smpi", "0 init 1\n0 alltoall 5 5\n0 alltoallv 9 1 2 9 1 2\n0 gather 3 3 1\n"
             "0 gatherv 3 3 3 0\n0 allgather 3 3\n0 allgatherv 3 3 3\n0 scatter 4 4\n"
             "0 scatterv 4 4 4 1\n0 reduce 7 7 1 5\n0 reducescatter 1 2 3\n1 alltoall 5 5\n"
             "1 alltoallv 9 1 2 9 1 2\n1 gather 3 3 1\n1 gatherv 3 3 3 0\n1 allgather 3 3\n"
             "1 allgatherv 3 3 3\n1 scatter 4 4\n1 scatterv 4 4 4 1\n1 reduce 7 7 1 5\n"
             "1 reducescatter 1 2 3\n"},
    {"goal", "num_ranks 3\nrank 0 {\na: calc 500\nb: send 80b to 1 tag 3 cpu 0 nic 0\n"
             "b requires a\nc: recv 8b from 2 tag 1\nd: calc 5 cpu 0\nd requires c\n"
             "e: send 9b to 2\ne irequires d\n}\nrank 1 {\na: recv 80b from 0 tag 3\n"
             "b: calc 70\nb requires a // so\nc: calc 1\nc irequires b\n}\nrank 2 {\n"
             "a: send 8b to 0 tag 1 /* and\nso */\nb: recv 9b from 0\ncalc 3\n}\n"},
    {"goal", "num_ranks 2\nrank 1 {\na: send 1b to 0\nb: recv 2b from 0\nb requires a\n"
             "// epoch 0 ends\nc: calc 1\n}\nrank 0 {\nx: send 2b to 1\ny: recv 1b from 1 tag -1\n"
             "z: calc 9\nz requires x\nz requires y\n// epoch 0 ends\nw: calc 9\n}\n"},
};

/* What a word may turn into. */
static const char *const words[] = {
    "0",         "1",       "2",     "3",         "7",        "100",
    "-1",        "70000",   "1e30",  "nan",       "",         "9223372036854775807",
    "65536",     "a",       "b",     "c",         "send",     "recv",
    "calc",      "wait",    "isend", "irecv",     "requires", ":",
    "irequires", "{",       "}",     "//",        "/*",       "*/",
    "#",         "epoch",   "ends",  "tag",       "cpu",      "\n",
    "bcast",     "barrier", "rank",  "allreduce", "waitall"};

static char folder[64], program[96], trace[96];
static int64_t n_taken, n_replayed;

static uint64_t draw(qh_key key, uint64_t *i, uint64_t below)
{
    return qh_rand_below(key, (*i)++, below);
}

/* Where the piece around a place begins and ends: a word (blanks end it) or a line. */
static void piece(const char *text, int64_t n, int64_t at, bool line, int64_t *from, int64_t *to)
{
    const char *ends = line ? "\n" : " \n";

    for (*from = at; *from > 0 && !strchr(ends, text[*from - 1]); --*from)
        ;
    for (*to = at; *to < n && !strchr(ends, text[*to]); ++*to)
        ;
    if (line && *to < n)
        ++*to;
}

/* text[from, to) becomes what is given. */
static int64_t put(char *text, int64_t n, int64_t from, int64_t to, const char *what,
                   int64_t length)
{
    if (n + length >= MAX_INPUT)
        return n;
    memmove(text + from + length, text + to, (size_t)(n - to));
    memcpy(text + from, what, (size_t)length);
    return n + length - (to - from);
}

static int64_t mutate(qh_key key, uint64_t *i, char *text, int64_t n)
{
    char copy[256];

    for (uint64_t k = 1 + draw(key, i, 4); k > 0 && n > 4; k--) {
        int64_t at = (int64_t)draw(key, i, (uint64_t)n), from, to, length;
        uint64_t kind = draw(key, i, 5);

        piece(text, n, at, kind >= 2, &from, &to);
        length = to - from < (int64_t)sizeof copy ? to - from : (int64_t)sizeof copy;
        memcpy(copy, text + from, (size_t)length);
        if (kind < 2) {
            const char *word = words[draw(key, i, QH_COUNT(words))];

            n = put(text, n, from, to, word, (int64_t)strlen(word));
        } else if (kind == 2) {
            n = put(text, n, from, to, "", 0);
        } else if (kind == 3) { /* twice, or at another place */
            n = put(text, n, from, from, copy, length);
        } else {
            text[at] = (char)draw(key, i, 256);
        }
    }
    return n;
}

static void replay(void)
{
    qh_replay_config c = {0};
    qh_accelerator *accelerator = NULL;
    qh_netmodel *net = NULL;
    qh_trace *t = NULL;
    qh_replay_result r;
    int n;

    ck_assert_msg(qh_trace_open(trace, false, &t) == QH_OK, "%s", qh_error_text());
    n = qh_trace_look(t)->n_devices;
    if (n <= 8) {
        ck_assert_int_eq(qh_accelerator_open_text("given", qh_import_accelerator, &accelerator),
                         QH_OK);
        ck_assert_int_eq(qh_netmodel_open("switch-10g", n, &net), QH_OK);
        c.trace = t;
        c.accelerator = accelerator;
        c.net = n > 1 ? net : NULL;
        if (qh_replay(&c, &r) < 0)
            ck_assert_msg(strstr(qh_error_text(), "virtual time"), "%s", qh_error_text());
        n_replayed++;
    }
    qh_trace_close(t);
    qh_netmodel_close(net);
    qh_accelerator_free(accelerator);
}

static void take(const char *format, const char *text, int64_t n)
{
    qh_import_options o = {.flops_per_s = 1e9, .eager_bytes = n % 3 ? 0 : 90};
    const qh_import_ops *ops = NULL;
    qh_foreign *f = NULL;
    FILE *to = fopen(program, "w");

    ck_assert_ptr_nonnull(to);
    ck_assert_int_eq(fwrite(text, 1, (size_t)n, to), n);
    fclose(to);
    ck_assert_int_eq(qh_import_find("--format", format, &ops), QH_OK);
    if (qh_import_read(ops, program, &o, &f) < 0) {
        ck_assert_int_eq(qh_error_status(), QH_EINPUT);
        ck_assert_msg(strncmp(qh_error_text(), folder, strlen(folder)) == 0 &&
                          !strchr(qh_error_text(), '\n'),
                      "%s", qh_error_text());
        return;
    }
    n_taken++;
    ck_assert_msg(qh_foreign_write(f, "{}", trace) == QH_OK, "%s", qh_error_text());
    qh_foreign_free(f);
    replay();
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void begin(void)
{
    /* Files that are synced often: in memory, where there is a place for such. */
    strcpy(folder, "/dev/shm/qhalo-fuzz-XXXXXX");
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/qhalo-fuzz-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folder));
    }
    snprintf(program, sizeof program, "%s/program", folder);
    snprintf(trace, sizeof trace, "%s/trace.qht", folder);
}

START_TEST(mutants)
{
    const char *asked = getenv("QHALO_FUZZ_SECONDS");
    double seconds = asked ? strtod(asked, NULL) : 1.5, start = now_s();
    char text[MAX_INPUT];
    int64_t number = 0;

    begin();
    for (size_t s = 0; s < QH_COUNT(seeds); s++)
        take(seeds[s][0], seeds[s][1], (int64_t)strlen(seeds[s][1]));
    ck_assert_msg(n_replayed == QH_COUNT(seeds), "a seed is refused: %s", qh_error_text());
    for (; now_s() - start < seconds; number++) {
        qh_key key = qh_rand_key((uint64_t)number, QH_RAND_SAMPLE, 8, 8, 8);
        uint64_t i = 0, s = draw(key, &i, QH_COUNT(seeds));
        int64_t n = (int64_t)strlen(seeds[s][1]);

        memcpy(text, seeds[s][1], (size_t)n);
        take(seeds[s][0], text, mutate(key, &i, text, n));
    }
    printf("%lld inputs, %lld taken, %lld replayed\n", (long long)number, (long long)n_taken,
           (long long)n_replayed);
    ck_assert_int_gt(n_taken, 10); /* some mutants mean something */
    unlink(program);
    unlink(trace);
    rmdir(folder);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("import fuzz");
    TCase *t = tcase_create("fuzz");

    tcase_set_timeout(t, 600);
    tcase_add_test(t, mutants);
    suite_add_tcase(s, t);
    return s;
}
