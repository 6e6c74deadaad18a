#define _GNU_SOURCE
#include "CSandbox.h"
#include "Helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Names and files, in both processes.

int imdump_file_name(const char *format, const char *suffix, int is_timed, int digits, long long number, long long second,
                     char *name) {
  char text[2 * IMDUMP_NAME_SIZE];
  size_t length = strlen(format), room = sizeof text;
  if (is_timed) {
    time_t time = second;
    struct tm parts;
    length = localtime_r(&time, &parts) ? strftime(text, room, format, &parts) : 0;
    if (length == 0) return -1;
  } else {
    if (length >= room) return -1;
    memcpy(text, format, length + 1);
  }
  if (number < 0) return -1;
  if (number > 0 || digits > 0) length += (size_t)snprintf(text + length, room - length, "%0*lld", digits, number);
  if (length < room) length += (size_t)snprintf(text + length, room - length, "%s", suffix);
  if (length == 0 || length >= IMDUMP_NAME_SIZE || strchr(text, '/')) return -1;
  if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0) return -1;
  memcpy(name, text, length + 1);
  return (int)length;
}

enum { FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW };

int imdump_memory_file(void) {
  int file = memfd_create("imdump", MFD_CLOEXEC);
  return file < 0 ? -errno : file;
}

int imdump_replace_file(int folder, const char *name) {
  struct stat there;
  if (fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISREG(there.st_mode)) return -ELOOP;
    if (unlinkat(folder, name, 0) != 0) return -errno;
  }
  int file = openat(folder, name, FLAGS | O_EXCL, 0640);
  return file >= 0 ? file : -errno;
}

int imdump_open_file(int folder, const char *name) {
  // A pipe without a reader is not waited for.
  int file = openat(folder, name, FLAGS | O_NONBLOCK, 0640);
  if (file < 0) return errno == ENXIO || errno == EISDIR ? -ELOOP : -errno;
  struct stat opened;
  if (fstat(file, &opened) == 0 && S_ISREG(opened.st_mode)) return file;
  close(file);
  return -ELOOP;
}

