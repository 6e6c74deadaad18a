#ifndef IMDUMP_CEPOLL_SHIM_H
#define IMDUMP_CEPOLL_SHIM_H

// What Swift's own module of the C library leaves out: readiness, wake-ups, and news of addresses and routes. No header is
// included that the module has, so that its types stay its own.
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// Declared by <sys/socket.h> for GNU sources only.
struct sockaddr;
int accept4(int descriptor, struct sockaddr *address, unsigned *length, int flags);

/* Swift's Glibc module has no extensions of GNU: asks the kernel to write a file's bytes to the disk, and does not wait. */
int sync_file_range(int file, long long offset, long long count, unsigned flags);
static inline void imdump_start_writeback(int file) { (void)sync_file_range(file, 0, 0, 2 /* SYNC_FILE_RANGE_WRITE */); }

#endif
