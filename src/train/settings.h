/* What a rank needs to know to train: numbers only, no names of files, networks or devices. */
#ifndef QH_TRAIN_SETTINGS_H
#define QH_TRAIN_SETTINGS_H

#include "src/base/status.h"
#include "src/codec/codec.h"
#include "src/model/model.h"
#include "src/policy/bits.h"

#include <stdio.h>

/* A method is a named bundle; each part can be overridden by its own option. */
typedef struct qh_method {
    const char *name, *help;
    const char *codec;    /* "fp32", "int:2", "mixed", "drop", ... */
    const char *assign;   /* bit assigner, with codec "mixed"; else NULL */
    const char *strategy; /* "sync", "overlap", ... */
} qh_method;

/* By name; NULL when unknown (qh_methods_names gives "vanilla|int8|..." for the message). */
const qh_method *qh_method_find(const char *name);
const char *qh_methods_names(void);
/* By name, or QH_EUSAGE: "WHERE: ..." says whether the name is unknown or stands for a method that
 * this version has not. */
qh_status qh_method_choose(const char *where, const char *name, const qh_method **out);
void qh_methods_help(FILE *out);

typedef struct qh_train_settings {
    qh_model_config model;
    int64_t epochs;
    double lr, weight_decay;
    bool decay_first;
    uint64_t seed;
    int64_t eval_every;        /* 0: after the last epoch only */
    int64_t early_stop;        /* epochs without a better validation metric; 0: off */
    qh_codec codec;            /* its kernels are those of all the rank's work */
    const qh_bits_ops *assign; /* NULL: the codec's own width */
    qh_bits_config bits;
    const qh_bits_state *bits_state; /* borrowed; what assign->open gave */
    const char *strategy;
    bool cache_features; /* layer 0 rows travel in the first epoch only */
    /* The sink measures the host's time of each operation: fused steps run one by one, and layer 0
     * rows that the receiver could read in the data set itself (lossless codec, no input dropout),
     * which are charged either way, are really moved. Results and records are the same. */
    bool host_times;
} qh_train_settings;

#endif
