#include "CMachine.h"

typedef uint64_t lanes __attribute__((vector_size(32)));

/* Twice: the loader takes the one that the processor can run. */
#if defined(__x86_64__) && defined(__gnu_linux__)
__attribute__((target_clones("avx2", "default")))
#endif
static uint64_t sum_blocks(const unsigned char *place, size_t count)
{
    lanes low = {0}, high = {0};

    for (; count > 0; count--, place += 64) {
        lanes a, b;
        memcpy(&a, place, sizeof a);
        memcpy(&b, place + 32, sizeof b);
        low += (a & 0xffffffff) + (b & 0xffffffff);
        high += (a >> 32) + (b >> 32);
    }
    low += high;
    return low[0] + low[1] + low[2] + low[3];
}

IMDUMP_SELDOM uint64_t imdump_sum_blocks(const void *start, size_t count) { return sum_blocks(start, count); }
