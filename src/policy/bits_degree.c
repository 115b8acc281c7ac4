/* degree: the more in-edges a node has, the more bits its messages get, because what is wrong with
 * a well-connected node reaches many (the idea of protecting high in-degree nodes: Tailor et al.,
 * Degree-Quant, ICLR 2021). The messages of a request in order of degree are cut into as many equal
 * parts as there are widths. Equal degrees go by node id, so that the parts, and with them the
 * bytes, do not depend on how many degrees are equal. */
#include "src/base/mem.h"
#include "src/policy/members.h"

#include <stdlib.h>

typedef struct ranked {
    int32_t degree, node;
    int64_t message;
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->degree != y->degree)
        return x->degree < y->degree ? -1 : 1;
    return x->node != y->node ? (x->node < y->node ? -1 : 1) : 0;
}

static bool changes(const qh_bits_config *c, int32_t epoch)
{
    (void)c;
    return epoch == 0; /* degrees stay */
}

static qh_status assign(const qh_bits_config *c, const qh_bits_state *state,
                        const qh_bits_request *r, uint8_t *width)
{
    int64_t n = r->n_messages;
    ranked *order = NULL;
    qh_status st;

    (void)state;
    QH_TRY(st, QH_NEW_ARRAY(&order, n));
    for (int64_t i = 0; i < n; i++)
        order[i] = (ranked){r->degree[i], r->node[i], i};
    qsort(order, (size_t)n, sizeof *order, compare);
    for (int64_t k = 0; k < n; k++)
        width[order[k].message] = c->width[k * c->n_widths / n];
out:
    qh_mem_free(order);
    return st;
}

const qh_bits_ops qh_bits_degree = {
    .name = "degree",
    .help = "more bits for nodes of higher in-degree, equal shares of the widths of --bits",
    .changes = changes,
    .assign = assign,
};
