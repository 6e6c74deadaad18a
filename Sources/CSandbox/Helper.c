#define _GNU_SOURCE
#include "Helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Room for one descriptor beside a message, aligned as its header is.
union passing { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; };

int imdump_helper_send(int socket, const void *bytes, size_t count, int passed) {
  union passing passing = {0};
  struct iovec part = {(void *)bytes, count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (passed >= 0) {
    passing.header.cmsg_len = CMSG_LEN(sizeof passed);
    passing.header.cmsg_level = SOL_SOCKET;
    passing.header.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&passing.header), &passed, sizeof passed);
    message.msg_control = &passing;
    message.msg_controllen = sizeof passing;
  }
  return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)count ? 0 : -1;
}

int imdump_helper_receive(int socket, void *bytes, size_t count, int *passed) {
  union passing passing;
  struct iovec part = {bytes, count};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &passing, .msg_controllen = sizeof passing};
  ssize_t found;
  do { found = recvmsg(socket, &message, MSG_CMSG_CLOEXEC); } while (found < 0 && errno == EINTR);
  *passed = -1;
  struct cmsghdr *header = found < 0 ? NULL : CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    memcpy(passed, CMSG_DATA(header), sizeof *passed);
  }
  return found == (ssize_t)count ? 0 : -1;
}

/// Leaves the socket open, as IMDUMP_HELPER_SOCKET, those that are kept after it, and nothing else.
static void close_others(int socket, const int *kept, int count) {
  // Out of the way first.
  int far[IMDUMP_HELPER_KEPT];
  socket = fcntl(socket, F_DUPFD, IMDUMP_HELPER_SOCKET + 1 + IMDUMP_HELPER_KEPT);
  for (int i = 0; i < count; i++) far[i] = fcntl(kept[i], F_DUPFD, IMDUMP_HELPER_SOCKET + 1 + IMDUMP_HELPER_KEPT);
  dup2(socket, IMDUMP_HELPER_SOCKET);
  for (int i = 0; i < count; i++) dup2(far[i], IMDUMP_HELPER_SOCKET + 1 + i);
  unsigned first = (unsigned)(IMDUMP_HELPER_SOCKET + 1 + count);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
  struct rlimit limit = {0, 0};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (int i = (int)first; i < 1 << 20 && (rlim_t)i < limit.rlim_cur; i++) close(i);
}

int imdump_helper_start(void (*serve)(const void *facts, pid_t parent), const void *facts, pid_t *process) {
  return imdump_helper_start_keeping(serve, facts, NULL, 0, process);
}

int imdump_helper_start_keeping(void (*serve)(const void *facts, pid_t parent), const void *facts, const int *kept, int count,
                                pid_t *process) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return -errno;
  // Blocked there: a terminal sends signals to it too, and it is the run that they are for.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  signal(SIGCHLD, SIG_IGN);
  pid_t parent = getpid(), child = fork();
  int error = errno;
  if (child == 0) {
    close_others(pair[1], kept, count);
    serve(facts, parent);
    _exit(0);
  }
  sigprocmask(SIG_SETMASK, &before, NULL);
  close(pair[1]);
  if (child < 0) {
    close(pair[0]);
    return -error;
  }
  // A request that it does not take is not waited with.
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  *process = child;
  return pair[0];
}
