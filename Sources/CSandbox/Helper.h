#ifndef IMDUMP_HELPER_H
#define IMDUMP_HELPER_H

#include <stddef.h>
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

/// Descriptors that a process can keep.
enum { IMDUMP_HELPER_KEPT = 8 };

/// The same, but that the `count` descriptors of `kept` are open in it as well, as the numbers after IMDUMP_HELPER_SOCKET.
int imdump_helper_start_keeping(void (*serve)(const void *facts, pid_t parent), const void *facts, const int *kept, int count,
                                pid_t *process);

/// Sends a message, and the descriptor `passed` unless it is -1. 0, or -1.
int imdump_helper_send(int socket, const void *bytes, size_t count, int passed);

/// Receives a message of `count` bytes and a descriptor, -1 where none came with it. -1 for a message of another length.
int imdump_helper_receive(int socket, void *bytes, size_t count, int *passed);

#endif
