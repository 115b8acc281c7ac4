/* The fuzz target without libFuzzer: seeds that are right, changed at random. QHALO_FUZZ_SECONDS
 * says for how long (a second and a half by default); a crash names the input that caused it. */
#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/fuzz/trace.h"
#include "tests/support/records.h"
#include "tests/support/support.h"
#include "traces/columns.h"
#include "traces/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_INPUT = 1 << 16, N_SEEDS = 6 };

static uint8_t seed[N_SEEDS][MAX_INPUT], mutant[MAX_INPUT];
static int64_t seed_bytes[N_SEEDS];

static void put(int s, unsigned v)
{
    seed[s][seed_bytes[s]++] = (uint8_t)v;
}

/* A whole file, as it stands. */
static void seed_file(int s)
{
    char path[] = "/tmp/qhalo-fuzz-XXXXXX";
    records_trace t = {
        .path = path, .n_devices = 3, .n_epochs = 3, .n = {5, 9, 2}, .seed = 3, .widths = true};
    int fd = mkstemp(path);

    close(fd);
    records_write(&t);
    fd = open(path, O_RDONLY);
    put(s, 0);
    seed_bytes[s] += read(fd, seed[s] + 1, MAX_INPUT / 2);
    close(fd);
    unlink(path);
}

static void add_frame(int s, int kind, int part, int device, int epoch, int n, const uint8_t *raw,
                      int64_t length)
{
    put(s, (unsigned)kind);
    put(s, (unsigned)part);
    put(s, (unsigned)device + 1);
    put(s, (unsigned)epoch);
    put(s, (unsigned)n);
    put(s, (unsigned)length & 0xff);
    put(s, (unsigned)length >> 8);
    memcpy(seed[s] + seed_bytes[s], raw, (size_t)length);
    seed_bytes[s] += length;
}

static void add_records(int s, int device, int epoch, const qh_record *r, int n)
{
    qh_columns_scope scope = {.device = device, .n_devices = 2, .epoch = epoch};
    uint64_t value[16];
    qh_bytes raw = {0};

    ck_assert_int_eq(qh_columns_put(&scope, r, n, value, &raw), QH_OK);
    add_frame(s, QH_FRAME_RECORDS, 0, device, epoch, n, raw.data, raw.n);
    qh_bytes_fini(&raw);
}

/* Frames of a run of two devices, with all that the engine knows, or (4 and on) of an imported
 * program; not closed, or with an index. */
static void seed_frames(int s)
{
    static const uint8_t metrics[41], times[2] = {5, 6};

    put(s, 1);
    put(s, s % 2);
    put(s, 1);
    for (int epoch = 0; epoch < 3; epoch++) {
        for (int d = 0; d < 2; d++) {
            qh_record r[] = {{.op = QH_OP_QUANTIZE, .bytes = 100, .flops = 10, .peer = -1},
                             {.op = QH_OP_SEND, .peer = 1 - d, .round = 1, .bytes = 90},
                             {.op = QH_OP_RECV, .peer = 1 - d, .round = 1, .bytes = 90},
                             {.op = QH_OP_WAIT, .peer = -1},
                             {.op = QH_OP_SPMM, .bytes = 1000, .peer = -1},
                             {.op = QH_OP_ALLREDUCE, .bytes = 64, .peer = -1},
                             {.op = QH_OP_EPOCH_END, .peer = -1}};

            for (size_t i = 0; i < QH_COUNT(r); i++)
                r[i].epoch = epoch;
            for (size_t i = 1; s >= 4 && i < 4; i++) {
                r[i].direction = QH_REQUEST;
                r[i].layer = 1;
            }
            add_records(s, d, epoch, r, (int)QH_COUNT(r));
        }
        add_frame(s, QH_FRAME_EPOCH, 0, -1, epoch, 0, metrics, sizeof metrics);
        add_frame(s, QH_FRAME_TIMES, 0, -1, epoch, 2, times, sizeof times);
    }
}

static uint64_t draw(qh_key key, uint64_t *i, uint64_t below)
{
    return qh_rand_below(key, (*i)++, below);
}

/* A seed with some bytes changed, cut out or repeated. */
static int64_t mutate(uint64_t number)
{
    qh_key key = qh_rand_key(number, QH_RAND_SAMPLE, 9, 9, 9);
    uint64_t i = 0;
    int s = (int)draw(key, &i, N_SEEDS);
    int64_t n = seed_bytes[s];

    memcpy(mutant, seed[s], (size_t)n);
    for (uint64_t k = draw(key, &i, 6); k > 0 && n > 4; k--) {
        int64_t at = 1 + (int64_t)draw(key, &i, (uint64_t)n - 1);
        int64_t length = 1 + (int64_t)draw(key, &i, 16);

        switch (draw(key, &i, 5)) {
        case 0:
            mutant[at] = (uint8_t)draw(key, &i, 256);
            break;
        case 1:
            mutant[at] ^= (uint8_t)(1 << draw(key, &i, 8));
            break;
        case 2: /* cut out */
            length = length < n - at ? length : n - at;
            memmove(mutant + at, mutant + at + length, (size_t)(n - at - length));
            n -= length;
            break;
        case 3: /* repeat */
            length = length < n - at ? length : n - at;
            if (n + length <= MAX_INPUT) {
                memmove(mutant + at + length, mutant + at, (size_t)(n - at));
                n += length;
            }
            break;
        default:
            mutant[at] = (uint8_t)(mutant[at] + 1);
        }
    }
    return n;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

START_TEST(mutants)
{
    const char *asked = getenv("QHALO_FUZZ_SECONDS");
    double seconds = asked ? strtod(asked, NULL) : 1.5, start = now_s();
    uint64_t number = 0;

    seed_file(0);
    seed_file(1);
    for (int s = 2; s < N_SEEDS; s++)
        seed_frames(s);
    for (int s = 0; s < N_SEEDS; s++)
        LLVMFuzzerTestOneInput(seed[s], (size_t)seed_bytes[s]);
    ck_assert_int_eq(fuzz_reached.read, N_SEEDS);
    ck_assert_int_eq(fuzz_reached.replayed, 8);
    for (; now_s() - start < seconds; number++) {
        int64_t n = mutate(number);

        LLVMFuzzerTestOneInput(mutant, (size_t)n);
    }
    printf("%lld inputs, %lld opened, %lld read, %lld replayed\n", (long long)fuzz_reached.inputs,
           (long long)fuzz_reached.opened, (long long)fuzz_reached.read,
           (long long)fuzz_reached.replayed);
    ck_assert_int_gt(fuzz_reached.opened, 10); /* mutants got far enough to test something */
    ck_assert_int_gt(fuzz_reached.replayed, 3);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("trace fuzz");
    TCase *t = tcase_create("fuzz");

    tcase_set_timeout(t, 200);
    tcase_add_test(t, mutants);
    suite_add_tcase(s, t);
    return s;
}
