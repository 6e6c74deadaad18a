#ifndef IMDUMP_CRASH_H
#define IMDUMP_CRASH_H

/// From now on a fault of the process's own ends it as before, after one line on stderr: the version, the signal, and
/// where in the program. It takes the place of the Swift runtime's handler, which prints the memory that registers point to, and
/// with it what users wrote.
///
/// `version` is copied; at most 100 bytes of it are printed.
void imdump_tell_crashes(const char *version);

/// From now on such a fault first gives the terminal at `descriptor` back: it gets the mode that it has now, and `text` is written
/// to it, of which at most 200 bytes are kept. A descriptor of -1 ends that.
void imdump_keep_terminal(int descriptor, const char *text);

#endif
