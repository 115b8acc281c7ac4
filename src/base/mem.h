/* Checked, aligned, counted allocation that can be made to fail on demand. */
#ifndef QH_BASE_MEM_H
#define QH_BASE_MEM_H

#include "src/base/status.h"
#include "src/base/view.h"

#include <stddef.h>
#include <stdint.h>

enum { QH_MEM_ALIGN = 64 };

/* count * size zeroed bytes, 64-byte aligned (2 MiB aligned and asking for huge pages from 4 MiB
 * on), into *out, which the caller frees with qh_mem_free. count 0 gives a valid pointer.
 * Errors: QH_ERESOURCE when the product overflows or memory is short. Any thread. */
qh_status qh_mem_alloc(void **out, int64_t count, size_t size);

/* Grows or shrinks *block (from qh_mem_alloc, or NULL) from old_count to count items; new items
 * are zero. On failure *block is as before. A large block shrinks without a copy. */
qh_status qh_mem_resize(void **block, int64_t old_count, int64_t count, size_t size);

void qh_mem_free(void *block); /* NULL is fine */

/* One zeroed object, or an array of n, into *pointer. */
#define QH_NEW(pointer)          qh_mem_alloc((void **)(pointer), 1, sizeof **(pointer))
#define QH_NEW_ARRAY(pointer, n) qh_mem_alloc((void **)(pointer), (n), sizeof **(pointer))
#define QH_RESIZE(pointer, from, n)                                                                \
    qh_mem_resize((void **)(pointer), (from), (n), sizeof **(pointer))

/* A copy of text that the caller frees. */
qh_status qh_mem_strdup(const char *text, char **out);

/* A zeroed row-major matrix whose rows begin on cache lines and lie an odd number of lines apart
 * (so that a tile of columns spreads over all cache sets). Freed with qh_mat_free. */
qh_status qh_mat_new(int64_t rows, int64_t cols, qh_mat *out);
void qh_mat_free(qh_mat *m); /* leaves an empty view */

/* Whether so many bytes of address space are still to be had, and none of them is kept: asked
 * before a library that cannot say that memory is short takes them. QH_ERESOURCE, what naming them.
 */
qh_status qh_mem_check_room(int64_t bytes, const char *what);

/* Allocations made so far by the whole process, for the test that wants none after epoch 1. */
int64_t qh_mem_count(void);

/* Bytes now held, and the most ever held, by qh_mem_alloc. */
int64_t qh_mem_bytes(void);
int64_t qh_mem_peak_bytes(void);

/* The n-th allocation from now on (1 = the next) fails, once; 0 switches this off. Tests only. */
void qh_mem_fail_at(int64_t n);

#endif
