#define _GNU_SOURCE
#include "CSandbox.h"
#include "Helper.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

// What is said: batches, each with one reply. A socket of whole messages carries them.

struct request { uint32_t serial, count; struct imdump_resolver_address addresses[IMDUMP_RESOLVER_BATCH]; };
struct reply { uint32_t serial, count; struct imdump_resolver_name names[IMDUMP_RESOLVER_BATCH]; };

// The resolver.

enum { SOCKET = IMDUMP_HELPER_SOCKET, THREADS = 16 };

/// What it is started with.
struct facts { int becomes_user; unsigned uid, gid; int is_sandboxed; };

static struct request request;
static struct reply reply;
static atomic_uint next_place;

static int is_plain(const char *name) {
  if (!*name) return 0;
  return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")] == 0;
}

static void look_up(const struct imdump_resolver_address *address, struct imdump_resolver_name *found) {
  struct sockaddr_in four = {.sin_family = AF_INET};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  const struct sockaddr *place = (const struct sockaddr *)&four;
  socklen_t length = sizeof four;
  if (address->is_ipv6) {
    memcpy(&six.sin6_addr, address->bytes, 16);
    place = (const struct sockaddr *)&six;
    length = sizeof six;
  } else {
    memcpy(&four.sin_addr, address->bytes, 4);
  }
  memset(found, 0, sizeof *found);
  int error = getnameinfo(place, length, found->name, sizeof found->name, NULL, 0, NI_NAMEREQD);
  found->status = error == 0 ? IMDUMP_RESOLVER_NAMED
      : error == EAI_NONAME ? IMDUMP_RESOLVER_NAMELESS : IMDUMP_RESOLVER_FAILED;
  if (error == 0 && !is_plain(found->name)) found->status = IMDUMP_RESOLVER_NAMELESS;
  if (found->status != IMDUMP_RESOLVER_NAMED) memset(found->name, 0, sizeof found->name);
}

static void *work(void *nothing) {
  for (;;) {
    unsigned place = atomic_fetch_add(&next_place, 1);
    if (place >= request.count) return nothing;
    look_up(&request.addresses[place], &reply.names[place]);
  }
}

/// Answers batches to the end: when the socket is closed, or something comes that no run sends.
static void serve(const void *started_with, pid_t parent) {
  const struct facts *facts = started_with;
  prctl(PR_SET_NAME, "imdump-resolver", 0, 0, 0);
  // A name server that says nothing is not waited for long.
  setenv("RES_OPTIONS", "timeout:2 attempts:1", 1);
  if (facts->becomes_user && imdump_become(facts->uid, facts->gid) != 0) return;
  if (imdump_drop_capabilities() != 0 || imdump_no_new_privileges() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) return;
  if (facts->is_sandboxed) {
    // What a kernel lacks of these, the run says of itself.
    imdump_restrict_writing(NULL, 0);
    imdump_filter_resolver();
  }
  while (read(SOCKET, &request, sizeof request) == sizeof request && request.count <= IMDUMP_RESOLVER_BATCH) {
    pthread_t threads[THREADS];
    int count = 0;
    atomic_store(&next_place, 0);
    while (count < THREADS - 1 && count + 1 < (int)request.count && pthread_create(&threads[count], NULL, work, NULL) == 0) count++;
    work(NULL);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    reply.serial = request.serial;
    reply.count = request.count;
    if (write(SOCKET, &reply, sizeof reply) != sizeof reply) return;
  }
}

// Who asks it.

int imdump_resolver_start(int becomes_user, unsigned uid, unsigned gid, int is_sandboxed) {
  const struct facts facts = {becomes_user, uid, gid, is_sandboxed};
  pid_t process;
  return imdump_helper_start(serve, &facts, &process);
}

int imdump_resolver_ask(int resolver, unsigned serial, const struct imdump_resolver_address *addresses, int count) {
  struct request batch = {.serial = serial, .count = (uint32_t)count};
  if (count < 0 || count > IMDUMP_RESOLVER_BATCH) return -EINVAL;
  memcpy(batch.addresses, addresses, (size_t)count * sizeof *addresses);
  // Not sendmsg(2), which the filter of system calls refuses.
  return write(resolver, &batch, sizeof batch) == sizeof batch ? 0 : -ECHILD;
}

int imdump_resolver_take(int resolver, unsigned serial, struct imdump_resolver_name *names, int count, int milliseconds) {
  struct pollfd waiting = {resolver, POLLIN, 0};
  int ready = poll(&waiting, 1, milliseconds);
  if (ready <= 0) return ready == 0 || errno == EINTR ? 0 : -errno;
  struct reply answer;
  ssize_t found = read(resolver, &answer, sizeof answer);
  if (found < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (found != sizeof answer) return -ECHILD;
  // It comes after its time.
  if (answer.serial != serial) return 0;
  if ((int)answer.count != count || count > IMDUMP_RESOLVER_BATCH) return -EPROTO;
  for (int i = 0; i < count; i++) {
    names[i] = answer.names[i];
    names[i].name[IMDUMP_RESOLVER_NAME - 1] = 0;
  }
  return 1;
}