int imdump_remove_file(int folder, const char *name) {
  struct stat there;
  if (fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  if (!S_ISREG(there.st_mode)) return -ELOOP;
  return unlinkat(folder, name, 0) == 0 ? 0 : -errno;
}

// What is said: the template once, then requests, each with one reply. A socket of whole messages carries them.

struct template { int32_t is_timed, digits; int64_t count; char formats[8 * IMDUMP_NAME_SIZE], suffix[16]; };
enum { END = IMDUMP_REMOVE + 1 };
struct request { uint32_t serial; uint16_t action, format; int64_t number, second; };
/// `serial` is the request's, 0 the template's. `error` is 0, an error's number, or NOT_NEEDED.
struct reply { uint32_t serial; int32_t error; };
enum { NOT_NEEDED = -1 };

// The opener.

/// Its socket and its folder; nothing else is open in it.
enum { SOCKET = IMDUMP_HELPER_SOCKET, FOLDER };

/// What it is started with.
struct facts { unsigned uid, gid; int is_sandboxed; const char *title; };

/// Lets ps(1) show what this process is, in the place of the command's arguments.
static void take_name(const char *name) {
  prctl(PR_SET_NAME, "imdump-opener", 0, 0, 0);
  char line[4096];
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t count = file < 0 ? 0 : read(file, line, sizeof line);
  if (file >= 0) close(file);
  if (count <= 0) return;
  // The arguments stand behind one another.
  memset(program_invocation_name, 0, (size_t)count);
  size_t length = strlen(name);
  memcpy(program_invocation_name, name, (size_t)count <= length ? (size_t)count - 1 : length);
}

static int restrict_to_folder(void) {
  imdump_restrict_opener(FOLDER);
  imdump_filter_opener(SOCKET);
  return 0;
}

/// Gives up all but what opens files in FOLDER. 0, NOT_NEEDED, or an error's number.
static int confine(int is_sandboxed) {
  // What root stays root for is the caller's, and no other user makes it.
  if (geteuid() == 0) return is_sandboxed ? restrict_to_folder() : 0;
  // Asked with the rights of the user alone: the capability does not count here.
  if (faccessat(FOLDER, ".", W_OK | X_OK, 0) == 0) return NOT_NEEDED;
  if (errno != EACCES) return errno;
  // What a kernel lacks of these, the run says of itself.
  return is_sandboxed ? restrict_to_folder() : 0;
}

/// Writes the name that a request means. Its length, or -1.
static int name_of(const struct template *names, const struct request *request, char *name) {
  const char *format = names->formats;
  for (int i = 0; i < request->format && format; i++) {
    format = strchr(format, '/');
    if (format) format++;
  }
  if (!format || request->number >= names->count) return -1;
  char one[2 * IMDUMP_NAME_SIZE];
  size_t length = strcspn(format, "/");
  if (length >= sizeof one) return -1;
  memcpy(one, format, length);
  one[length] = 0;
  return imdump_file_name(one, names->suffix, names->is_timed, names->digits, request->number, request->second, name);
}

/// What the opener does, to its end: when its socket is closed, or something comes that no run sends.
static void serve(const void *started_with, pid_t parent) {
  const struct facts *facts = started_with;
  struct template names;
  struct reply reply = {0, 0};
  int folder = -1;
  take_name(facts->title);
  tzset();
  reply.error = -imdump_become_opener(facts->uid, facts->gid);
  if (reply.error == 0) reply.error = -imdump_no_new_privileges();
  // Not before: a change of user takes it back. Beside it there is the socket's end, since a run whose signals Landlock
  // holds sends none when it dies either.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent || imdump_helper_receive(SOCKET, &names, sizeof names, &folder) != 0 || folder != FOLDER) return;
  names.formats[sizeof names.formats - 1] = names.suffix[sizeof names.suffix - 1] = 0;
  if (reply.error == 0) reply.error = confine(facts->is_sandboxed);
  if (imdump_helper_send(SOCKET, &reply, sizeof reply, -1) != 0 || reply.error != 0) return;
  struct request request;
  while (read(SOCKET, &request, sizeof request) == sizeof request && request.action < END) {
    char name[IMDUMP_NAME_SIZE];
    int file = -EINVAL;
    if (name_of(&names, &request, name) > 0) {
      switch (request.action) {
      case IMDUMP_OPEN: file = imdump_open_file(FOLDER, name); break;
      case IMDUMP_REPLACE: file = imdump_replace_file(FOLDER, name); break;
      default: file = imdump_remove_file(FOLDER, name);
      }
    }
    reply.serial = request.serial;
    reply.error = file < 0 ? -file : 0;
    int is_open = file >= 0 && request.action != IMDUMP_REMOVE;
    int result = imdump_helper_send(SOCKET, &reply, sizeof reply, is_open ? file : -1);
    if (is_open) close(file);
    if (result != 0) return;
  }
}

// Who asks it.

static long long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/// Waits for the reply to the request of this serial number. An error's number, 0 or NOT_NEEDED.
static int await_reply(int opener, uint32_t serial, int *file) {
  long long until = milliseconds() + 2000;
  for (long long left = 2000; left > 0; left = until - milliseconds()) {
    struct pollfd waiting = {opener, POLLIN, 0};
    int count = poll(&waiting, 1, (int)left);
    if (count < 0 && errno != EINTR) return errno;
    if (count <= 0) continue;
    struct reply reply;
    if (imdump_helper_receive(opener, &reply, sizeof reply, file) != 0) return ECHILD;
    if (reply.serial == serial) return reply.error;
    // It comes after its time.
    if (*file >= 0) close(*file);
  }
  return ETIMEDOUT;
}

int imdump_opener_start(unsigned uid, unsigned gid, int is_sandboxed, const char *title, int *process) {
  const struct facts facts = {uid, gid, is_sandboxed, title};
  return imdump_helper_start(serve, &facts, process);
}

int imdump_opener_begin(int opener, int folder, const char *formats, const char *suffix, int is_timed, int digits,
                        long long count) {
  struct template names = {is_timed, digits, count, {0}, {0}};
  int file;
  if (strlen(formats) >= sizeof names.formats || strlen(suffix) >= sizeof names.suffix) return -ENAMETOOLONG;
  strcpy(names.formats, formats);
  strcpy(names.suffix, suffix);
  if (imdump_helper_send(opener, &names, sizeof names, folder) != 0) return -ECHILD;
  int error = await_reply(opener, 0, &file);
  return error == 0 ? 1 : error == NOT_NEEDED ? 0 : -error;
}

int imdump_opener_ask(int opener, int action, int format, long long number, long long second) {
  static uint32_t serial = 0;
  struct request request = {++serial, (uint16_t)action, (uint16_t)format, number, second};
  int file = -1;
  // Not sendmsg(2), which the filter of system calls refuses.
  if (write(opener, &request, sizeof request) != sizeof request) return -ECHILD;
  int error = await_reply(opener, serial, &file);
  if (error == 0 && action == IMDUMP_REMOVE) return 0;
  return error == 0 && file < 0 ? -EPROTO : error == 0 ? file : -error;
}

void imdump_opener_end(int opener, int process) {
  struct request request = {0, END, 0, 0, 0};
  if (write(opener, &request, sizeof request) == sizeof request) {
    struct pollfd waiting = {opener, 0, 0};
    // Its socket is closed when it ends.
    if (poll(&waiting, 1, 2000) > 0) waitpid(process, NULL, 0);
  }
  close(opener);
}
