/* The bits of floats >= 0 rise with the floats, so the key is their complement, above the index. */
#include "src/base/sort.h"

#include <string.h>

enum { SMALL = 2048 };

static void pass(const uint64_t *from, uint64_t *to, int64_t n, int shift, int bits)
{
    int64_t place[2048], end = 0;
    uint64_t mask = (UINT64_C(1) << bits) - 1;

    memset(place, 0, (size_t)(mask + 1) * sizeof *place);
    for (int64_t i = 0; i < n; i++)
        place[from[i] >> shift & mask]++;
    for (uint64_t d = 0; d <= mask; d++) {
        int64_t count = place[d];

        place[d] = end;
        end += count;
    }
    for (int64_t i = 0; i < n; i++)
        to[place[from[i] >> shift & mask]++] = from[i];
}

/* Few keys would spend their time on the 2048 counters of an 11-bit digit. */
void qh_sort_falling(const float *v, int64_t n, uint64_t *key, int32_t *order)
{
    int bits = n < SMALL ? 8 : 11;
    uint64_t *from = key, *to = key + n;

    for (int64_t i = 0; i < n; i++) {
        float x = v[i] + 0.0F; /* -0 becomes 0 */
        uint32_t u;

        memcpy(&u, &x, sizeof u);
        from[i] = (uint64_t)~u << 32 | (uint64_t)i;
    }
    for (int shift = 32; shift < 64; shift += bits) {
        uint64_t *done = to;

        pass(from, to, n, shift, bits);
        to = from;
        from = done;
    }
    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)(from[i] & UINT32_MAX);
}
