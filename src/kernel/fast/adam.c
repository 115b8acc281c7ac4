/* To the bit as src/kernel/ref/adam.c: one rounding an operation. */
#include "src/base/status.h"
#include "src/kernel/fast/fast.h"

#include <math.h>

typedef struct steps {
    vec decay, b1, c1, b2, c2, m_fix, v_fix, lr, eps; /* c = 1 - b */
} steps;

INLINE void step(const steps *s, vec *w, vec g, vec *m, vec *v)
{
    g = g + s->decay * *w;
    *m = s->b1 * *m + s->c1 * g;
    *v = s->b2 * *v + s->c2 * g * g;
    *w -= s->lr * (*m * s->m_fix) / (vec_sqrt(*v * s->v_fix) + s->eps);
}

void FAST(adam)(const qh_adam *p, int64_t n, float *w, const float *g, float *m, float *v)
{
    const steps s = {
        .decay = vec_set(p->weight_decay),
        .b1 = vec_set(p->beta1),
        .c1 = vec_set(1 - p->beta1),
        .b2 = vec_set(p->beta2),
        .c2 = vec_set(1 - p->beta2),
        .m_fix = vec_set((float)(1 / (1 - pow((double)p->beta1, (double)p->step)))),
        .v_fix = vec_set((float)(1 / (1 - pow((double)p->beta2, (double)p->step)))),
        .lr = vec_set(p->lr),
        .eps = vec_set(p->eps),
    };
    int64_t i = 0;

    QH_ASSERT(p->step >= 1);
    for (; i < n; i += QH_LANES) {
        vec_mask part = vec_first(n - i);
        vec wi = vec_load_part(w + i, part), gi = vec_load_part(g + i, part);
        vec mi = vec_load_part(m + i, part), vi = vec_load_part(v + i, part);

        step(&s, &wi, gi, &mi, &vi);
        vec_store_part(w + i, wi, part);
        vec_store_part(m + i, mi, part);
        vec_store_part(v + i, vi, part);
    }
}
