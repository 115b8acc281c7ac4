#include "tests/support/tradeoff.h"

#include "src/base/mem.h"
#include "src/base/rng.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

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

int64_t test_tradeoff_below(int64_t n)
{
    return (int64_t)(uniform() * (double)n);
}

/* bytes of a message of n_cols values as the codec packs them, bf16 parameters. */
static int64_t bytes_of(int64_t n_cols, int width)
{
    return (n_cols * width + 7) / 8 + (width == 32 ? 0 : 4);
}

void test_tradeoff_set_widths(test_tradeoff *x, const char *list)
{
    qh_bits_config c = {0};

    ck_assert_int_eq(qh_bits_parse("--bits", list, &c), QH_OK);
    memcpy(x->problem.width, c.width, sizeof c.width);
    x->problem.n_widths = c.n_widths;
}

void test_tradeoff_set_bytes(test_tradeoff *x, qh_tradeoff_channel *c, int64_t n_cols)
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
        return (float)test_tradeoff_below(3); /* ties and zeros */
    case 3:
        return 0;
    default:
        return (float)uniform();
    }
}

void test_tradeoff_make(test_tradeoff *x, uint64_t s, int n_devices, int64_t most_groups,
                        int64_t n_cols)
{
    int kind;

    memset(x, 0, sizeof *x);
    seed = s;
    draw = 0;
    kind = (int)test_tradeoff_below(6);
    test_tradeoff_set_widths(x, width_sets[test_tradeoff_below((int64_t)QH_COUNT(width_sets))]);
    x->problem.n_devices = n_devices;
    x->problem.lambda = test_tradeoff_below(5) == 0 ? (double)test_tradeoff_below(2) : uniform();
    x->problem.channel = x->channel;
    for (int32_t src = 0; src < n_devices; src++)
        for (int32_t dst = 0; dst < n_devices; dst++) {
            qh_tradeoff_channel *c = &x->channel[x->problem.n_channels];

            if (src == dst)
                continue;
            *c = (qh_tradeoff_channel){.src = src,
                                       .dst = dst,
                                       .theta = test_tradeoff_below(12) ? uniform() * 1e-3 : 0,
                                       .gamma = test_tradeoff_below(3) ? uniform() : 0,
                                       .n_groups = test_tradeoff_below(most_groups + 1),
                                       .group_size = 1 + test_tradeoff_below(5),
                                       .variance = x->variance + x->n_groups};
            c->last_size =
                test_tradeoff_below(2) ? c->group_size : 1 + test_tradeoff_below(c->group_size);
            test_tradeoff_set_bytes(x, c, n_cols);
            for (int64_t g = 0; g < c->n_groups; g++)
                x->variance[x->n_groups++] = some_variance(kind);
            x->problem.n_channels++;
        }
}

void test_tradeoff_solve(const char *name, const test_tradeoff *x, test_answer *out)
{
    const qh_tradeoff_solver *s = NULL;
    qh_tradeoff_work *w = NULL;
    int64_t n;

    memset(out, 0, sizeof *out);
    ck_assert_int_eq(qh_tradeoff_find("test", name, &s), QH_OK);
    ck_assert_int_eq(qh_tradeoff_work_new(&x->problem, &w), QH_OK);
    n = qh_mem_count();
    ck_assert_int_eq(s->solve(&x->problem, w, out->width, out->z, &out->a), QH_OK);
    ck_assert(qh_mem_count() == n || strcmp(name, "glpk") == 0);
    qh_tradeoff_work_free(w);
}

static double variance_of(int width)
{
    return width == 32 ? 0 : 1 / ((exp2(width) - 1) * (exp2(width) - 1));
}

double test_tradeoff_objective(const test_tradeoff *x, const uint8_t *width)
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
