/* Checksums and digests (XXH3, through libxxhash): equal bytes, equal value, on every machine. */
#ifndef QH_BASE_HASH_H
#define QH_BASE_HASH_H

#include <stdint.h>

/* 64-bit XXH3 of size bytes, continued from seed (0 to begin). */
uint64_t qh_hash(const void *data, int64_t size, uint64_t seed);

#endif
