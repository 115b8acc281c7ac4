/* Ranks as threads, for tests: trainers over the in-process transport, with their records kept. */
#ifndef QH_TESTS_SUPPORT_FLEET_H
#define QH_TESTS_SUPPORT_FLEET_H

#include "src/train/trainer.h"

typedef struct fleet_spec {
    qh_train_settings settings;
    const qh_dataset *dataset;
    const char *partitioner; /* "metis", "random", ...; or NULL: part */
    const int32_t *part;     /* [n_nodes] */
    int n_ranks;
    int team;        /* threads a rank; 0 counts as 1 */
    bool no_records; /* the sink drops them, so that it allocates nothing */
    /* Sees each record in its rank's thread, as soon as what it tells of is done. */
    void (*watch)(void *ctx, int rank, const qh_record *r);
    /* Likewise the widths of the messages of a SEND, where they are chosen anew. */
    void (*watch_widths)(void *ctx, int rank, const qh_record *send, const uint8_t *width,
                         int64_t n);
    void *watch_ctx;
    /* Adds to them what each rank hands to the transport, [n_ranks]: blocks, tables, all-reduce. */
    int64_t *wire_bytes;
} fleet_spec;

enum { FLEET_MAX_EPOCHS = 64 };

typedef struct fleet_result {
    qh_status status; /* of the failed rank of lowest number, not counting the interrupted */
    char error[QH_ERROR_TEXT_BYTES];
    qh_train_result train;
    double loss[FLEET_MAX_EPOCHS];
    double metric[FLEET_MAX_EPOCHS][4];
    qh_record_list *records; /* [n_ranks], of all epochs; freed by fleet_free */
    qh_volume volume;        /* of epoch 0, summed over ranks */
    int n_ranks;
} fleet_result;

/* Sensible settings: fp32, sync, Adam 0.01, no dropout, LayerNorm, fast kernels. */
qh_train_settings fleet_settings(const qh_dataset *d, const char *model, int layers, int64_t hidden,
                                 int64_t epochs);

/* Changes codec (and assigner) by method name; asserts that it exists. kernels "fast" or "ref". */
void fleet_method(qh_train_settings *s, const char *method, const char *kernels);

/* Changes the codec alone, under a mask where there is a schedule; or the schedule, which lives
 * until the test ends (a mask is laid over the codec, as options do). */
void fleet_codec(qh_train_settings *s, const char *codec, const char *kernels);
void fleet_rate(qh_train_settings *s, const char *schedule);

/* Trains; with body, calls it in place of qh_train in each rank's thread. */
void fleet_run(const fleet_spec *f, qh_status (*body)(void *ctx, int rank, qh_trainer *t),
               void *ctx, fleet_result *out);
void fleet_free(fleet_result *r);

/* Sums over SEND records of an epoch (-1: all). */
int64_t fleet_bytes(const fleet_result *r, int epoch);
int64_t fleet_messages(const fleet_result *r, int epoch);

#endif
