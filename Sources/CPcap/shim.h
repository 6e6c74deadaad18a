#ifndef IMDUMP_CPCAP_SHIM_H
#define IMDUMP_CPCAP_SHIM_H

#include <errno.h>
#include <pcap/pcap.h>

#ifdef __linux__
#include <linux/filter.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

/// The flags (IFF_UP ...) of the interface `name`, asked through any `socket`; -errno when there is no answer.
static inline int imdump_interface_flags(int socket, const char *name) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
  if (ioctl(socket, SIOCGIFFLAGS, &request) != 0) return -errno;
  return (unsigned short)request.ifr_flags;
}

/// Makes a packet socket accept nothing more; what it has accepted stays readable.  0, or -errno.
static inline int imdump_accept_nothing(int socket) {
  struct sock_filter no = BPF_STMT(BPF_RET | BPF_K, 0);
  struct sock_fprog program = {1, &no};
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0 ? 0 : -errno;
}

/// Keeps a packet socket on a loopback from seeing every packet a second time on its way out.  0, or -errno.
static inline int imdump_ignore_outgoing(int socket) {
  int yes = 1;
  return setsockopt(socket, 263 /* SOL_PACKET */, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) == 0 ? 0 : -errno;
}
#endif

#endif
