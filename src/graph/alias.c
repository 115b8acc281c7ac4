#include "src/graph/alias.h"

void qh_alias_fill(const double *weight, int64_t n, double *scratch, int32_t *stack, qh_alias *out)
{
    double sum = 0;
    int64_t n_small = 0, large = n; /* one stack: small ones from below, large ones from above */

    for (int64_t i = 0; i < n; i++)
        sum += weight[i];
    for (int64_t i = 0; i < n; i++) {
        scratch[i] = weight[i] * (double)n / sum;
        out[i] = (qh_alias){UINT32_MAX, (int32_t)i};
        if (scratch[i] < 1)
            stack[n_small++] = (int32_t)i;
        else
            stack[--large] = (int32_t)i;
    }
    while (n_small > 0 && large < n) {
        int32_t s = stack[--n_small], l = stack[large];

        out[s] = (qh_alias){(uint32_t)(scratch[s] * 0x1p32), l};
        scratch[l] -= 1 - scratch[s];
        if (scratch[l] < 1) {
            large++;
            stack[n_small++] = l;
        }
    }
}
