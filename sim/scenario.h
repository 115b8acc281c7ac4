/* One run as data: the settings a user gives, built into every part, run, and its result. The
 * composition root: the only place that joins core, network, compute model and devices. */
#ifndef QH_SIM_SCENARIO_H
#define QH_SIM_SCENARIO_H

#include "sim/engine.h"
#include "sim/totals.h"
#include "src/base/options.h"
#include "src/graph/dataset.h"
#include "src/partition/partition.h"
#include "src/train/trainer.h"

/* Whether devices wait, by the wall clock, as long as the network says (pace.h). */
typedef enum qh_clock { QH_CLOCK_VIRTUAL, QH_CLOCK_REAL } qh_clock;

/* All train options of DESIGN section 3, as qh_scenario_options describes them. */
typedef struct qh_settings {
    int64_t devices;
    /* model */
    char *model;
    int64_t layers, hidden;
    double dropout, input_dropout;
    int norm;       /* none|layer */
    int activation; /* relu */
    int order;      /* qh_order */
    int64_t epochs;
    double lr, weight_decay;
    int decay_layers; /* all|first */
    char *recipe;
    int64_t seed, eval_every, early_stop;
    int feature_norm;
    bool cache_features;
    /* method and its parts */
    char *method, *codec, *assign, *bits;
    int64_t assign_every, group_size;
    double lambda;
    bool overlap;
    char *rate_schedule;
    bool mask_rescale, error_feedback;
    char *stale, *boundary_sample, *skip_bound; /* numbers; NULL: the method's */
    double smooth;
    int64_t skip_age;
    int params; /* fp32|bf16 */
    /* partition */
    char *partitioner, *partition_file;
    int objective;
    /* time */
    char *net, *accelerator;
    int compute; /* modeled|measured */
    int exchange;
    int allreduce; /* qh_reduce_kind */
    int clock;     /* qh_clock */
    double time_scale;
    char *devices_slow;
    /* host */
    int64_t threads;
    char *pin; /* on|off|LIST */
} qh_settings;

/* The table behind flags, configuration files, help and run.json. */
extern const qh_option qh_scenario_options[];

qh_status qh_settings_init(qh_settings *s); /* defaults; s need not be zero. QH_ERESOURCE */
void qh_settings_fini(qh_settings *s);

/* What messages are made with: the parts of the method, or those that stand in their place. */
typedef struct qh_parts {
    const char *codec, *strategy; /* borrowed from the settings or from the method */
    const char *assign;           /* bit assigner; NULL: the codec has one width */
    char rate[QH_PART_BYTES];     /* schedule; "": the codec's own ratio, if it has one */
    const char *rate_where;       /* the option that the schedule comes from */
    bool error_feedback;
    qh_relax relax;
} qh_parts;

/* QH_EUSAGE for an unknown method. */
qh_status qh_settings_parts(const qh_settings *s, qh_parts *out);

/* Whether a part of the columns may travel alone, so that --mask-rescale says something. */
bool qh_parts_have_mask(const qh_parts *p);

/* What can be said of the settings without the data set: that models, methods, parts, partitioners,
 * networks and accelerators exist and their descriptions are good. For a front end that would spare
 * its user a long load; qh_scenario_run looks at everything itself. QH_EUSAGE, QH_EINPUT. */
qh_status qh_settings_check(const qh_settings *s);

/* The most devices that a run may have: ranks are what channels are squared from. */
enum { QH_MAX_DEVICES = 4096 };

/* The hyper-parameters of a paper ("kipf", "adaqp", "varco") into s: called where --recipe stands,
 * before later options. QH_EUSAGE for an unknown one. */
qh_status qh_settings_recipe(qh_settings *s, const char *where, const char *recipe);

/* Per epoch, means over devices, as epochs.csv has it. */
typedef struct qh_epoch_row {
    qh_epoch_metrics metrics;
    double wall_s; /* measured, of the slowest device; 0: not measured */
    qh_time sim;   /* duration: from the end of the epoch before to the end of this one */
    double compute_s, comm_s, exposed_comm_s, quant_s; /* mean over devices */
    int64_t bytes, messages, floats; /* floats: numbers that the messages stand for */
    double mean_bits;
} qh_epoch_row;

typedef struct qh_traffic_row {
    int src, dst, layer, direction;
    int64_t messages, bytes;
} qh_traffic_row;

/* What an adaptive assignment reckons with over all channels: theta * bytes + gamma for a block. */
typedef struct qh_channel_costs {
    double theta_min, theta_max; /* seconds a byte */
    double gamma_min, gamma_max; /* seconds */
} qh_channel_costs;

