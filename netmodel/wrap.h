/* Modifiers: models around another model. Each of them changes a few of the functions of the model
 * inside and passes the others on. A modifier begins its struct with a qh_wrap. */
#ifndef QH_NETMODEL_WRAP_H
#define QH_NETMODEL_WRAP_H

#include "netmodel/heap.h"
#include "netmodel/netmodel.h"

typedef struct qh_wrap {
    qh_netmodel base;    /* first: a qh_netmodel is at its head */
    qh_netmodel_ops ops; /* base.ops; what the modifier leaves alone goes to inner */
    qh_netmodel *inner;  /* owned */
    /* Flows that the modifier holds back, by the instant at which they go on. */
    qh_heap held;  /* id: place in flow */
    qh_flow *flow; /* owned, [capacity] */
    int64_t *next; /* owned, [capacity]: list of free places */
    int64_t capacity, free_place;
    uint64_t n_held;
    int64_t n_flying; /* flows that were started and not told */
} qh_wrap;

/* w, zeroed, becomes a model that does what inner does; inner is not yet w's. */
void qh_wrap_init(qh_wrap *w, const qh_netmodel *inner);
/* On success of building: inner is w's, and w stands in its place. */
void qh_wrap_adopt(qh_wrap *w, qh_netmodel **inner);
void qh_wrap_fini(qh_wrap *w); /* closes inner, if it was adopted */

/* The flow goes to the inner model at an instant, or at once. QH_ERESOURCE; QH_EINPUT past the end
 * of time. */
qh_status qh_wrap_hold(qh_wrap *w, qh_time at, const qh_flow *f);

/* Those that hold flows back use these as their own. */
qh_time qh_wrap_next(qh_netmodel *m);
int64_t qh_wrap_advance(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity);

/* The modifiers, in the order in which they are laid around a model, the first inmost. Where the
 * description has a modifier's key, it wraps *m. */
typedef struct qh_modifier {
    const char *key, *help;
    qh_status (*wrap)(const qh_yaml *y, const qh_yaml_node *node, qh_netmodel **m);
} qh_modifier;

extern const qh_modifier qh_net_slow, qh_net_outages, qh_net_background, qh_net_jitter;
extern const qh_modifier *const qh_net_modifiers[];
extern const int64_t qh_net_modifiers_count;

/* A device's number under a key. */
qh_status qh_wrap_read_device(const qh_yaml *y, const qh_yaml_node *map, const char *key,
                              const qh_netmodel *m, int32_t *out);

#endif
