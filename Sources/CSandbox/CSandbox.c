#define _GNU_SOURCE
#include <stdlib.h>
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// What no program that is run could get back.  Allowed to those who have CAP_SETPCAP.
static void drop_bounds(void) {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int number = 0; prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0; number++) {}
}

int imdump_become(unsigned uid, unsigned gid) {
  drop_bounds();
  if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) return -errno;
  // Whoever can go back has not left.
  if (uid != 0 && setresuid(0, 0, 0) == 0) return -EPERM;
  return 0;
}

/// Keeps the capabilities of these bits (of the first 32) and no other.
static int keep_capabilities(unsigned bits) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct kept[2] = {{bits, bits, 0}, {0, 0, 0}};
  return syscall(SYS_capset, &header, kept) == 0 ? 0 : -errno;
}

int imdump_drop_capabilities(void) {
  drop_bounds();
  return keep_capabilities(0);
}

int imdump_become_opener(unsigned uid, unsigned gid) {
  // Else leaving root takes them all. The kernel forgets this by itself at an execve, which there will be none of.
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return -errno;
  int error = imdump_become(uid, gid);
  return error != 0 ? error : keep_capabilities(1u << CAP_DAC_OVERRIDE);
}

int imdump_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : -errno; }

int imdump_landlock_version(void) {
  long version = syscall(444, NULL, 0, 1);  // landlock_create_ruleset, LANDLOCK_CREATE_RULESET_VERSION
  return version < 0 ? -errno : (int)version;
}

// Asked for the mode's filter without one: EFAULT where the kernel has the mode, EINVAL where it has not.
int imdump_has_system_call_filter(void) {
  return prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, NULL, 0, 0) < 0 && errno == EFAULT;
}

/// Landlock: of all that it knows, only files may be made, written and removed, in these folders; and what `free` has
/// may be done everywhere.
static int restrict_files(const int *folders, int count, uint64_t free) {
  enum { WRITE_FILE = 1 << 1, REMOVE_FILE = 1 << 5, MAKE_REG = 1 << 8, TRUNCATE = 1 << 14 };
  struct { uint64_t files, net, scoped; } rights = {0, 0, 0};
  int version = imdump_landlock_version();
  if (version < 0) return version;
  rights.files = 0x1FFF & ~free;            // version 1 knows 13 rights
  if (version >= 2) rights.files |= 1 << 13;  // moving to another folder
  if (version >= 3) rights.files |= TRUNCATE;
  if (version >= 4) rights.net = 3;     // TCP: bind and connect
  if (version >= 6) rights.scoped = 3;  // abstract sockets and signals of others
  size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  int ruleset = (int)syscall(444, &rights, size, 0);
  if (ruleset < 0) return -errno;
  for (int i = 0; i < count; i++) {
    struct { uint64_t rights; int32_t folder; } __attribute__((packed)) rule = {
      (WRITE_FILE | REMOVE_FILE | MAKE_REG | TRUNCATE) & rights.files, folders[i]};
    if (syscall(445, ruleset, 1, &rule, 0) != 0) {  // landlock_add_rule, LANDLOCK_RULE_PATH_BENEATH
      int error = errno;
      close(ruleset);
      return -error;
    }
  }
  long result = syscall(446, ruleset, 0);  // landlock_restrict_self
  int error = errno;
  close(ruleset);
  return result == 0 ? version : -error;
}

int imdump_restrict_writing(const int *folders, int count) {
  enum { READ_FILE = 1 << 2, READ_DIR = 1 << 3 };
  return restrict_files(folders, count, READ_FILE | READ_DIR);
}

int imdump_restrict_reading(const int *folders, int count) { return restrict_files(folders, count, 0); }

int imdump_keep_opening(void) {
  drop_bounds();
  return keep_capabilities(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
}

int imdump_restrict_opener(int folder) { return restrict_files(&folder, 1, 0); }

const char *imdump_secure_getenv(const char *name) { return secure_getenv(name); }
