#define _GNU_SOURCE
#include "CSandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#if defined(__x86_64__)
#define IMDUMP_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define IMDUMP_ARCH AUDIT_ARCH_AARCH64
#endif

// A filter is a program over the number of a system call, the processor's architecture and the arguments. These add
// instructions to `code`, of which there are `n`; a skip leaves out so many of those that follow.
enum { CALL = offsetof(struct seccomp_data, nr), ARCH = offsetof(struct seccomp_data, arch) };
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define IMDUMP_ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#else
#define IMDUMP_ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#endif
#define IMDUMP_ADD(...) code[n++] = (struct sock_filter)__VA_ARGS__
#define IMDUMP_LOAD(at) IMDUMP_ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at)))
#define IMDUMP_SKIP_UNLESS(value, skip) IMDUMP_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, skip))
#define IMDUMP_SKIP_IF_ANY(bits, skip) IMDUMP_ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(bits), skip, 0))
#define IMDUMP_ALLOW IMDUMP_ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW))
#define IMDUMP_REFUSE IMDUMP_ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM))
// Calls that are made for another architecture have other numbers.
#define IMDUMP_BEGIN \
  IMDUMP_LOAD(ARCH); \
  IMDUMP_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IMDUMP_ARCH, 1, 0)); \
  IMDUMP_REFUSE; \
  IMDUMP_LOAD(CALL)
// Any call in the list `calls`.
#define IMDUMP_ALLOW_ALL(calls) \
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) { \
    IMDUMP_SKIP_UNLESS(calls[i], 1); \
    IMDUMP_ALLOW; \
  }
// One call, with this descriptor as its first argument. The kernel takes 32 bits of it.
#define IMDUMP_ALLOW_FOR(call, descriptor) \
  IMDUMP_SKIP_UNLESS(call, 4); \
  IMDUMP_LOAD(IMDUMP_ARGUMENT(0)); \
  IMDUMP_SKIP_UNLESS(descriptor, 1); \
  IMDUMP_ALLOW; \
  IMDUMP_REFUSE

#ifdef IMDUMP_ARCH
static int install(struct sock_filter *code, unsigned short n) {
  struct sock_fprog program = {n, code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : -errno;
}
#endif

static int is_capture = 0;

void imdump_allow_capture(void) { is_capture = 1; }

int imdump_filter_system_calls(int may_write, const int *openers, int count, int listener, int database,
                               int terminal) {
#ifndef IMDUMP_ARCH
  (void)may_write, (void)openers, (void)count, (void)listener, (void)database, (void)terminal;
  return -ENOSYS;
#else
  static const int allowed[] = {
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_close, SYS_lseek, SYS_fstat, SYS_munmap, SYS_brk,
    SYS_mremap, SYS_madvise, SYS_ppoll, SYS_futex, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_sigaltstack, SYS_restart_syscall, SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_getrusage, SYS_getrandom, SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_exit,
    SYS_exit_group, SYS_ftruncate, SYS_fsync, SYS_fadvise64, SYS_sched_yield, SYS_sched_getaffinity,
    SYS_uname, SYS_getsockopt, SYS_setsockopt, SYS_getsockname, SYS_faccessat, SYS_readlinkat,
    SYS_getdents64, SYS_set_robust_list, SYS_sysinfo,
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
  struct sock_filter code[512];
  unsigned short n = 0;
  IMDUMP_BEGIN;
  IMDUMP_ALLOW_ALL(allowed);
  // Memory that can be executed.
  for (int i = 0; i < 2; i++) {
    IMDUMP_SKIP_UNLESS(i == 0 ? SYS_mmap : SYS_mprotect, 4);
    IMDUMP_LOAD(IMDUMP_ARGUMENT(2));
    IMDUMP_SKIP_IF_ANY(PROT_EXEC, 1);
    IMDUMP_ALLOW;
    IMDUMP_REFUSE;
  }
  // Of this process alone: a limit of zero would end another one.
  IMDUMP_ALLOW_FOR(SYS_prlimit64, 0);
  IMDUMP_SKIP_UNLESS(SYS_setpriority, 6);
  IMDUMP_LOAD(IMDUMP_ARGUMENT(0));
  IMDUMP_SKIP_UNLESS(PRIO_PROCESS, 3);
  IMDUMP_LOAD(IMDUMP_ARGUMENT(1));
  IMDUMP_SKIP_UNLESS(0, 1);
  IMDUMP_ALLOW;
  IMDUMP_REFUSE;
  // Not F_SETOWN and F_SETSIG, by which the kernel sends signals for processes that may send none.
  static const unsigned descriptors[] = {
    F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC, F_OFD_GETLK, F_OFD_SETLK,
    F_OFD_SETLKW, F_GETPIPE_SZ, F_SETPIPE_SZ,
  };
  IMDUMP_SKIP_UNLESS(SYS_fcntl, (unsigned char)(2 * (sizeof descriptors / sizeof *descriptors) + 2));
  IMDUMP_LOAD(IMDUMP_ARGUMENT(1));
  for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++) {
    IMDUMP_SKIP_UNLESS(descriptors[i], 1);
    IMDUMP_ALLOW;
  }
  IMDUMP_REFUSE;
  if (is_capture) {
    // Sockets that only ask the kernel: nothing can be sent or connected.
    IMDUMP_SKIP_UNLESS(SYS_socket, 9);
    IMDUMP_LOAD(IMDUMP_ARGUMENT(1));
    IMDUMP_ADD(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf));
    IMDUMP_SKIP_UNLESS(SOCK_DGRAM, 5);
    IMDUMP_LOAD(IMDUMP_ARGUMENT(0));
    IMDUMP_ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
    IMDUMP_SKIP_UNLESS(AF_INET, 1);
    IMDUMP_ALLOW;
    IMDUMP_REFUSE;
    IMDUMP_REFUSE;
    // By its length the address is that of an interface.
    IMDUMP_SKIP_UNLESS(SYS_bind, 4);
    IMDUMP_LOAD(IMDUMP_ARGUMENT(2));
    IMDUMP_SKIP_UNLESS(sizeof(struct sockaddr_ll), 1);
    IMDUMP_ALLOW;
    IMDUMP_REFUSE;
  }
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
  IMDUMP_ALLOW_FOR(SYS_tgkill, getpid());
  // Requests go to openers by write(2): sendmsg(2) could name another address.
  if (count > 0) {
    IMDUMP_SKIP_UNLESS(SYS_recvmsg, (unsigned char)(2 * count + 2));
    IMDUMP_LOAD(IMDUMP_ARGUMENT(0));
    for (int i = 0; i < count; i++) {
      IMDUMP_SKIP_UNLESS(openers[i], 1);
      IMDUMP_ALLOW;
    }
    IMDUMP_REFUSE;
    IMDUMP_SKIP_UNLESS(SYS_wait4, 1);
    IMDUMP_ALLOW;
  }
  // Connections that others make to this socket are taken and ended.
  if (listener >= 0) {
    IMDUMP_SKIP_UNLESS(SYS_shutdown, 1);
    IMDUMP_ALLOW;
    IMDUMP_ALLOW_FOR(SYS_listen, listener);
    IMDUMP_ALLOW_FOR(SYS_accept4, listener);
  }
  if (may_write) {
    static const int files[] = {
      SYS_unlinkat, SYS_renameat2,
#ifdef SYS_renameat
      SYS_renameat,
#endif
    };
    IMDUMP_ALLOW_ALL(files);
    IMDUMP_SKIP_UNLESS(SYS_openat, 1);
    IMDUMP_ALLOW;
    if (database) {
      static const int kept[] = {
        SYS_pwrite64, SYS_fdatasync,
#ifdef SYS_unlink
        SYS_unlink,
#endif
      };
      IMDUMP_ALLOW_ALL(kept);
    }
  } else {
    IMDUMP_SKIP_UNLESS(SYS_openat, 4);
    IMDUMP_LOAD(IMDUMP_ARGUMENT(2));
    IMDUMP_SKIP_IF_ANY(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1);
    IMDUMP_ALLOW;
    IMDUMP_REFUSE;
  }
  static const unsigned modes[] = {TCSETS, TCSETSW, TCSETSF};
  const size_t extra = terminal ? sizeof modes / sizeof *modes : 0;
  IMDUMP_SKIP_UNLESS(SYS_ioctl, (unsigned char)(2 * (sizeof controls / sizeof *controls + extra) + 1));
  IMDUMP_LOAD(IMDUMP_ARGUMENT(1));
  for (size_t i = 0; i < extra; i++) {
    IMDUMP_SKIP_UNLESS(modes[i], 1);
    IMDUMP_ALLOW;
  }
  for (size_t i = 0; i < sizeof controls / sizeof *controls; i++) {
    IMDUMP_SKIP_UNLESS(controls[i], 1);
    IMDUMP_ALLOW;
  }
  IMDUMP_REFUSE;
  return install(code, n);
#endif
}

