#ifndef IMDUMP_CMACHINE_H
#define IMDUMP_CMACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// Asks for the cache line at `address`, which may be any address at all: a wrong one costs nothing but the asking.
static inline void imdump_prefetch(const void *address) { __builtin_prefetch(address, 1, 3); }

/* A caller that seldom calls keeps its registers. */
#if defined(__x86_64__) && defined(__clang__)
#define IMDUMP_SELDOM __attribute__((preserve_most, cold))
#else
#define IMDUMP_SELDOM __attribute__((cold))
#endif

/// The sum of `count` blocks of 64 bytes at `start` (of any alignment), as 32-bit words in the order of the machine; less
/// than 2^64 for less than 2^32 blocks. With the widest registers that the processor has, which Swift code cannot ask for.
IMDUMP_SELDOM uint64_t imdump_sum_blocks(const void *start, size_t count);

static inline uint64_t imdump_word(const unsigned char *place)
{
    uint64_t word;
    memcpy(&word, place, sizeof word);
    return word;
}

/* Ones, then as many zeros: from 32 - n on, they keep n of 32 bytes. */
static const unsigned char imdump_kept[64] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
};

/// The ones' complement sum of `count` bytes at `start` (of any alignment), less than 2^32, as 64-bit words in the order
/// of the machine, the last of them filled up with zeros. As many as 16 bytes behind the last are loaded. With carries that
/// go from one addition to the next, which Swift has no words for; from 256 bytes on with wider registers.
static inline uint64_t imdump_sum(const void *start, size_t count)
{
    const unsigned char *place = start;
    unsigned long long sum = 0, carry;

    if (__builtin_expect(count >= 256, 0)) {
        sum = imdump_sum_blocks(place, count / 64);
        place += count & ~(size_t)63;
        count &= 63;
    }
    /* After a carry the sum is not all ones, so adding it makes no other. */
    for (; count >= 32; count -= 32, place += 32) {
        sum = __builtin_addcll(sum, imdump_word(place), 0, &carry);
        sum = __builtin_addcll(sum, imdump_word(place + 8), carry, &carry);
        sum = __builtin_addcll(sum, imdump_word(place + 16), carry, &carry);
        sum = __builtin_addcll(sum, imdump_word(place + 24), carry, &carry);
        sum += carry;
    }
    /* The rest without a branch. Of up to 16 bytes nothing is kept behind them, so the same may be loaded again. */
    const unsigned char *kept = imdump_kept + 32 - count;
    const unsigned char *second = count > 16 ? place + 16 : place;
    sum = __builtin_addcll(sum, imdump_word(place) & imdump_word(kept), 0, &carry);
    sum = __builtin_addcll(sum, imdump_word(place + 8) & imdump_word(kept + 8), carry, &carry);
    sum = __builtin_addcll(sum, imdump_word(second) & imdump_word(kept + 16), carry, &carry);
    sum = __builtin_addcll(sum, imdump_word(second + 8) & imdump_word(kept + 24), carry, &carry);
    return sum + carry;
}

/// The sum of `count` words of 32 bits at `start` (of any alignment), at most 16.
static inline uint64_t imdump_sum_words(const void *start, size_t count)
{
    const unsigned char *place = start;
    uint64_t sum = 0;

#pragma clang loop vectorize(disable) unroll(disable)
    for (; count > 0; count--, place += 4) {
        uint32_t word;
        memcpy(&word, place, sizeof word);
        sum += word;
    }
    return sum;
}

#endif
