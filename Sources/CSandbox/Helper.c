#define _GNU_SOURCE
#include "Helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Leaves the socket open, as IMDUMP_HELPER_SOCKET, and nothing else.
static void close_others(int socket) {
  if (socket != IMDUMP_HELPER_SOCKET) dup2(socket, IMDUMP_HELPER_SOCKET);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, IMDUMP_HELPER_SOCKET + 1, ~0u, 0) == 0) return;
#endif
  struct rlimit limit = {0, 0};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (int i = IMDUMP_HELPER_SOCKET + 1; i < 1 << 20 && (rlim_t)i < limit.rlim_cur; i++) close(i);
}

int imdump_helper_start(void (*serve)(const void *facts, pid_t parent), const void *facts, pid_t *process) {
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
    close_others(pair[1]);
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
