#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// linux/magic.h: the magic of procfs, whose links are doors of the kernel and no text.
enum { PROC_MAGIC = 0x9fa0, MOST_LINKS = 40 };

/// Whether another user than this one and root may change what names in a folder mean.
static int is_shared(const struct stat *folder) {
  return (folder->st_uid != geteuid() && folder->st_uid != 0) || (folder->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/// Whether a link in a folder was made by a user who may.
static int is_trusted_link(const struct stat *folder, const struct stat *link) {
  if (!is_shared(folder)) return 1;
  int is_held = folder->st_uid == geteuid() || (folder->st_uid == 0 && (folder->st_mode & S_ISVTX) != 0);
  return link->st_uid == geteuid() && is_held;
}

/// Whether a file in a folder may be written. 0, or why not.
static int trap_in(const struct stat *folder, const struct stat *file) {
  if (!is_shared(folder)) return 0;
  int is_regular = S_ISREG(file->st_mode), is_owners = is_regular && file->st_uid == folder->st_uid;
  if (file->st_uid != geteuid() && !is_owners) return IMDUMP_OUTPUT_OWNER;
  return is_regular && file->st_nlink > 1 ? IMDUMP_OUTPUT_NAMES : 0;
}

static int is_in_proc(int folder) {
  struct statfs system;
  return fstatfs(folder, &system) == 0 && system.f_type == PROC_MAGIC;
}

/// A walk along a path: the folder that it has come to, and what is left of the path.
struct walk { int folder; struct stat facts; char rest[2 * PATH_MAX]; int links; };

static int go_to(struct walk *walk, int folder) {
  if (folder < 0) return -errno;
  if (walk->folder >= 0) close(walk->folder);
  walk->folder = folder;
  return fstat(folder, &walk->facts) == 0 ? 0 : -errno;
}

static int begin(struct walk *walk, const char *path) {
  walk->folder = -1;
  walk->links = 0;
  if (strlen(path) >= PATH_MAX) return -ENAMETOOLONG;
  if (!*path) return -ENOENT;
  strcpy(walk->rest, path);
  return go_to(walk, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// Takes the next name off the path, into `name`, which has room for NAME_MAX bytes and a 0. Whether there is one.
static int take_name(struct walk *walk, char *name) {
  size_t start = strspn(walk->rest, "/"), length = strcspn(walk->rest + start, "/");
  if (length == 0) return 0;
  if (length > NAME_MAX) return -ENAMETOOLONG;
  memcpy(name, walk->rest + start, length);
  name[length] = 0;
  memmove(walk->rest, walk->rest + start + length, strlen(walk->rest + start + length) + 1);
  return 1;
}

/// Whether nothing but slashes is left.
static int is_last(const struct walk *walk) { return walk->rest[strspn(walk->rest, "/")] == 0; }

/// Puts what a link says in front of what is left.
static int follow(struct walk *walk, const char *name, const struct stat *link, struct imdump_output_refusal *refusal) {
  if (!is_trusted_link(&walk->facts, link)) {
    *refusal = (struct imdump_output_refusal){IMDUMP_OUTPUT_LINK, link->st_uid};
    return -ELOOP;
  }
  char target[PATH_MAX];
  ssize_t count = readlinkat(walk->folder, name, target, sizeof target - 1);
  if (count < 0) return -errno;
  if (++walk->links > MOST_LINKS) return -ELOOP;
  target[count] = 0;
  size_t left = strlen(walk->rest);
  if ((size_t)count + 1 + left >= sizeof walk->rest) return -ENAMETOOLONG;
  memmove(walk->rest + count + 1, walk->rest, left + 1);
  memcpy(walk->rest, target, (size_t)count);
  walk->rest[count] = '/';
  return *target == '/' ? go_to(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : 0;
}

/// Goes into the folder `name`, or along the link that has the name.
static int enter(struct walk *walk, const char *name, struct imdump_output_refusal *refusal) {
  struct stat there;
  if (fstatat(walk->folder, name, &there, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  if (!S_ISLNK(there.st_mode)) {
    return go_to(walk, openat(walk->folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!is_in_proc(walk->folder)) return follow(walk, name, &there, refusal);
  if (!is_trusted_link(&walk->facts, &there)) {
    *refusal = (struct imdump_output_refusal){IMDUMP_OUTPUT_LINK, there.st_uid};
    return -ELOOP;
  }
  return go_to(walk, openat(walk->folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

int imdump_own_folder(int folder, unsigned user, unsigned group) {
  // fchown takes no descriptor of O_PATH.
  return fchownat(folder, "", user, group, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

int imdump_open_folder(const char *path) {
  struct walk walk;
  struct imdump_output_refusal refusal;
  char name[NAME_MAX + 1];
  int error = begin(&walk, path), found = 0;
  while (error == 0 && (found = take_name(&walk, name)) > 0) error = enter(&walk, name, &refusal);
  if (error == 0 && found < 0) error = found;
  if (error == 0) return walk.folder;
  if (walk.folder >= 0) close(walk.folder);
  return error;
}

/// Opens `name` for writing. A pipe without a reader is waited for.
static int open_file(int folder, const char *name, int flags, unsigned mode, int (*is_stopped)(void)) {
  for (;;) {
    int file = openat(folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags, mode);
    if (file >= 0) return file;
    if (errno == EINTR) continue;
    struct stat there;
    if (errno != ENXIO || fstatat(folder, name, &there, 0) != 0 || !S_ISFIFO(there.st_mode)) return -errno;
    if (is_stopped && is_stopped()) return -EINTR;
    poll(NULL, 0, 50);
  }
}

/// Looks at what was opened, and empties a regular file, now that it is known to be ours. 0, or -errno.
static int take_over(int file, int keeps, const struct stat *folder, struct imdump_output_refusal *refusal) {
  struct stat opened;
  if (fstat(file, &opened) != 0) return -errno;
  int reason = folder ? trap_in(folder, &opened) : 0;
  if (reason != 0) {
    *refusal = (struct imdump_output_refusal){reason, opened.st_uid};
    return -EPERM;
  }
  if (S_ISREG(opened.st_mode) && !keeps && ftruncate(file, 0) != 0) return -errno;
  // A pipe that is full is not waited for in write(2): then a signal would not end it.
  int flags = S_ISFIFO(opened.st_mode) ? -1 : fcntl(file, F_GETFL);
  if (flags >= 0) fcntl(file, F_SETFL, flags & ~O_NONBLOCK);
  return 0;
}

int imdump_open_output(const char *path, unsigned mode, int keeps, int (*is_stopped)(void), struct imdump_output_refusal *refusal) {
  struct walk walk;
  char name[NAME_MAX + 1];
  *refusal = (struct imdump_output_refusal){IMDUMP_OUTPUT_FAILED, 0};
  int error = begin(&walk, path), file = -ENOENT;
  while (error == 0) {
    int found = take_name(&walk, name);
    if (found <= 0) {
      // The path ends in a folder.
      error = found < 0 ? found : -EISDIR;
      break;
    }
    if (!is_last(&walk)) {
      error = enter(&walk, name, refusal);
      continue;
    }
    if (walk.rest[0] != 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
      error = walk.links > 0 ? 0 : -EISDIR;
      if (error != 0) break;
    }
    struct stat there;
    int is_link = fstatat(walk.folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(there.st_mode);
    if (is_link && !is_in_proc(walk.folder)) {
      error = follow(&walk, name, &there, refusal);
      continue;
    }
    int is_door = is_link && is_trusted_link(&walk.facts, &there);
    file = open_file(walk.folder, name, is_door ? 0 : O_NOFOLLOW, mode, is_stopped);
    error = file < 0 ? file : take_over(file, keeps, is_door ? NULL : &walk.facts, refusal);
    if (error != 0 && file >= 0) close(file);
    break;
  }
  if (walk.folder >= 0) close(walk.folder);
  return error != 0 ? error : file;
}

void imdump_keep_callers_rights(void) {
  // Set where the program's file has brought rights: to its caller they do not belong.
  if (!getauxval(AT_SECURE) || geteuid() == 0) return;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return;
  static const unsigned opening[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID};
  for (size_t i = 0; i < sizeof opening / sizeof *opening; i++) {
    data[0].effective &= ~(1u << opening[i]);
    data[0].permitted &= ~(1u << opening[i]);
    data[0].inheritable &= ~(1u << opening[i]);
  }
  syscall(SYS_capset, &header, data);
}
