#ifndef IMDUMP_CPCAP_SHIM_H
#define IMDUMP_CPCAP_SHIM_H

#include <errno.h>
#include <pcap/pcap.h>

#ifdef __linux__
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
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

/// The number of the interface `name`, asked through any `socket`: if_nametoindex(3) makes one, and takes a process that
/// is out of descriptors for one whose interface is gone.  -errno when there is no answer.
static inline int imdump_interface_index(int socket, const char *name) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
  return ioctl(socket, SIOCGIFINDEX, &request) == 0 ? request.ifr_ifindex : -errno;
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

/// A protocol that no packet has: below 0x600 the field is a length.
#define IMDUMP_PROTOCOL_NONE 0x05FF

/// Lets a packet socket that was bound to `IMDUMP_PROTOCOL_NONE` accept packets of every protocol.  0, or -errno; 0 for
/// what is no packet socket.
static inline int imdump_accept_everything(int socket) {
  struct sockaddr_ll address;
  socklen_t length = sizeof address;
  memset(&address, 0, sizeof address);
  if (getsockname(socket, (struct sockaddr *)&address, &length) != 0 || address.sll_family != AF_PACKET) return 0;
  struct sockaddr_ll every;
  memset(&every, 0, sizeof every);
  every.sll_family = AF_PACKET;
  every.sll_protocol = htons(ETH_P_ALL);
  every.sll_ifindex = address.sll_ifindex;
  return bind(socket, (struct sockaddr *)&every, sizeof every) == 0 ? 0 : -errno;
}

/// The kind of hardware (ARPHRD_ETHER ...) of the interface `name`, asked through any `socket`; -errno when there is no
/// answer.
static inline int imdump_hardware(int socket, const char *name) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
  if (ioctl(socket, SIOCGIFHWADDR, &request) != 0) return -errno;
  return request.ifr_hwaddr.sa_family;
}

/// Binds a packet socket, with its filter and its ring, to the interface `index`, which has taken the place of the one it
/// was bound to.  Only making such a socket takes a capability, so this works when that has been given up.  0, or -errno.
static inline int imdump_bind_again(int socket, unsigned index, int promiscuous) {
  struct sockaddr_ll address;
  memset(&address, 0, sizeof address);
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = (int)index;
  if (bind(socket, (struct sockaddr *)&address, sizeof address) != 0) return -errno;
  if (promiscuous) {
    struct packet_mreq membership;
    memset(&membership, 0, sizeof membership);
    membership.mr_ifindex = (int)index;
    membership.mr_type = PACKET_MR_PROMISC;
    setsockopt(socket, 263 /* SOL_PACKET */, PACKET_ADD_MEMBERSHIP, &membership, sizeof membership);
  }
  return 0;
}
#endif

#endif
