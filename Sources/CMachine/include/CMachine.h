#ifndef IMDUMP_CMACHINE_H
#define IMDUMP_CMACHINE_H

#include <stddef.h>
#include <stdint.h>

/// Asks for the cache line at `address`, which may be any address at all: a wrong one costs nothing but the asking.
static inline void imdump_prefetch(const void *address) { __builtin_prefetch(address, 1, 3); }

/// The sum of `count` blocks of 64 bytes at `start` (of any alignment), as 32-bit words in the order of the machine; less
/// than 2^64 for less than 2^32 blocks. With the widest registers that the processor has, which Swift code cannot ask for.
uint64_t imdump_sum_blocks(const void *start, size_t count);

#endif
