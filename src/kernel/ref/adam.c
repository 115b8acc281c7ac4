#include "src/base/status.h"
#include "src/kernel/ref/ref.h"

#include <math.h>

void qh_ref_adam(const qh_adam *p, int64_t n, float *w, const float *g, float *m, float *v)
{
    /* The corrections for the zero start, 1 - beta^t, lose all digits in float for beta2 near 1. */
    float m_fix = (float)(1 / (1 - pow((double)p->beta1, (double)p->step)));
    float v_fix = (float)(1 / (1 - pow((double)p->beta2, (double)p->step)));

    QH_ASSERT(p->step >= 1);
    for (int64_t i = 0; i < n; i++) {
        float gi = g[i] + p->weight_decay * w[i];

        m[i] = p->beta1 * m[i] + (1 - p->beta1) * gi;
        v[i] = p->beta2 * v[i] + (1 - p->beta2) * gi * gi;
        w[i] -= p->lr * (m[i] * m_fix) / (sqrtf(v[i] * v_fix) + p->eps);
    }
}
