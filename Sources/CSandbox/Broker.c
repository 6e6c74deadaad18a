#define _GNU_SOURCE
#include "CSandbox.h"
#include "Helper.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// What is said: a request, and one reply. Both processes have the same list, since one is a copy of the other.

enum { OPEN, REMOVE, RENAME, FACTS, TEMPORARY };
enum { NAME_SIZE = 256 };
struct request { uint32_t serial; uint16_t action, suffix; uint32_t item; int32_t flags; uint32_t mode; char name[NAME_SIZE], other[NAME_SIZE]; };
struct reply { uint32_t serial; int32_t error; struct stat facts; };

static const struct imdump_broker_item *items;
static int count;
/// The socket; -1 without a broker.
static int broker = -1;
static uint32_t serial;
/// Threads ask one after the other.
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/// What SQLite puts after the name of a database. The last one is a file without a name, for what does not fit into memory.
static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
enum { SUFFIXES = sizeof suffixes / sizeof *suffixes };
/// Others are in the request: "-mj" and hexadecimal digits, the journal of a change of several databases.
enum { SEVERAL = SUFFIXES, TEMPORARY_FILE, FOLDER };

static int is_of_several(const char *suffix) {
  return strncmp(suffix, "-mj", 3) == 0 && strlen(suffix) < 32 && suffix[3 + strspn(suffix + 3, "0123456789ABCDEFabcdef")] == 0;
}

// The broker.

enum { SOCKET = IMDUMP_HELPER_SOCKET };
struct facts { int is_sandboxed; };

