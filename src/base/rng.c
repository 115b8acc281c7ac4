#include "src/base/rng.h"

#include "src/base/status.h"

#include <Random123/philox.h>
#include <math.h>

__extension__ typedef unsigned __int128 uint128; /* gcc and clang have it; ISO C does not */

static qh_rand4 philox(uint32_t k0, uint32_t k1, const uint32_t counter[4])
{
    philox4x32_ctr_t c = {{counter[0], counter[1], counter[2], counter[3]}};
    philox4x32_key_t k = {{k0, k1}};
    philox4x32_ctr_t r = philox4x32(c, k);

    return (qh_rand4){{r.v[0], r.v[1], r.v[2], r.v[3]}};
}

qh_key qh_rand_key(uint64_t seed, qh_purpose purpose, uint32_t epoch, uint32_t layer,
                   uint32_t direction)
{
    uint32_t what[4] = {(uint32_t)purpose | direction << 8 | layer << 16, epoch, 0x716b6579, 0};
    qh_rand4 r;

    QH_ASSERT(layer < 65536 && direction < 256 && (unsigned)purpose < 256);
    r = philox((uint32_t)seed, (uint32_t)(seed >> 32), what);
    return (qh_key){r.v[0], r.v[1]};
}

qh_rand4 qh_rand_block(qh_key key, uint64_t lo, uint64_t hi)
{
    uint32_t counter[4] = {(uint32_t)lo, (uint32_t)(lo >> 32), (uint32_t)hi, (uint32_t)(hi >> 32)};

    return philox(key.k0, key.k1, counter);
}

uint64_t qh_rand_u64(qh_key key, uint64_t index)
{
    qh_rand4 r = qh_rand_block(key, index, 0);

    return r.v[0] | (uint64_t)r.v[1] << 32;
}

double qh_rand_unit(qh_key key, uint64_t index)
{
    return (double)(qh_rand_u64(key, index) >> 11) * 0x1p-53;
}

uint64_t qh_rand_below(qh_key key, uint64_t index, uint64_t n)
{
    /* The high word of a 64 x 64 product (Lemire, ACM TOMACS 29(1), 2019, without rejection). */
    QH_ASSERT(n >= 1);
    return (uint64_t)(((uint128)qh_rand_u64(key, index) * n) >> 64);
}

double qh_rand_normal(qh_key key, uint64_t index)
{
    qh_rand4 r = qh_rand_block(key, index, 1);
    double u = ((r.v[0] | (uint64_t)r.v[1] << 32) >> 11) * 0x1p-53;
    double v = ((r.v[2] | (uint64_t)r.v[3] << 32) >> 11) * 0x1p-53;

    return sqrt(-2.0 * log(1.0 - u)) * cos(6.283185307179586 * v); /* 1 - u is never 0 */
}

uint16_t qh_rand16(qh_key key, uint64_t row, uint64_t col)
{
    uint64_t group = col / 128, lane = col % 16, slot = col % 128 / 16;
    qh_rand4 r = qh_rand_block(key, 16 * group + lane, row);

    return (uint16_t)(r.v[slot / 2] >> 16 * (slot % 2));
}