int imdump_filter_opener(int socket) {
#ifndef IMDUMP_ARCH
  (void)socket;
  return -ENOSYS;
#else
  static const int allowed[] = {
    SYS_read, SYS_openat, SYS_unlinkat, SYS_fstat, SYS_close, SYS_brk, SYS_exit, SYS_exit_group,
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
  };
  struct sock_filter code[64];
  unsigned short n = 0;
  IMDUMP_BEGIN;
  IMDUMP_ALLOW_ALL(allowed);
  IMDUMP_ALLOW_FOR(SYS_sendmsg, socket);
  IMDUMP_REFUSE;
  return install(code, n);
#endif
}

int imdump_filter_broker(int socket) {
#ifndef IMDUMP_ARCH
  (void)socket;
  return -ENOSYS;
#else
  static const int allowed[] = {
    SYS_read, SYS_openat, SYS_unlinkat, SYS_renameat2, SYS_fstat, SYS_close, SYS_brk, SYS_getpid, SYS_exit, SYS_exit_group,
#ifdef SYS_open
    SYS_open, SYS_unlink, SYS_lstat, SYS_stat,
#endif
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
  };
  struct sock_filter code[64];
  unsigned short n = 0;
  IMDUMP_BEGIN;
  IMDUMP_ALLOW_ALL(allowed);
  IMDUMP_ALLOW_FOR(SYS_sendmsg, socket);
  IMDUMP_REFUSE;
  return install(code, n);
#endif
}

int imdump_filter_resolver(void) {
#ifndef IMDUMP_ARCH
  return -ENOSYS;
#else
  // What the C library calls to look names up is its own affair, and that of modules that it loads. So this one lists what is refused:
  // to run programs, to look into other processes, and to change what the system is.
  static const int refused[] = {
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_mount, SYS_umount2, SYS_pivot_root,
    SYS_chroot, SYS_setns, SYS_unshare, SYS_bpf, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_keyctl,
    SYS_add_key, SYS_request_key, SYS_perf_event_open, SYS_swapon, SYS_swapoff, SYS_reboot,
  };
  struct sock_filter code[64];
  unsigned short n = 0;
  IMDUMP_BEGIN;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    IMDUMP_SKIP_UNLESS(refused[i], 1);
    IMDUMP_REFUSE;
  }
  IMDUMP_ALLOW;
  return install(code, n);
#endif
}
