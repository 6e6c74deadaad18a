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

#endif
