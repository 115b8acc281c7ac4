/* Small programs for the engine, networks and accelerators from a text, and what a run gave. */
#ifndef QH_TESTS_SUPPORT_PROGRAM_H
#define QH_TESTS_SUPPORT_PROGRAM_H

#include "sim/engine.h"

enum { PROGRAM_DEVICES = 16, PROGRAM_EPOCHS = 32 };

typedef struct program {
    int n_devices;
    qh_record_list device[PROGRAM_DEVICES];
} program;

void program_fini(program *p);

/* Appends a record; epoch, layer and direction stay as last set by program_at. */
void program_at(int epoch, int layer, int direction);
void program_compute(program *p, int device, int op, int64_t picoseconds);
void program_send(program *p, int device, int peer, int64_t bytes);
void program_recv(program *p, int device, int peer, int64_t bytes);
void program_wait(program *p, int device);
void program_reduce(program *p, int device, int64_t bytes);
void program_end(program *p, int device);

/* Sends and receives of every pair, in the order of rounds, bytes each: first all receives. */
void program_exchange(program *p, int device, int64_t bytes);

/* From the text of a description; fails the test when it is refused. */
qh_netmodel *test_net(const char *text, int n_devices);
qh_accelerator *test_accelerator(const char *text);
qh_status test_net_status(const char *text, int n_devices, qh_netmodel **out);
qh_status test_accelerator_status(const char *text, qh_accelerator **out);

/* Where a compute record of program_compute takes just as long as it says: 1 flop a picosecond. */
extern const char test_plain_accelerator[];

typedef struct outcome {
    qh_status status;
    int n_devices;
    int64_t n_epochs;
    qh_epoch_times epoch[PROGRAM_EPOCHS];
    qh_breakdown sums[PROGRAM_EPOCHS][PROGRAM_DEVICES];
    qh_time now[PROGRAM_DEVICES];
    qh_path path;
    int64_t n_intervals;
    uint64_t interval_hash[PROGRAM_DEVICES]; /* of all intervals of a device, in their order */
    qh_time last_end[PROGRAM_DEVICES];       /* of an interval */
    int disorder;                            /* intervals that were not in order of time */
} outcome;

/* Portions in which records are fed; the engine runs after each. */
typedef enum feeding { FEED_ALL, FEED_EPOCHS, FEED_RANDOM } feeding;

typedef struct run_options {
    const char *net, *accelerator; /* texts; accelerator NULL: the plain one */
    qh_exchange_order order;
    qh_reduce_kind reduce;
    feeding feed;
    uint64_t seed; /* FEED_RANDOM */
    int intervals;
    bool path; /* follow the critical path */
} run_options;

void program_run(const program *p, const run_options *o, outcome *out);

#endif
