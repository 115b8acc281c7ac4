/* Random records such as a run may leave, and traces of them in a file. */
#ifndef QH_TESTS_SUPPORT_RECORDS_H
#define QH_TESTS_SUPPORT_RECORDS_H

#include "src/record/record.h"

#include <stdbool.h>

/* Record i of a device in an epoch: a function of the arguments. `wild` uses the whole range of
 * every field, else the values are those of a small run. */
qh_record records_draw(uint64_t seed, int device, int n_devices, int32_t epoch, int64_t i,
                       bool wild);

bool records_same(const qh_record *a, const qh_record *b);

/* Writes a trace of n_epochs with n[device] records each, EPOCH_END last, and times of all epochs
 * but `untimed` of the last; closes it unless told otherwise. Fails the test when that fails. */
typedef struct records_trace {
    const char *path;
    int n_devices, n_epochs, untimed;
    int64_t n[8];
    uint64_t seed;
    bool same; /* every epoch repeats the first */
    bool widths, open;
} records_trace;
void records_write(const records_trace *t);

#endif
