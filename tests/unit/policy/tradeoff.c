/* The bit-assignment trade-off: against brute force, against its own full sweep, and what must hold
 * of any answer. */
#include "src/policy/tradeoff.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { MAX_DEVICES = 9, MAX_CHANNELS = 80, MAX_GROUPS = 8192 };

typedef struct instance {
    qh_tradeoff problem;
    qh_tradeoff_channel channel[MAX_CHANNELS];
    float variance[MAX_GROUPS];
    int64_t n_groups;
} instance;

typedef struct answer {
    qh_tradeoff_answer a;
    double z[MAX_DEVICES];
    uint8_t width[MAX_GROUPS];
} answer;

static const char *const width_sets[] = {
    "2,4,8", "2,4,8", "2,4,8",  "1,2,3,4,5,6,7,8", "2,4,8,16,32",
    "3,5",   "4",     "1,8,32", "16,32",           "2,4,5,7",
};

static uint64_t seed, draw;

static double uniform(void)
{
    qh_key key = qh_rand_key(seed, QH_RAND_INIT, 0, 0, 0);

    return (double)qh_rand_below(key, draw++, UINT64_C(1) << 52) * 0x1p-52;
}

static int64_t below(int64_t n)
{
    return (int64_t)(uniform() * (double)n);
}

/* bytes of a message of n_cols values as the codec packs them, bf16 parameters. */
static int64_t bytes_of(int64_t n_cols, int width)
{
    return (n_cols * width + 7) / 8 + (width == 32 ? 0 : 4);
}

static void set_widths(instance *x, const char *list)
{
    qh_bits_config c = {0};

    ck_assert_int_eq(qh_bits_parse("--bits", list, &c), QH_OK);
    memcpy(x->problem.width, c.width, sizeof c.width);
    x->problem.n_widths = c.n_widths;
}

static void set_bytes(instance *x, qh_tradeoff_channel *c, int64_t n_cols)
{
    for (int k = 0; k < x->problem.n_widths; k++)
        c->bytes[k] = bytes_of(n_cols, x->problem.width[k]);
}

static float some_variance(int kind)
{
    switch (kind) {
    case 0:
        return (float)exp(6 * uniform() - 3);
    case 1:
        return 1;
    case 2:
        return (float)below(3); /* ties and zeros */
    case 3:
        return 0;
    default:
        return (float)uniform();
    }
}

/* Everything about an instance follows from the seed; all pairs, or some of them empty. */
static void make(instance *x, uint64_t s, int n_devices, int64_t most_groups, int64_t n_cols)
{
    int kind;

    memset(x, 0, sizeof *x);
    seed = s;
    draw = 0;
    kind = (int)below(6);
    set_widths(x, width_sets[below((int64_t)QH_COUNT(width_sets))]);
    x->problem.n_devices = n_devices;
    x->problem.lambda = below(5) == 0 ? (double)below(2) : uniform();
    x->problem.channel = x->channel;
    for (int32_t src = 0; src < n_devices; src++)
        for (int32_t dst = 0; dst < n_devices; dst++) {
            qh_tradeoff_channel *c = &x->channel[x->problem.n_channels];

            if (src == dst)
                continue;
            *c = (qh_tradeoff_channel){.src = src,
                                       .dst = dst,
                                       .theta = below(12) ? uniform() * 1e-3 : 0,
                                       .gamma = below(3) ? uniform() : 0,
                                       .n_groups = below(most_groups + 1),
                                       .group_size = 1 + below(5),
                                       .variance = x->variance + x->n_groups};
            c->last_size = below(2) ? c->group_size : 1 + below(c->group_size);
            set_bytes(x, c, n_cols);
            for (int64_t g = 0; g < c->n_groups; g++)
                x->variance[x->n_groups++] = some_variance(kind);
            x->problem.n_channels++;
        }
}

static void solve(const char *name, const instance *x, answer *out)
{
    const qh_tradeoff_solver *s = NULL;
    qh_tradeoff_work *w = NULL;
    int64_t n;

    memset(out, 0, sizeof *out);
    ck_assert_int_eq(qh_tradeoff_find("test", name, &s), QH_OK);
    ck_assert_int_eq(qh_tradeoff_work_new(&x->problem, &w), QH_OK);
    n = qh_mem_count();
    ck_assert_int_eq(s->solve(&x->problem, w, out->width, out->z, &out->a), QH_OK);
    ck_assert_int_eq(qh_mem_count(), n);
    qh_tradeoff_work_free(w);
}

static double variance_of(int width)
{
    return width == 32 ? 0 : 1 / ((exp2(width) - 1) * (exp2(width) - 1));
}