/* A link of the network, one direction of it, over the whole run. */
typedef struct qh_link_load {
    qh_net_link link;
    int64_t number;
    double utilisation; /* bytes carried over what it could have carried */
} qh_link_load;

typedef struct qh_result {
    qh_train_result train;
    char metric_name[16]; /* "accuracy" or "f1_micro" */
    qh_partition_figures partition;
    char *partition_method; /* owned */
    int64_t *inner_nodes;   /* owned, [devices] */
    qh_time sim_end;
    qh_breakdown_seconds mean, max; /* over devices, per epoch */
    int64_t bytes_sent, messages, floats_sent;
    int64_t fp32_bytes;     /* the same messages as vanilla sends them */
    double fp32_coding;     /* modeled seconds of packing and unpacking those, all devices */
    double net_bytes_per_s; /* of the slowest channel out of device 0, alone; 0: one device */
    qh_channel_costs costs; /* all 0: no assigner asks for them */
    int64_t bits_messages[QH_N_WIDTHS];
    qh_traffic_row *traffic; /* owned */
    int64_t n_traffic;
    qh_link_load *links; /* owned: those that carried something, hottest first */
    int64_t n_links;
    int senders;    /* the most that send to one device in one layer and direction */
    bool shares;    /* the network makes what meets slower, or exchanges go in rounds */
    double *wall_s; /* owned, [n_wall]: measured seconds of each epoch; NULL: not measured */
    int64_t n_wall;
    double wall_seconds, cpu_seconds;
    int64_t peak_rss_bytes;
    int cores;
    bool cores_shared, interrupted;
    const struct qh_placement *placement; /* borrowed; while devices are threads here, then NULL */
} qh_result;

/* Called from one thread at a time, while the others wait: epoch() as epochs end in virtual time
 * (the row of an epoch comes when every device has passed its end, which may be during the next
 * one), bits() as they end in training. Any may be NULL. An error ends the run. */
typedef struct qh_observer {
    /* Before training: partition figures, the cores used, and the bytes of the first epoch, to the
     * byte, are known. */
    void (*ready)(void *ctx, const qh_settings *s, const qh_result *partial,
                  int64_t first_epoch_bytes);
    qh_status (*epoch)(void *ctx, const qh_epoch_row *row);
    /* Messages of each width in an epoch, layer and direction (bits.csv). */
    qh_status (*bits)(void *ctx, int32_t epoch, int layer, int direction, int width,
                      int64_t messages);
    void (*progress)(void *ctx, const qh_epoch_metrics *m, int64_t epochs); /* as soon as trained */
    void (*interval)(void *ctx, const qh_interval *i);
    /* For a trace. widths(), of the messages of a SEND where they are chosen anew, and records(),
     * all of a device in an epoch, come from the device's own thread, those of other devices at the
     * same time. trained(): all devices have given theirs; times(): of an epoch before, or this. */
    qh_status (*widths)(void *ctx, int device, const qh_record *send, const uint8_t *width,
                        int64_t n);
    qh_status (*records)(void *ctx, int device, int32_t epoch, const qh_record *r, int64_t n);
    qh_status (*trained)(void *ctx, const qh_epoch_metrics *m);
    qh_status (*times)(void *ctx, const qh_epoch_times *t);
    const _Atomic int *stop; /* becomes non-zero: end after the epoch at hand (Ctrl-C) */
    void *ctx;
} qh_observer;

/* Checks the settings, builds everything, trains, times. dataset is borrowed and already
 * normalised. *out is the caller's to free with qh_result_fini, also after QH_EINTERRUPT (then it
 * holds what was done). */
qh_status qh_scenario_run(const qh_settings *s, const qh_dataset *dataset, const qh_observer *o,
                          qh_result *out);
void qh_result_fini(qh_result *r);

/* Measured seconds of epochs, the first left out where there are others (connections are made and
 * memory is touched in it). False: nothing was measured. */
typedef struct qh_measured {
    int64_t n;
    double median, min, max;
} qh_measured;
bool qh_result_measured(const qh_result *r, qh_measured *out);

/* The rate of a device's link below which what is sent less than fp32 takes longer to send than the
 * codec and the choice of widths take longer than packing fp32 rows, both an epoch:
 * (fp32 bytes - bytes sent) / (quantize + dequantize + assign - the same of fp32), bytes a second.
 * Overlap is left out. INFINITY: at any rate; NAN: nothing is saved, or times are measured, so that
 * nobody knows those of fp32. */
double qh_result_break_even(const qh_settings *s, const qh_result *r);

#endif
