#ifndef IMDUMP_RESOLVER_H
#define IMDUMP_RESOLVER_H

/// Names of addresses, which a process of its own asks for: who decodes packets may open no socket.
///
/// The resolver is forked before rights are given up and before anything is read. It sees addresses and nothing else, writes no file and
/// runs no program; what it answers is at most a name of letters, digits, dots, hyphens and underscores for each address.

/// Addresses of a batch, and bytes of a name with the 0 behind it.
enum { IMDUMP_RESOLVER_BATCH = 100, IMDUMP_RESOLVER_NAME = 256 };

/// What has become of an address: it has a name; it has none; nobody who would know has answered.
enum { IMDUMP_RESOLVER_NAMED, IMDUMP_RESOLVER_NAMELESS, IMDUMP_RESOLVER_FAILED };

/// An address: 4 or 16 bytes in the order of the network, as `is_ipv6` says.
struct imdump_resolver_address { unsigned char is_ipv6, bytes[16]; };

/// What is said of an address; `name` is empty unless `status` is IMDUMP_RESOLVER_NAMED.
struct imdump_resolver_name { unsigned char status; char name[IMDUMP_RESOLVER_NAME]; };

/// Starts a resolver, in a process of one thread. With `becomes_user` it becomes the user and group of these numbers; it has no
/// capabilities in any case. It ends with this process, and when its socket is closed.  The socket, or -errno.
int imdump_resolver_start(int becomes_user, unsigned uid, unsigned gid, int is_sandboxed);

/// Asks for the names of `count` addresses, IMDUMP_RESOLVER_BATCH at most.  0, or -errno.
int imdump_resolver_ask(int resolver, unsigned serial, const struct imdump_resolver_address *addresses, int count);

/// Takes the answer to the batch `serial`, which has `count` addresses; waits `milliseconds` at most.  1 when it is there, 0 when it is not
/// yet, or -errno; -ECHILD when the resolver is gone.
int imdump_resolver_take(int resolver, unsigned serial, struct imdump_resolver_name *names, int count, int milliseconds);

/// Leaves the process what looking names up takes: it may run no program and look into no other process.  0, or -errno.
int imdump_filter_resolver(void);

#endif
