#ifndef IMDUMP_HELPER_H
#define IMDUMP_HELPER_H

#include <sys/types.h>

/// Processes of a run's own, which do for it what it may not: they are forked before rights are given up, and asked on a socket of whole
/// messages.

/// The socket in such a process.
enum { IMDUMP_HELPER_SOCKET };

/// Starts a process that has its socket as IMDUMP_HELPER_SOCKET and nothing else open, calls `serve` with `facts` and the process that
/// started it, and ends. It heeds no signal but SIGKILL. In a process of one thread. Children are not waited for from then on: the kernel
/// takes them away.
///
/// Tells its number in `process`.  The socket, which never blocks on writing, or -errno.
int imdump_helper_start(void (*serve)(const void *facts, pid_t parent), const void *facts, pid_t *process);

#endif
