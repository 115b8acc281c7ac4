#include "src/base/hash.h"

#include <xxhash.h>

uint64_t qh_hash(const void *data, int64_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, (size_t)size, seed);
}
