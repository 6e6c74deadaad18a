#ifndef IMDUMP_CSANDBOX_H
#define IMDUMP_CSANDBOX_H

/// What a process gives up before it reads bytes that somebody else has made. Every call is for a process of one thread:
/// the kernel takes capabilities, Landlock's rules and system call filters from the calling thread, and from those that it
/// makes afterwards.
///
/// No system header is included here, so that the types of the system keep their own module.

/// Becomes the user `uid` with the group `gid` and no other group, for good.  0, or -errno.
int imdump_become(unsigned uid, unsigned gid);

/// Gives up all capabilities, also those that a program run later could bring.  0, or -errno.
int imdump_drop_capabilities(void);

/// From now on no program that is run brings rights of its own.  0, or -errno.
int imdump_no_new_privileges(void);

/// Lets the process make, write and remove files only in the folders whose descriptors these are, run no program, and
/// open no TCP connection.  Descriptors that are open stay what they are.
///
/// Returns the version of Landlock, or -errno where the kernel has none.  Source: Landlock's uapi, whose structures are
/// written out here since a system's headers may be older than its kernel.
int imdump_restrict_writing(const int *folders, int count);

/// The version of Landlock that this kernel has; -errno where it has none.
int imdump_landlock_version(void);

/// Whether this kernel can filter a process's system calls.
int imdump_has_system_call_filter(void);

/// Leaves the process the system calls that reading, capturing and writing take; any other fails with EPERM.
///
/// No program can be run, no process made, no memory made executable, nothing sent or connected, and of a
/// terminal only its size be asked. Without `may_write`, files can be opened for reading only. `openers` are the sockets of
/// openers, `count` of them and 8 at most, from which descriptors may be received; `listener` is one from which connections
/// may be accepted, or -1; with `database`, what SQLite takes to write one is left; with `terminal`, a terminal's mode can be
/// set.  0, or -errno; -ENOSYS on a processor whose calls are not known here.
int imdump_filter_system_calls(int may_write, const int *openers, int count, int listener, int database,
                               int terminal);

// What an opener gives up (Opener.h), as above. It keeps CAP_DAC_OVERRIDE, so that it can make files where its user cannot;
// Landlock leaves it the one folder, where it cannot read either; and of the system calls those that open, remove and close
// a file, and answer at `socket`.

int imdump_become_opener(unsigned uid, unsigned gid);
int imdump_restrict_opener(int folder);
int imdump_filter_opener(int socket);

/// Drops a broker's privileges (Broker.h): all capabilities but those to open files, and the system calls that it does not need.  0, or -errno.
int imdump_keep_opening(void);
int imdump_filter_broker(int socket);

/// Lets the process open no file that is not open yet, but make, write and remove files in the folders whose descriptors these are; else as
/// `imdump_restrict_writing`.
int imdump_restrict_reading(const int *folders, int count);

/// From now on `imdump_filter_system_calls` leaves what a capture takes: sockets that only ask the kernel, and to bind that of the
/// capture to an interface that is there again.
void imdump_allow_capture(void);

#include "Broker.h"
#include "Crash.h"
#include "Opener.h"
#include "Outputs.h"
#include "Resolver.h"
#include "Serving.h"

#endif
