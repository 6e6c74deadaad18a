#define _GNU_SOURCE
#include "Serving.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int imdump_accept(int listener) {
  int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return descriptor >= 0 ? descriptor : -errno;
}

int imdump_pipe(int ends[2]) { return pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0 ? 0 : -errno; }

void imdump_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

void imdump_serve_behind(const char *name) {
  imdump_name_thread(name);
  // Of this thread alone: 0 is the one that calls.
  setpriority(PRIO_PROCESS, 0, 10);
}
