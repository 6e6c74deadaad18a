#ifndef IMDUMP_CRASH_H
#define IMDUMP_CRASH_H

/// From now on a fault of the process's own ends it as before, after one line on stderr: the version, the signal, and
/// where in the program. It takes the place of the Swift runtime's handler, which prints the memory that registers point to, and
/// with it what users wrote.
///
/// `version` is copied; at most 100 bytes of it are printed.
void imdump_tell_crashes(const char *version);

#endif
