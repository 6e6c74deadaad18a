#ifndef IMDUMP_OPENER_H
#define IMDUMP_OPENER_H

/// Files that follow one another in a folder, and a process that opens them where the user that root has become may not.
///
/// The opener is forked before there is anything to inherit. It has the new user's numbers, one capability, CAP_DAC_OVERRIDE,
/// and one folder. It makes the names itself, of a template that it is given before the first packet: so who asks it can
/// have those files made, emptied and replaced that the command line names, and no others.

/// Bytes of the longest name, and the 0 behind it.
enum { IMDUMP_NAME_SIZE = 256 };

/// Writes the name of a file to `name`, which has room for IMDUMP_NAME_SIZE bytes: `format` by strftime(3) for `second`
/// since 1970, in local time, or as it stands where `is_timed` is 0; then `number` in so many digits, unless both are 0.
///
/// Returns its length; -1 where that is no name of a file in a folder: empty, too long, with a slash, "." or "..".
int imdump_file_name(const char *format, int is_timed, int digits, long long number, long long second, char *name);

/// Makes an empty file for appending, in the place of a regular file of that name, whose readers keep it.
///
/// No link is followed. A descriptor, or -errno; -ELOOP where a link or another thing that is no file has the name.
int imdump_replace_file(int folder, const char *name);

/// Opens a file for appending, and makes it where there is none. What stands in it stays. As `imdump_replace_file`.
int imdump_open_file(int folder, const char *name);

/// Starts an opener that has the user and group of these numbers, and tells its process. In a process of one thread that
/// has the rights of root. Children are not waited for from then on: the kernel takes them away.
///
/// It ends with this process, and when `imdump_opener_end` is called; it heeds no signal but SIGKILL.  The socket on which
/// it is asked, or -errno.
int imdump_opener_start(unsigned uid, unsigned gid, int is_sandboxed, int *process);

/// Tells the opener its folder and the template of the names, with numbers below `count`.
///
/// Returns 1 when it is ready, having given up all else; 0 when the user may make files there, so that none is needed; or
/// -errno. But for 1, it has ended or will when its socket is closed.
int imdump_opener_begin(int opener, int folder, const char *format, int is_timed, int digits, long long count);

/// Has the file with this number and time opened, as `imdump_replace_file` does or else `imdump_open_file`.
///
/// Waits 2 s at most.  A descriptor, or -errno; -ETIMEDOUT when no answer came, -ECHILD when the opener is gone.
int imdump_opener_open(int opener, int replaces, long long number, long long second);

/// Ends the opener, closes its socket, and waits until it is gone, as long.
void imdump_opener_end(int opener, int process);

#endif
