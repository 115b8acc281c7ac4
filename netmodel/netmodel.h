/* Network models see flows only: (source, destination, bytes, start). They know nothing of GNNs.
 *
 * A model is driven by one thread as a discrete-event source: flows are started at instants that
 * never go back, next() tells the next instant at which something finishes, and advance() moves
 * there. Instants are integer picoseconds. Flows that finish at one instant are given in the order
 * in which they were started, or in which a modifier let them start. */
#ifndef QH_NETMODEL_NETMODEL_H
#define QH_NETMODEL_NETMODEL_H

#include "src/base/status.h"
#include "src/base/units.h"
#include "src/base/yaml.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct qh_netmodel qh_netmodel;

enum { QH_NET_LINK_NAME_BYTES = 40 };

typedef struct qh_flow {
    int64_t id; /* the caller's */
    int32_t src, dst;
    int64_t bytes; /* >= 0 */
} qh_flow;

/* A link, one direction of it, and what it has had to carry so far. */
typedef struct qh_net_link {
    char name[QH_NET_LINK_NAME_BYTES];
    double bytes_per_s;
    int64_t bytes; /* of all flows that were started over it */
} qh_net_link;

typedef struct qh_netmodel_ops {
    const char *name, *help;
    /* From the description's mapping for n_devices devices. Errors carry file:line. */
    qh_status (*open)(const qh_yaml *y, const qh_yaml_node *map, int n_devices, qh_netmodel **out);
    /* How many devices the description has room for, where it says; 0: as many as one likes. NULL:
     * that always. */
    int64_t (*room)(const qh_yaml *y, const qh_yaml_node *map);
    void (*close)(qh_netmodel *m);
    /* Starts a flow at `now`, src != dst. */
    qh_status (*start)(qh_netmodel *m, qh_time now, const qh_flow *f);
    /* The next instant at which the model has something to do, never past the next finish;
     * QH_TIME_NEVER when no flow is in flight. May change with each start. */
    qh_time (*next)(qh_netmodel *m);
    /* Moves to `now` <= next() and writes the ids of flows that finish then into done (room for
     * capacity); the number written, which may be 0 (a flow got on without finishing). Called again
     * until it gives 0; next() is later than `now` then, until a flow is started. Negative: a
     * qh_status; flows that a modifier held back could not start. */
    int64_t (*advance)(qh_netmodel *m, qh_time now, int64_t *done, int64_t capacity);
    /* The id of a flow that may finish next, or anything negative: a hint what to fetch from
     * memory. NULL: it has none. */
    int64_t (*soon)(const qh_netmodel *m);
    /* Time that posting one message of bytes costs the sender's (or receiver's) compute stream
     * (LogGP's o); NULL: none. */
    qh_time (*overhead)(const qh_netmodel *m, int src, int dst, int64_t bytes);
    /* Uncontended time of one flow: what the linear cost theta * bytes + gamma is fitted to. */
    qh_time (*alone)(const qh_netmodel *m, int src, int dst, int64_t bytes);
    /* The formula and its parameters in words, lines of two spaces and text. */
    void (*show)(const qh_netmodel *m, FILE *out);
    /* Links that flows share, 0 <= i < n_links; NULL: the model has none. */
    int64_t (*n_links)(const qh_netmodel *m);
    void (*link)(const qh_netmodel *m, int64_t i, qh_net_link *out);
    /* Models whose links can change, NULL otherwise. is_own: the link is the first of a route from
     * the device or the last of one to it. slow: before any flow, factor > 0 times slower for good.
     * share: from `now` on, when all up to it is done, the link has this part of its rate. */
    bool (*is_own)(const qh_netmodel *m, int64_t link, int device);
    void (*slow)(qh_netmodel *m, int64_t link, double factor);
    void (*share)(qh_netmodel *m, qh_time now, int64_t link, double part);
    bool contention; /* whether flows share anything */
} qh_netmodel_ops;

struct qh_netmodel {
    const qh_netmodel_ops *ops;
    char *name;  /* owned; of the description */
    char *about; /* owned; its sources */
    int n_devices;
    int devices_per_node; /* 0: the model knows no nodes */
    bool staging;         /* device-to-host copies before and after each block (gloo) */
};

/* NAME of a preset, or a FILE.yaml. n_devices 0: as many as the description says or has room for,
 * or 2. A description with a fixed number of devices refuses another (QH_EUSAGE). */
qh_status qh_netmodel_open(const char *name_or_file, int n_devices, qh_netmodel **out);
/* The same from the text of a description, which name stands for. */
qh_status qh_netmodel_open_text(const char *name, const char *text, int n_devices,
                                qh_netmodel **out);
void qh_netmodel_close(qh_netmodel *m); /* NULL is fine */

/* The text behind NAME of a preset or a FILE.yaml, which the caller frees. */
qh_status qh_netmodel_describe(const char *name_or_file, char **text);

/* The models that `model:` may name. */
int64_t qh_net_model_count(void);
const char *qh_net_model_name(int64_t i);
const char *qh_net_model_help(int64_t i);

/* Presets, built into the program, by name. */
int64_t qh_net_preset_count(void);
const char *qh_net_preset_name(int64_t i);
const char *qh_net_preset_about(int64_t i); /* its "about:" line */
const char *qh_net_preset_text(int64_t i);  /* the YAML file itself */

/* Everything that will be applied, in words, with the matrix of uncontended bandwidth and latency
 * between the first devices. */
void qh_netmodel_show(const qh_netmodel *m, FILE *out);

/* theta (seconds a byte) and gamma (seconds) of a channel, both >= 0: the line through `alone` at
 * sizes from 1 KiB to 64 MiB with the least squares of relative errors. */
void qh_netmodel_fit(const qh_netmodel *m, int src, int dst, double *theta, double *gamma);

#endif
