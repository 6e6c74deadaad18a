#ifndef IMDUMP_SERVING_H
#define IMDUMP_SERVING_H

/// Calls of Linux that a thread takes which serves others, and that Swift's view of the C library leaves out.

/// Takes a connection that waits at `listener`, as a descriptor that never blocks and that no other program inherits.
/// The descriptor, or -errno; -EAGAIN where nobody waits.
int imdump_accept(int listener);

/// Makes a pipe, to read from `ends[0]` and to write to `ends[1]`, neither of which blocks or is inherited.  0, or -errno.
int imdump_pipe(int ends[2]);

/// Gives the calling thread a name, of 15 bytes at most, and a priority lower than that of its process.
void imdump_serve_behind(const char *name);

/// Gives the calling thread a name, of 15 bytes at most.
void imdump_name_thread(const char *name);

#endif
