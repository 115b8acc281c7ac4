/* The radix sort against the definition: falling, equal ones by index, every index once. */
#include "src/base/sort.h"

#include "src/base/rng.h"
#include "src/base/status.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 5000 };

static float value(int kind, int64_t i)
{
    qh_key key = qh_rand_key(5, QH_RAND_INIT, 0, 0, 0);
    double u = (double)qh_rand_below(key, (uint64_t)i, 1 << 30) * 0x1p-30;

    switch (kind) {
    case 0:
        return (float)u;
    case 1:
        return (float)(int)(u * 7); /* many ties */
    case 2:
        return 3;
    case 3:
        return i % 3 == 0 ? -0.0F : i % 3 == 1 ? 0.0F : 0x1p-149F; /* zeros, the least above */
    default:
        return (float)exp2(u * 250 - 125);
    }
}

START_TEST(falling_then_by_index)
{
    /* both digit sizes, and around the border between them */
    static const int64_t sizes[] = {0, 1, 2, 255, 257, 2047, 2048, 4999};
    static float v[MOST];
    static uint64_t key[2 * MOST + 1];
    static int32_t order[MOST + 1];

    for (size_t s = 0; s < QH_COUNT(sizes); s++)
        for (int kind = 0; kind < 5; kind++) {
            int64_t n = sizes[s];

            for (int64_t i = 0; i < n; i++)
                v[i] = value(kind, i);
            key[2 * n] = 0xfeed;
            order[n] = -7;
            qh_sort_falling(v, n, key, order);
            for (int64_t i = 1; i < n; i++)
                ck_assert_msg(v[order[i - 1]] > v[order[i]] ||
                                  (v[order[i - 1]] == v[order[i]] && order[i - 1] < order[i]),
                              "n %d, kind %d, at %d", (int)n, kind, (int)i);
            for (int64_t i = 0; i < n; i++)
                ck_assert(0 <= order[i] && order[i] < n);
            ck_assert(key[2 * n] == 0xfeed && order[n] == -7);
        }
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("sort");
    TCase *t = tcase_create("sort");

    tcase_add_test(t, falling_then_by_index);
    suite_add_tcase(s, t);
    return s;
}
