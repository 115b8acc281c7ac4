/* The interface of network plug-ins: a shared object with one table, qhalo_net_plugin.
 *
 * It is C, has a version of its own, and uses nothing else of qhalo, so that a plug-in is built
 * with this header alone: cc -shared -fPIC -o mine.so mine.c. `--net plugin:./mine.so` uses it, or
 * a description with `model: plugin:./mine.so` and keys of the plug-in's own.
 *
 * A model is driven by one thread. Time is in picoseconds and never goes back. A model may be
 * created several times in one process. */
#ifndef QHALO_NET_PLUGIN_H
#define QHALO_NET_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

/* Raised whenever anything below changes its meaning or place. */
#define QHALO_NET_PLUGIN_ABI 1

typedef struct qhalo_net_flow {
    int64_t id; /* qhalo's; no two flows that are under way have the same */
    int32_t src, dst;
    int64_t bytes; /* >= 0 */
} qhalo_net_flow;

typedef struct qhalo_net_plugin {
    uint32_t abi;  /* QHALO_NET_PLUGIN_ABI */
    uint32_t size; /* sizeof(qhalo_net_plugin) */
    const char *name, *help;
    int32_t contention; /* whether flows share anything */
    /* yaml is the whole text of the description. NULL: it cannot; error (of error_size bytes) says
     * "what is wrong; what would be right". */
    void *(*create)(const char *yaml, int n_devices, char *error, size_t error_size);
    void (*destroy)(void *model);
    /* Starts a flow, src != dst. 0, or not: it cannot. */
    int (*start)(void *model, int64_t now_ps, const qhalo_net_flow *flow);
    /* The next instant at which there is something to do, no later than the next finish; INT64_MAX
     * when no flow is under way. */
    int64_t (*next)(void *model);
    /* Moves to now_ps <= next() and writes the ids of flows that finish then, capacity at most;
     * how many. Called again until that is 0; next() is later than now_ps then. */
    int64_t (*advance)(void *model, int64_t now_ps, int64_t *done, int64_t capacity);
    /* Duration of a flow that is alone. */
    int64_t (*alone)(void *model, int src, int dst, int64_t bytes);
    /* What the model does and with which figures, for `qhalo net show`; NULL: nothing to say. */
    void (*describe)(void *model, char *text, size_t size);
} qhalo_net_plugin;

/* What the shared object defines. */
#ifdef __cplusplus
extern "C" {
#endif
extern const qhalo_net_plugin qhalo_net_plugin_table;
#ifdef __cplusplus
}
#endif

#endif
