/* Bytes that pretend to be a trace, for libFuzzer (fuzz-trace) and for the loop of loop.c. */
#ifndef QH_TESTS_FUZZ_TRACE_H
#define QH_TESTS_FUZZ_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* The first byte says how the rest is taken: even, as a file as it stands; odd, as frames that get
 * right checksums, so that what is behind them is reached. Opens it, reads everything, replays it.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How far the inputs so far got, for a test that wants to know that they got anywhere. */
typedef struct fuzz_counts {
    int64_t inputs, opened, read, replayed;
} fuzz_counts;
extern fuzz_counts fuzz_reached;

#endif
