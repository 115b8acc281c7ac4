/* Who is in which class and community, and which id a node gets. */
#include "src/base/mem.h"
#include "src/graph/synth.h"

enum {
    COMMUNITY_DEGREES = 32
}; /* a community holds about this many neighbourhoods' worth of nodes */

/* Class sizes, and how many communities each is cut into. Sums of products of the same few numbers:
 * the last boundary is set, not added up. */
static void cut_classes(const qh_recipe *r, qh_blocks *b)
{
    double sum = 0, size = COMMUNITY_DEGREES * (r->degree > 1 ? r->degree : 1);

    for (int64_t c = 0; c < r->classes; c++) {
        double middle = ((double)c + 0.5) / (double)r->classes;
        int64_t n, k;

        b->class_start[c] = (int64_t)(sum * (double)r->nodes);
        sum += (1 + r->size_spread * (1 - 2 * middle)) / (double)r->classes;
        b->class_start[c + 1] = c + 1 == r->classes ? r->nodes : (int64_t)(sum * (double)r->nodes);
        n = b->class_start[c + 1] - b->class_start[c];
        k = r->tight > 0 ? (int64_t)((double)n / size) : 1;
        b->class_community[c + 1] = b->class_community[c] + (k > 1 ? k : 1);
    }
    b->n_communities = b->class_community[r->classes];
}

static void cut_communities(qh_blocks *b)
{
    for (int64_t c = 0; c < b->n_classes; c++) {
        int64_t first = b->class_community[c], k = b->class_community[c + 1] - first;
        int64_t n = b->class_start[c + 1] - b->class_start[c];

        for (int64_t i = 0; i < k; i++) {
            b->start[first + i] = b->class_start[c] + n / k * i + n % k * i / k;
            b->class_of[first + i] = (int32_t)c;
        }
    }
    b->start[b->n_communities] = b->n_nodes;
}

/* Fisher-Yates over those nodes that do not keep the id of their position. */
static qh_status shuffle(const qh_recipe *r, qh_blocks *b)
{
    qh_key key = b->key[QH_SYNTH_ORDER];
    int32_t *loose = NULL;
    int64_t n = 0;
    qh_status st;

    QH_TRY(st, QH_NEW_ARRAY(&loose, r->nodes));
    for (int64_t p = 0; p < r->nodes; p++) {
        b->node_of[p] = (int32_t)p;
        if (r->locality < 1 && qh_rand_unit(key, (uint64_t)p) >= r->locality)
            loose[n++] = (int32_t)p;
    }
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)qh_rand_below(key, (uint64_t)(r->nodes + i), (uint64_t)i + 1);
        int32_t t = b->node_of[loose[i]];

        b->node_of[loose[i]] = b->node_of[loose[j]];
        b->node_of[loose[j]] = t;
    }
out:
    qh_mem_free(loose);
    return st;
}

qh_status qh_blocks_init(const qh_recipe *r, qh_blocks *b)
{
    qh_status st;

    *b = (qh_blocks){.n_nodes = r->nodes, .n_classes = r->classes};
    for (uint32_t use = 0; use < QH_COUNT(b->key); use++)
        b->key[use] = qh_rand_key((uint64_t)r->seed, QH_RAND_SYNTH, use, 0, 0);
    QH_TRY(st, QH_NEW_ARRAY(&b->class_start, r->classes + 1));
    QH_TRY(st, QH_NEW_ARRAY(&b->class_community, r->classes + 1));
    cut_classes(r, b);
    QH_TRY(st, QH_NEW_ARRAY(&b->start, b->n_communities + 1));
    QH_TRY(st, QH_NEW_ARRAY(&b->class_of, b->n_communities));
    cut_communities(b);
    QH_TRY(st, QH_NEW_ARRAY(&b->node_of, r->nodes));
    QH_TRY(st, shuffle(r, b));
    return QH_OK;
out:
    qh_blocks_fini(b);
    return st;
}

void qh_blocks_fini(qh_blocks *b)
{
    qh_mem_free(b->node_of);
    qh_mem_free(b->class_of);
    qh_mem_free(b->start);
    qh_mem_free(b->class_community);
    qh_mem_free(b->class_start);
    *b = (qh_blocks){0};
}