/* The objective, written down once more from the definition. */
static double objective_of(const instance *x, const uint8_t *width)
{
    const qh_tradeoff *p = &x->problem;
    double v = 0, nadir = 0, utopia = 0, t = 0, slow = 0, fast = 0;

    for (int r = 1; r < p->n_devices; r++) {
        double z = 0, most = 0, least = INFINITY;
        int64_t at = 0;

        for (int64_t i = 0; i < p->n_channels; at += p->channel[i++].n_groups) {
            const qh_tradeoff_channel *c = &p->channel[i];
            double bytes = 0, dear = 0, cheap = 0;

            if ((c->dst - c->src + p->n_devices) % p->n_devices != r || c->n_groups == 0)
                continue;
            for (int64_t g = 0; g < c->n_groups; g++) {
                double size = (double)(g == c->n_groups - 1 ? c->last_size : c->group_size);
                double some = 0, top = 0, bottom = INFINITY;

                for (int k = 0; k < p->n_widths; k++) {
                    some = p->width[k] == width[at + g] ? (double)c->bytes[k] : some;
                    top = fmax(top, (double)c->bytes[k]);
                    bottom = fmin(bottom, (double)c->bytes[k]);
                }
                bytes += size * some;
                dear += size * top;
                cheap += size * bottom;
                v += variance_of(width[at + g]) * c->variance[g];
                nadir += variance_of(p->width[0]) * c->variance[g];
                utopia += variance_of(p->width[p->n_widths - 1]) * c->variance[g];
            }
            z = fmax(z, c->theta * bytes + c->gamma);
            most = fmax(most, c->theta * dear + c->gamma);
            least = fmin(least, c->theta * cheap + c->gamma);
        }
        t += z;
        slow += most;
        fast += least < INFINITY ? least : 0;
    }
    return (nadir > utopia ? p->lambda * (v - utopia) / (nadir - utopia) : 0) +
           (slow > fast ? (1 - p->lambda) * (t - fast) / (slow - fast) : 0);
}

/* The least objective of all assignments. */
static double brute_force(const instance *x)
{
    const qh_tradeoff *p = &x->problem;
    int digit[32] = {0};
    uint8_t width[32];
    double best = INFINITY;

    for (;;) {
        int64_t g = 0;

        for (int64_t i = 0; i < x->n_groups; i++)
            width[i] = p->width[digit[i]];
        best = fmin(best, objective_of(x, width));
        while (g < x->n_groups && ++digit[g] == p->n_widths)
            digit[g++] = 0;
        if (g == x->n_groups)
            return best;
    }
}

static bool is_tiny(const instance *x)
{
    return pow(x->problem.n_widths, (double)x->n_groups) <= 20000;
}

START_TEST(brute_force_finds_nothing_better)
{
    static const int64_t cols[] = {256, 1, 2, 3, 10, 50, 61, 7};
    static instance x;
    static answer got;
    int done = 0;

    for (uint64_t s = 1; done < 600; s++) {
        double least;

        make(&x, s, 2 + (int)(s % 3), s % 3 == 0 ? 6 : 2, cols[s / 3 % QH_COUNT(cols)]);
        if (!is_tiny(&x))
            continue;
        done++;
        least = brute_force(&x);
        solve("exact", &x, &got);
        ck_assert_msg(fabs(got.a.objective - least) <= 1e-12, "seed %d: %.17g, brute force %.17g",
                      (int)s, got.a.objective, least);
        ck_assert_msg(got.a.optimal, "seed %d", (int)s);
    }
}
END_TEST

/* What holds of the answer of any solver. */
static void check_answer(const instance *x, const answer *got, uint64_t s)
{
    double total = 0;

    ck_assert_msg(fabs(objective_of(x, got->width) - got->a.objective) <= 1e-12, "seed %d", (int)s);
    ck_assert_msg(got->a.lower_bound <= got->a.objective, "seed %d", (int)s);
    ck_assert_msg(got->a.gap >= 0, "seed %d", (int)s);
    for (int r = 0; r < x->problem.n_devices; r++)
        total += got->z[r];
    ck_assert_msg(fabs(total - got->a.time_sum) <= 1e-12 * total, "seed %d", (int)s);
}

START_TEST(window_equals_full_sweep)
{
    static const int64_t cols[] = {256, 256, 64, 50, 61, 33, 3};
    static instance x;
    static answer exact, sweep;

    for (uint64_t s = 1000; s < 1150; s++) {
        make(&x, s, 2 + (int)(s % 4), s % 2 ? 12 : 60, cols[s % QH_COUNT(cols)]);
        solve("exact", &x, &exact);
        solve("sweep", &x, &sweep);
        ck_assert_msg(memcmp(exact.width, sweep.width, (size_t)x.n_groups) == 0 &&
                          exact.a.objective == sweep.a.objective &&
                          memcmp(exact.z, sweep.z, sizeof exact.z) == 0,
                      "seed %d: %.17g, full sweep %.17g", (int)s, exact.a.objective,
                      sweep.a.objective);
        check_answer(&x, &exact, s);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("tradeoff");
    TCase *t = tcase_create("tradeoff");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, brute_force_finds_nothing_better);
    tcase_add_test(t, window_equals_full_sweep);
    suite_add_tcase(s, t);
    return s;
}
