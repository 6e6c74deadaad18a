#define _GNU_SOURCE
#include "Crash.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ucontext.h>
#include <termios.h>
#include <unistd.h>

// A name that the linker gives to the start of the program.
extern const char __executable_start[];
extern const char etext[];

// What every crash line begins with, made while nothing is wrong yet.
static char beginning[160];

static char stack[16384] __attribute__((aligned(16)));

// The terminal that is given back first; -1 for none.
static volatile int terminal = -1;
static struct termios terminal_mode;
static char terminal_text[201];

static const int signals[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
static const char *const names[] = {"SIGILL", "SIGTRAP", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT"};

static char *append(char *to, const char *end, const char *text) {
  while (*text && to < end) *to++ = *text++;
  return to;
}

static char *append_hex(char *to, const char *end, unsigned long number) {
  int shift = 60;
  while (shift > 0 && !(number >> shift)) shift -= 4;
  for (; shift >= 0 && to < end; shift -= 4) *to++ = "0123456789abcdef"[number >> shift & 15];
  return to;
}

// Only what POSIX allows in a handler is called, and nothing is read but the place of the fault.
static void tell(int number, siginfo_t *info, void *context) {
  (void)info;
  char line[320];
  const char *end = line + sizeof line - 1;
  char *to = append(line, end, beginning);
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
    if (signals[i] == number) to = append(to, end, names[i]);
  unsigned long place = 0;
#if defined(__x86_64__)
  place = (unsigned long)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  place = (unsigned long)((ucontext_t *)context)->uc_mcontext.pc;
#endif
  if (place >= (unsigned long)__executable_start && place < (unsigned long)etext) {
    to = append(to, end, " at +0x");
    to = append_hex(to, end, place - (unsigned long)__executable_start);
  }
  to = append(to, end, "). What was not yet written is lost. Please report this line\n");
  if (terminal >= 0) {
    // What cannot be written cannot be told either.
    if (write(terminal, terminal_text, strlen(terminal_text)) >= 0) tcsetattr(terminal, TCSANOW, &terminal_mode);
  }
  for (const char *from = line; from < to;) {
    ssize_t count = write(STDERR_FILENO, from, (size_t)(to - from));
    if (count > 0)
      from += count;
    else if (errno != EINTR)
      break;
  }
  // The handler is for one time only; the signal, held back until the handler returns, now ends the process.
  raise(number);
}

void imdump_tell_crashes(const char *version) {
  char *to = append(beginning, beginning + sizeof beginning - 1, "imdump: an error in imdump itself (");
  to = append(to, beginning + sizeof beginning - 1, version);
  append(to, beginning + sizeof beginning - 1, ", ");
  stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&own, NULL);
  struct sigaction action = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
    sigaction(signals[i], &action, NULL);
    sigaddset(&unblocked, signals[i]);
  }
  // Who has started the command may have held them back.
  sigprocmask(SIG_UNBLOCK, &unblocked, NULL);
}

void imdump_keep_terminal(int descriptor, const char *text) {
  terminal = -1;
  if (descriptor < 0 || tcgetattr(descriptor, &terminal_mode) != 0) return;
  append(terminal_text, terminal_text + sizeof terminal_text - 1, text);
  terminal = descriptor;
}
