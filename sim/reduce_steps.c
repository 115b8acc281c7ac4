#include "sim/reduce_steps.h"

#include "src/base/status.h"

/* Chunk number i of a payload cut in n; the first payload % n of them have one byte more. */
static int64_t chunk(int64_t payload, int n, int i)
{
    return payload / n + (i < payload % n);
}

static int wrap(int i, int n)
{
    return (i % n + n) % n;
}

/* Up to a tree of n devices has so many steps each way. */
static int depth(int n)
{
    int d = 0;

    while ((INT64_C(1) << d) < n)
        d++;
    return d;
}

int qh_reduce_n_steps(const qh_reduce_plan *p)
{
    switch (p->kind) {
    case QH_REDUCE_TREE:
        return 2 * depth(p->n);
    case QH_REDUCE_HIERARCHICAL:
        QH_ASSERT(p->per_node > 0 && p->n % p->per_node == 0);
        return 2 * (p->per_node - 1) + 2 * (p->n / p->per_node - 1);
    default:
        return 2 * (p->n - 1);
    }
}

/* Step s of a ring of n in which the device is number i and sends chunk `first` - s. */
static qh_reduce_step ring(int64_t payload, int n, int first, int s, int to, int from)
{
    return (qh_reduce_step){.to = to,
                            .from = from,
                            .send_bytes = chunk(payload, n, wrap(first - s, n)),
                            .recv_bytes = chunk(payload, n, wrap(first - 1 - s, n))};
}

static qh_reduce_step tree(int64_t payload, int n, int rank, int s)
{
    int d = depth(n), up = s < d, bit = 1 << (up ? s : 2 * d - 1 - s);
    qh_reduce_step step = {.to = -1, .from = -1};
    int child = (rank & (2 * bit - 1)) == bit;
    int parent = (rank & (2 * bit - 1)) == 0 && rank + bit < n;

    if (up ? child : parent) {
        step.to = up ? rank - bit : rank + bit;
        step.send_bytes = payload;
    } else if (up ? parent : child) {
        step.from = up ? rank + bit : rank - bit;
        step.recv_bytes = payload;
    }
    return step;
}

static qh_reduce_step hierarchical(const qh_reduce_plan *p, int64_t payload, int rank, int s)
{
    int g = p->per_node, machines = p->n / g, node = rank / g, local = rank % g;
    int next = node * g + wrap(local + 1, g), before = node * g + wrap(local - 1, g);
    int share = wrap(local + 1, g); /* what the ring inside leaves with this device */

    if (s < g - 1)
        return ring(payload, g, local, s, next, before);
    s -= g - 1;
    if (s < 2 * (machines - 1))
        return ring(chunk(payload, g, share), machines, node, s,
                    wrap(node + 1, machines) * g + local, wrap(node - 1, machines) * g + local);
    s -= 2 * (machines - 1);
    return ring(payload, g, share, s, next, before);
}

qh_reduce_step qh_reduce_step_of(const qh_reduce_plan *p, int64_t payload, int rank, int step)
{
    switch (p->kind) {
    case QH_REDUCE_TREE:
        return tree(payload, p->n, rank, step);
    case QH_REDUCE_HIERARCHICAL:
        return hierarchical(p, payload, rank, step);
    default:
        return ring(payload, p->n, rank, step, wrap(rank + 1, p->n), wrap(rank - 1, p->n));
    }
}
