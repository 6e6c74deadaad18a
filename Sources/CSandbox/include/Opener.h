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
/// since 1970, in local time, or as it stands where `is_timed` is 0; then `number` in so many digits, unless both are 0; then
/// `suffix`.
///
/// Returns its length; -1 where that is no name of a file in a folder: empty, too long, with a slash, "." or "..".
int imdump_file_name(const char *format, const char *suffix, int is_timed, int digits, long long number, long long second,
                     char *name);

/// Makes an empty file for appending, in the place of a regular file of that name, whose readers keep it.
///
/// No link is followed. A descriptor, or -errno; -ELOOP where a link or another thing that is no file has the name.
int imdump_replace_file(int folder, const char *name);

/// Opens a file for appending, and makes it where there is none. What stands in it stays. As `imdump_replace_file`.
int imdump_open_file(int folder, const char *name);

/// Makes a file that is in memory only and ends with its last descriptor, which is closed on exec. A descriptor, or -errno.
int imdump_memory_file(void);

/// Takes a regular file away; what else has the name stays.  0, or -errno.
int imdump_remove_file(int folder, const char *name);

/// Starts an opener that has the user and group of these numbers, and tells its process. In a process of one thread that
/// has the rights of root. Children are not waited for from then on: the kernel takes them away. `title` is what ps(1) shows.
///
/// It ends with this process, and when `imdump_opener_end` is called; it heeds no signal but SIGKILL.  The socket on which
/// it is asked, or -errno.
int imdump_opener_start(unsigned uid, unsigned gid, int is_sandboxed, const char *title, int *process);

/// Tells the opener its folder and what names are made of, with numbers below `count`: `formats` has one format after the
/// other, with a slash between them, which stands in no name.
///
/// Returns 1 when it is ready, having given up all else; 0 when the user may make files there, so that none is needed; or
/// -errno. But for 1, it has ended or will when its socket is closed.
int imdump_opener_begin(int opener, int folder, const char *formats, const char *suffix, int is_timed, int digits,
                        long long count);

/// What an opener is asked for: `imdump_open_file`, `imdump_replace_file` or `imdump_remove_file`.
enum { IMDUMP_OPEN, IMDUMP_REPLACE, IMDUMP_REMOVE };


/// Has the file with this number and time, and the format of this index, opened or taken away.
///
/// Waits 2 s at most.  A descriptor, 0 for one that is gone, or -errno; -ETIMEDOUT when no answer came, -ECHILD when the
/// opener is gone.
int imdump_opener_ask(int opener, int action, int format, long long number, long long second);

/// Ends the opener, closes its socket, and waits until it is gone, as long.
void imdump_opener_end(int opener, int process);

#endif
