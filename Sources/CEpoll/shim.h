#ifndef IMDUMP_CEPOLL_SHIM_H
#define IMDUMP_CEPOLL_SHIM_H

// What Swift's own module of the C library leaves out: readiness, wake-ups, and news of addresses and routes.
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

// Declared by <sys/socket.h> for GNU sources only.
int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

#endif
