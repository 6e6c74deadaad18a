#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

int imdump_open_folder(const char *path) {
  int descriptor = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return descriptor >= 0 ? descriptor : -errno;
}

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

int imdump_drop_capabilities(void) {
  drop_bounds();
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  return syscall(SYS_capset, &header, none) == 0 ? 0 : -errno;
}

int imdump_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : -errno; }

int imdump_restrict_writing(const int *folders, int count) {
  enum { WRITE_FILE = 1 << 1, REMOVE_FILE = 1 << 5, MAKE_REG = 1 << 8, TRUNCATE = 1 << 14 };
  struct { uint64_t files, net, scoped; } rights = {0, 0, 0};
  long version = syscall(444, NULL, 0, 1);  // landlock_create_ruleset, LANDLOCK_CREATE_RULESET_VERSION
  if (version < 0) return -errno;
  // Version 1 knows 13 rights; reading files and folders (bits 2 and 3) stays free.
  rights.files = 0x1FFF & ~0xCULL;
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
  return result == 0 ? (int)version : -error;
}

#if defined(__x86_64__)
#define IMDUMP_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define IMDUMP_ARCH AUDIT_ARCH_AARCH64
#endif

int imdump_filter_system_calls(int may_write) {
#ifndef IMDUMP_ARCH
  (void)may_write;
  return -ENOSYS;
#else
  static const int allowed[] = {
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_close, SYS_lseek, SYS_fstat, SYS_munmap, SYS_brk,
    SYS_mremap, SYS_madvise, SYS_ppoll, SYS_futex, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_sigaltstack, SYS_restart_syscall, SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_getrusage, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_exit,
    SYS_exit_group, SYS_fcntl, SYS_ftruncate, SYS_fsync, SYS_fadvise64, SYS_sched_yield, SYS_sched_getaffinity,
    SYS_uname, SYS_getsockopt, SYS_setsockopt, SYS_getsockname, SYS_bind, SYS_faccessat, SYS_readlinkat,
    SYS_prlimit64, SYS_getdents64, SYS_set_robust_list, SYS_sysinfo,
    SYS_setpriority,
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
#ifdef SYS_membarrier
    SYS_membarrier,
#endif
#ifdef SYS_poll
    SYS_poll, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_time,
#endif
  };
  static const unsigned controls[] = {
    TIOCGWINSZ, TCGETS, FIONREAD, SIOCGIFFLAGS, SIOCGIFINDEX, SIOCGIFNAME, SIOCGIFHWADDR,
  };
  enum { CALL = offsetof(struct seccomp_data, nr), ARCH = offsetof(struct seccomp_data, arch) };
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define IMDUMP_ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#else
#define IMDUMP_ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#endif
  struct sock_filter code[256];
  unsigned short n = 0;
#define IMDUMP_ADD(...) code[n++] = (struct sock_filter)__VA_ARGS__
#define IMDUMP_LOAD(at) IMDUMP_ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at)))
#define IMDUMP_SKIP_UNLESS(value, skip) IMDUMP_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, skip))
#define IMDUMP_SKIP_IF_ANY(bits, skip) IMDUMP_ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(bits), skip, 0))
#define IMDUMP_ALLOW IMDUMP_ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW))
#define IMDUMP_REFUSE IMDUMP_ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM))
  IMDUMP_LOAD(ARCH);
  IMDUMP_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IMDUMP_ARCH, 1, 0));
  IMDUMP_REFUSE;
  IMDUMP_LOAD(CALL);
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
    IMDUMP_SKIP_UNLESS(allowed[i], 1);
    IMDUMP_ALLOW;
  }
  // Memory that can be executed.
  for (int i = 0; i < 2; i++) {
    IMDUMP_SKIP_UNLESS(i == 0 ? SYS_mmap : SYS_mprotect, 4);
    IMDUMP_LOAD(IMDUMP_ARGUMENT(2));
    IMDUMP_SKIP_IF_ANY(PROT_EXEC, 1);
    IMDUMP_ALLOW;
    IMDUMP_REFUSE;
  }
  // Sockets that only ask the kernel: nothing can be sent or connected.
  IMDUMP_SKIP_UNLESS(SYS_socket, 5);
  IMDUMP_LOAD(IMDUMP_ARGUMENT(0));
  IMDUMP_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
  IMDUMP_SKIP_UNLESS(AF_INET, 1);
  IMDUMP_ALLOW;
  IMDUMP_REFUSE;
  // A thread, which is confined like this one, and no process. clone3 keeps its flags in memory, where a filter cannot
  // look; the C library takes clone when it is told that there is none.
  IMDUMP_SKIP_UNLESS(SYS_clone, 4);
  IMDUMP_LOAD(IMDUMP_ARGUMENT(0));
  IMDUMP_ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
  IMDUMP_ALLOW;
  IMDUMP_REFUSE;
  IMDUMP_SKIP_UNLESS(SYS_prctl, 4);
  IMDUMP_LOAD(IMDUMP_ARGUMENT(0));
  IMDUMP_SKIP_UNLESS(PR_SET_NAME, 1);
  IMDUMP_ALLOW;
  IMDUMP_REFUSE;
#ifdef SYS_clone3
  IMDUMP_SKIP_UNLESS(SYS_clone3, 1);
  IMDUMP_ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
#endif
  // A signal to itself is how a process aborts.
  IMDUMP_SKIP_UNLESS(SYS_tgkill, 4);
  IMDUMP_LOAD(IMDUMP_ARGUMENT(0));
  IMDUMP_SKIP_UNLESS(getpid(), 1);
  IMDUMP_ALLOW;
  IMDUMP_REFUSE;
  if (may_write) {
    IMDUMP_SKIP_UNLESS(SYS_unlinkat, 1);
    IMDUMP_ALLOW;
    IMDUMP_SKIP_UNLESS(SYS_openat, 1);
    IMDUMP_ALLOW;
  } else {
    IMDUMP_SKIP_UNLESS(SYS_openat, 4);
    IMDUMP_LOAD(IMDUMP_ARGUMENT(2));
    IMDUMP_SKIP_IF_ANY(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1);
    IMDUMP_ALLOW;
    IMDUMP_REFUSE;
  }
  IMDUMP_SKIP_UNLESS(SYS_ioctl, (unsigned char)(2 * sizeof controls / sizeof *controls + 1));
  IMDUMP_LOAD(IMDUMP_ARGUMENT(1));
  for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
    IMDUMP_SKIP_UNLESS(controls[i], 1);
    IMDUMP_ALLOW;
  }
  IMDUMP_REFUSE;
  struct sock_fprog program = {n, code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : -errno;
#endif
}
