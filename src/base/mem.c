#include "src/base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_FROM = 4 << 20, HUGE_PAGE = 2 << 20 };

/* Stands in front of every block, a cache line of its own, so that free knows the size. */
typedef struct header {
    int64_t bytes; /* of the user's part */
    void *base;    /* what malloc gave */
} header;

static atomic_llong n_allocations, bytes_now, bytes_peak, fail_countdown;

static int must_fail(void)
{
    long long left = atomic_load(&fail_countdown);

    while (left > 0)
        if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1))
            return left == 1;
    return 0;
}

static void count_bytes(int64_t delta)
{
    long long now = atomic_fetch_add(&bytes_now, delta) + delta;
    long long peak = atomic_load(&bytes_peak);

    while (now > peak && !atomic_compare_exchange_weak(&bytes_peak, &peak, now))
        continue;
}

static header *header_of(void *block)
{
    return (header *)((char *)block - QH_MEM_ALIGN);
}

qh_status qh_mem_alloc(void **out, int64_t count, size_t size)
{
    size_t bytes, align, total;
    char *base, *block;

    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) ||
        bytes > (size_t)PTRDIFF_MAX - 2 * (size_t)HUGE_PAGE)
        return qh_fail(QH_ERESOURCE,
                       "memory: %lld items of %zu bytes is more than can be addressed",
                       (long long)count, size);
    align = bytes >= HUGE_FROM ? HUGE_PAGE : QH_MEM_ALIGN;
    total = bytes + align + QH_MEM_ALIGN;
    atomic_fetch_add(&n_allocations, 1);
    /* calloc: fresh pages are zero already, so a large block costs nothing until it is touched. */
    base = must_fail() ? NULL : calloc(1, total);
    if (!base)
        return qh_fail(QH_ERESOURCE,
                       "memory: %zu bytes could not be had (%lld are held); "
                       "a smaller graph, scale or --hidden needs less",
                       bytes, (long long)qh_mem_bytes());
    block = (char *)(((uintptr_t)base + QH_MEM_ALIGN + align - 1) & ~(uintptr_t)(align - 1));
    if (bytes >= HUGE_FROM)
        madvise(block, bytes & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE); /* only a wish */
    *header_of(block) = (header){.bytes = (int64_t)bytes, .base = base};
    count_bytes((int64_t)bytes);
    *out = block;
    return QH_OK;
}

/* Gives the end of a large block back without a copy (glibc unmaps pages); false: not done. Where
 * realloc moves the block all the same, the contents move on to an aligned place. */
static int shrink(void **block, size_t bytes)
{
    header h = *header_of(*block);
    size_t offset = (size_t)((char *)*block - (char *)h.base);
    char *base = realloc(h.base, bytes + HUGE_PAGE + QH_MEM_ALIGN), *to;

    if (!base)
        return 0;
    to = (char *)(((uintptr_t)base + QH_MEM_ALIGN + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    if (to != base + offset)
        memmove(to, base + offset, bytes);
    *header_of(to) = (header){.bytes = (int64_t)bytes, .base = base};
    count_bytes((int64_t)bytes - h.bytes);
    *block = to;
    return 1;
}

qh_status qh_mem_resize(void **block, int64_t old_count, int64_t count, size_t size)
{
    void *bigger = NULL;
    qh_status st;

    if (*block && count >= 0 && count <= old_count && (size_t)old_count * size >= HUGE_FROM &&
        shrink(block, (size_t)count * size))
        return QH_OK;
    st = qh_mem_alloc(&bigger, count, size);
    if (st < 0)
        return st;
    if (*block)
        memcpy(bigger, *block, (size_t)(old_count < count ? old_count : count) * size);
    qh_mem_free(*block);
    *block = bigger;
    return QH_OK;
}

void qh_mem_free(void *block)
{
    if (!block)
        return;
    count_bytes(-header_of(block)->bytes);
    free(header_of(block)->base);
}

qh_status qh_mem_check_room(int64_t bytes, const char *what)
{
    void *room = MAP_FAILED;

    if (bytes <= 0)
        return QH_OK;
    if (!must_fail()) /* address space alone: the library touches little of what it takes */
        room = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return qh_fail(QH_ERESOURCE,
                       "memory: %lld bytes of address space for %s could not be had; a higher "
                       "ulimit -v or fewer --threads and --devices is right",
                       (long long)bytes, what);
    munmap(room, (size_t)bytes);
    return QH_OK;
}

qh_status qh_mem_strdup(const char *text, char **out)
{
    int64_t n = (int64_t)strlen(text) + 1;
    qh_status st = QH_NEW_ARRAY(out, n);

    if (st == QH_OK)
        memcpy(*out, text, (size_t)n);
    return st;
}

qh_status qh_mat_new(int64_t rows, int64_t cols, qh_mat *out)
{
    enum { LINE = QH_MEM_ALIGN / sizeof(float) };
    int64_t lines = (cols + LINE - 1) / LINE;
    float *data = NULL;
    qh_status st;

    QH_ASSERT(rows >= 0 && cols >= 0);
    if (lines > 1 && lines % 2 == 0)
        lines++;
    st = qh_mem_alloc((void **)&data, rows, (size_t)(lines * LINE) * sizeof(float));
    if (st == QH_OK)
        *out = (qh_mat){.data = data, .rows = rows, .cols = cols, .ld = lines * LINE};
    return st;
}

void qh_mat_free(qh_mat *m)
{
    qh_mem_free(m->data);
    *m = (qh_mat){0};
}

int64_t qh_mem_count(void)
{
    return atomic_load(&n_allocations);
}

int64_t qh_mem_bytes(void)
{
    return atomic_load(&bytes_now);
}

int64_t qh_mem_peak_bytes(void)
{
    return atomic_load(&bytes_peak);
}

void qh_mem_fail_at(int64_t n)
{
    atomic_store(&fail_countdown, n);
}