static int plain(const char *name) {
  return *name && memchr(name, 0, NAME_SIZE) && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int matches(const struct imdump_broker_item *item, const char *name) {
  return plain(name) && fnmatch(item->pattern, name, FNM_NOESCAPE | FNM_EXTMATCH) == 0;
}

/// The name of a database's file; NULL where it is too long.
static const char *store_name(const struct imdump_broker_item *item, const struct request *request, char *room) {
  const char *suffix = request->suffix < SUFFIXES ? suffixes[request->suffix] : request->name;
  int length = snprintf(room, PATH_MAX, "%s%s", item->path, suffix);
  return length < PATH_MAX ? room : NULL;
}

static int open_store(const char *name, int flags) {
  enum { ALLOWED = O_ACCMODE | O_CREAT | O_EXCL };
  int file = open(name, (flags & ALLOWED) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
  struct stat opened;
  if (file < 0) return -errno;
  if (fstat(file, &opened) == 0 && S_ISREG(opened.st_mode)) return file;
  close(file);
  return -ELOOP;
}

/// A file in the database's folder that has no name, or has none any more.
static int open_temporary(const struct imdump_broker_item *item) {
  char folder[PATH_MAX], name[PATH_MAX + 40];
  const char *slash = strrchr(item->path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - item->path) + 1 : 1, slash ? item->path : ".");
  int file = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  static unsigned number = 0;
  snprintf(name, sizeof name, "%s.imdump-%d-%u", folder, getpid(), number++);
  file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return -errno;
  unlink(name);
  return file;
}

/// Does what a request wants. A descriptor, 0 for what gives none, or -errno; `is_open` says which.
static int serve_one(const struct request *request, struct stat *facts, int *is_open) {
  char room[PATH_MAX];
  *is_open = 0;
  if (request->item >= (uint32_t)count) return -EINVAL;
  const struct imdump_broker_item *item = &items[request->item];
  int file = -EINVAL;
  switch (item->kind) {
  case IMDUMP_BROKER_INPUT:
    if (request->action != OPEN) return -EINVAL;
    file = open(item->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return -errno;
    break;
  case IMDUMP_BROKER_STORE: {
    if (request->suffix > SEVERAL) return -EINVAL;
    if (request->suffix == SEVERAL && !(memchr(request->name, 0, NAME_SIZE) && is_of_several(request->name))) return -EINVAL;
    const char *name = store_name(item, request, room);
    if (!name) return -ENAMETOOLONG;
    switch (request->action) {
    case FACTS: return lstat(name, facts) == 0 ? 0 : -errno;
    case REMOVE: return unlink(name) == 0 ? 0 : -errno;
    case TEMPORARY: file = open_temporary(item); break;
    case OPEN: file = open_store(name, request->flags); break;
    default: return -EINVAL;
    }
    break;
  }
  default: {
    enum { ALLOWED = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND };
    if (!matches(item, request->name)) return -EPERM;
    switch (request->action) {
    case REMOVE: return unlinkat(item->folder, request->name, 0) == 0 ? 0 : -errno;
    case RENAME:
      if (!matches(item, request->other)) return -EPERM;
      return renameat(item->folder, request->name, item->folder, request->other) == 0 ? 0 : -errno;
    case OPEN:
      file = openat(item->folder, request->name, (request->flags & ALLOWED) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                    request->mode & 0666);
      if (file < 0) return -errno;
      struct stat opened;
      if (fstat(file, &opened) != 0 || !S_ISREG(opened.st_mode)) {
        close(file);
        return -ELOOP;
      }
      break;
    default: return -EINVAL;
    }
  }
  }
  *is_open = file >= 0;
  return file;
}

static void serve(const void *started_with, pid_t parent) {
  const struct facts *facts = started_with;
  prctl(PR_SET_NAME, "imdump-broker", 0, 0, 0);
  if (imdump_keep_opening() != 0 || imdump_no_new_privileges() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) return;
  if (facts->is_sandboxed) imdump_filter_broker(SOCKET);
  struct request request;
  while (read(SOCKET, &request, sizeof request) == sizeof request) {
    struct reply reply = {.serial = request.serial};
    int is_open, file = serve_one(&request, &reply.facts, &is_open);
    reply.error = file < 0 ? -file : 0;
    int result = imdump_helper_send(SOCKET, &reply, sizeof reply, is_open ? file : -1);
    if (is_open) close(file);
    if (result != 0) return;
  }
}

int imdump_broker_start(const struct imdump_broker_item *list, int length, int is_sandboxed) {
  const struct facts facts = {is_sandboxed};
  pid_t process;
  // Before the fork: the broker has its own copy of what is there now. Folders get low numbers, which it keeps.
  struct imdump_broker_item *copy = malloc((size_t)length * sizeof *copy + 1);
  int folders[IMDUMP_HELPER_KEPT], kept = 0;
  if (!copy) return -ENOMEM;
  memcpy(copy, list, (size_t)length * sizeof *copy);
  for (int i = 0; i < length; i++) {
    if (copy[i].kind != IMDUMP_BROKER_FOLDER) continue;
    if (kept == IMDUMP_HELPER_KEPT) {
      free(copy);
      return -E2BIG;
    }
    folders[kept++] = copy[i].folder;
    // Its number in the broker.
    copy[i].folder = SOCKET + kept;
  }
  items = copy;
  count = length;
  broker = imdump_helper_start_keeping(serve, &facts, folders, kept, &process);
  kept = 0;
  for (int i = 0; i < length; i++) {
    if (copy[i].kind == IMDUMP_BROKER_FOLDER) copy[i].folder = folders[kept++];
  }
  return broker;
}

int imdump_can_become(unsigned uid, unsigned gid) {
  pid_t child = fork();
  if (child == 0) _exit(imdump_become(uid, gid) == 0 ? 0 : 1);
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return child > 0 && status == 0;
}

// Who asks it.

/// Asks, and waits for the answer. A descriptor, 0, or -errno.
static int ask(struct request *request, struct stat *facts) {
  struct reply reply;
  int file = -1, error = ECHILD;
  pthread_mutex_lock(&turn);
  request->serial = ++serial;
  struct pollfd waiting = {broker, POLLOUT, 0};
  while (poll(&waiting, 1, 100) < 0 && errno == EINTR) {}
  // Not sendmsg(2), which the filter of system calls refuses.
  if (write(broker, request, sizeof *request) == sizeof *request) {
    waiting.events = POLLIN;
    do {
      int ready;
      while ((ready = poll(&waiting, 1, 10000)) < 0 && errno == EINTR) {}
      if (ready <= 0) {
        error = ETIMEDOUT;
        break;
      }
      if (imdump_helper_receive(broker, &reply, sizeof reply, &file) != 0) break;
      error = reply.error;
    } while (reply.serial != request->serial);
  }
  pthread_mutex_unlock(&turn);
  if (error != 0) return -error;
  if (facts) *facts = reply.facts;
  return file >= 0 ? file : 0;
}

static int find(int kind, const char *path) {
  static int last = 0;
  // Files follow one another.
  for (int i = 0; broker >= 0 && i < count; i++) {
    int place = (last + i) % count;
    if (items[place].kind == kind && strcmp(items[place].path, path) == 0) return last = place;
  }
  return -1;
}

int imdump_open_input(const char *path) {
  int item = find(IMDUMP_BROKER_INPUT, path);
  if (item >= 0) {
    struct request request = {.action = OPEN, .item = (uint32_t)item};
    return ask(&request, NULL);
  }
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  return file >= 0 ? file : -errno;
}

static int folder_item(int folder) {
  for (int i = 0; broker >= 0 && i < count; i++) {
    if (items[i].kind == IMDUMP_BROKER_FOLDER && items[i].folder == folder) return i;
  }
  return -1;
}

static int ask_folder(int item, int action, const char *name, const char *other, int flags, unsigned mode) {
  struct request request = {.action = (uint16_t)action, .item = (uint32_t)item, .flags = flags, .mode = mode};
  if (strlen(name) >= NAME_SIZE || strlen(other) >= NAME_SIZE) return -ENAMETOOLONG;
  strcpy(request.name, name);
  strcpy(request.other, other);
  return ask(&request, NULL);
}

int imdump_open_at(int folder, const char *name, int flags, unsigned mode) {
  int item = folder_item(folder);
  if (item >= 0) return ask_folder(item, OPEN, name, "", flags, mode);
  int file = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
  return file >= 0 ? file : -errno;
}

int imdump_unlink_at(int folder, const char *name) {
  int item = folder_item(folder);
  if (item >= 0) return ask_folder(item, REMOVE, name, "", 0, 0);
  return unlinkat(folder, name, 0) == 0 ? 0 : -errno;
}

int imdump_rename_at(int folder, const char *from, const char *to) {
  int item = folder_item(folder);
  if (item >= 0) return ask_folder(item, RENAME, from, to, 0, 0);
  return renameat(folder, from, folder, to) == 0 ? 0 : -errno;
}

int imdump_may_make_files(int folder) {
  if (folder_item(folder) >= 0) return 0;
  return faccessat(folder, ".", W_OK | X_OK, 0) == 0 ? 0 : -errno;
}

// Databases. SQLite knows paths alone.

/// Finds the database of a path, and what follows its name. The item, or -1.
static int store_item(const char *path, int *suffix) {
  static const char temporary[] = "etilqs_";
  for (int i = 0; broker >= 0 && i < count; i++) {
    if (items[i].kind != IMDUMP_BROKER_STORE) continue;
    size_t length = strlen(items[i].path);
    for (int s = 0; s < SUFFIXES; s++) {
      if (strncmp(path, items[i].path, length) == 0 && strcmp(path + length, suffixes[s]) == 0) {
        *suffix = s;
        return i;
      }
    }
    if (strncmp(path, items[i].path, length) == 0 && is_of_several(path + length)) {
      *suffix = SEVERAL;
      return i;
    }
    const char *slash = strrchr(items[i].path, '/');
    size_t folder = slash ? (size_t)(slash - items[i].path) + 1 : 0;
    const char *name = path + folder;
    // SQLite writes a slash of its own after the folder's.
    if (folder > 0 && strncmp(path, items[i].path, folder) == 0) {
      name += strspn(name, "/");
      if (*name == 0 || strncmp(name, temporary, sizeof temporary - 1) == 0) {
        *suffix = *name ? TEMPORARY_FILE : FOLDER;
        return i;
      }
    }
    if (folder > 1 && strlen(path) == folder - 1 && strncmp(path, items[i].path, folder - 1) == 0) {
      *suffix = FOLDER;
      return i;
    }
  }
  return -1;
}

static int result(int error) {
  if (error >= 0) return error;
  errno = -error;
  return -1;
}

static int ask_store(int item, int action, const char *path, int suffix, int flags, struct stat *facts) {
  struct request request = {.action = (uint16_t)action, .suffix = (uint16_t)suffix, .item = (uint32_t)item, .flags = flags};
  if (suffix == SEVERAL) strcpy(request.name, path + strlen(items[item].path));
  return result(ask(&request, facts));
}

static int database_open(const char *path, int flags, int mode) {
  int suffix, item = store_item(path, &suffix);
  if (item < 0) return open(path, flags | O_NOFOLLOW, mode);
  // The folder, to sync it: what is removed in it does not matter.
  if (suffix == FOLDER) return result(-EACCES);
  if (suffix == TEMPORARY_FILE) return ask_store(item, TEMPORARY, path, 0, flags, NULL);
  return ask_store(item, OPEN, path, suffix, flags, NULL);
}

int imdump_unlink_path(const char *path) {
  int suffix, item = store_item(path, &suffix);
  if (item < 0) return unlink(path);
  if (suffix == TEMPORARY_FILE) return 0;
  if (suffix == FOLDER) return result(-EPERM);
  return ask_store(item, REMOVE, path, suffix, 0, NULL);
}

static int database_stat(const char *path, struct stat *facts) {
  int suffix, item = store_item(path, &suffix);
  if (item < 0) return stat(path, facts);
  if (suffix == TEMPORARY_FILE) return result(-ENOENT);
  if (suffix == FOLDER) {
    memset(facts, 0, sizeof *facts);
    facts->st_mode = S_IFDIR | 0700;
    return 0;
  }
  return ask_store(item, FACTS, path, suffix, 0, facts);
}

/// SQLite looks at each folder on the way, in which this process may see nothing. There are no links in the path.
static int database_lstat(const char *path, struct stat *facts) {
  size_t length = strlen(path);
  for (int i = 0; broker >= 0 && i < count; i++) {
    if (items[i].kind != IMDUMP_BROKER_STORE || strncmp(path, items[i].path, length) != 0) continue;
    if (items[i].path[length] != '/') continue;
    memset(facts, 0, sizeof *facts);
    facts->st_mode = S_IFDIR | 0700;
    return 0;
  }
  int suffix;
  return store_item(path, &suffix) < 0 ? lstat(path, facts) : database_stat(path, facts);
}

static int database_access(const char *path, int mode) {
  int suffix, item = store_item(path, &suffix);
  if (item < 0) return access(path, mode);
  struct stat facts;
  return database_stat(path, &facts);
}

imdump_system_call imdump_database_call(const char *name) {
  if (strcmp(name, "open") == 0) return (imdump_system_call)database_open;
  if (strcmp(name, "unlink") == 0) return (imdump_system_call)imdump_unlink_path;
  if (strcmp(name, "stat") == 0) return (imdump_system_call)database_stat;
  if (strcmp(name, "lstat") == 0) return (imdump_system_call)database_lstat;
  if (strcmp(name, "access") == 0) return (imdump_system_call)database_access;
  return NULL;
}
