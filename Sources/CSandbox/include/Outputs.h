#ifndef IMDUMP_OUTPUTS_H
#define IMDUMP_OUTPUTS_H

/// Files that are written, and their folders: all are opened here.
///
/// In a folder that another user may write to, names may be traps: a link to a file of ours, a file that another user can read, a
/// second name of a file that is not to be lost. There no link is followed, also not on the way, and a file is written only where it is
/// ours alone, or its folder's owner's in a folder that no other user may write to. Elsewhere links are followed; `/dev/stdout` and
/// `/dev/fd/N` are links of this kind.

/// Why something was not opened: nothing special, a link that another user may have laid, or something that is another user's or has
/// another name as well.
enum { IMDUMP_OUTPUT_FAILED, IMDUMP_OUTPUT_LINK, IMDUMP_OUTPUT_OWNER, IMDUMP_OUTPUT_NAMES };

/// What was not opened, and whose it is.
struct imdump_output_refusal { int reason; unsigned uid; };

/// Opens the file at `path` for appending, makes it with `mode` where there is none, and empties it if it is a regular one, unless `keeps` says
/// that what is in it stays. A pipe without
/// a reader is waited for until `is_stopped` says that it is not; -EINTR then.  A descriptor, or -errno.
int imdump_open_output(const char *path, unsigned mode, int keeps, int (*is_stopped)(void), struct imdump_output_refusal *refusal);

/// Opens the folder at `path` for what is done to names in it, which takes no right to read it.  A descriptor, or -errno; -ELOOP for a
/// link on the way that another user may have laid.
int imdump_open_folder(const char *path);

/// Makes a user and a group the owners of an open folder, which may be opened as imdump_open_folder does. 0, or -errno.
int imdump_own_folder(int folder, unsigned user, unsigned group);

/// Drops what lets a file's owner have rights that its caller has not, but for capturing: capabilities of the program's file that open
/// files of others. Nothing where the caller has given the rights.
void imdump_keep_callers_rights(void);

#endif
