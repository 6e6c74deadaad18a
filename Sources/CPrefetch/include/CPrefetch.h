#ifndef IMDUMP_CPREFETCH_H
#define IMDUMP_CPREFETCH_H

/// Asks for the cache line at `address`, which may be any address at all: a wrong one costs nothing but the asking.
static inline void imdump_prefetch(const void *address) { __builtin_prefetch(address, 1, 3); }

#endif
