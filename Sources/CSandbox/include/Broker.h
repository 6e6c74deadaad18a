#ifndef IMDUMP_BROKER_H
#define IMDUMP_BROKER_H

/// A process that opens files for a run which root has started, and which has become a user without rights before it decodes: the files
/// that the command line names, and no others.
///
/// It is forked when the command line is known and nothing is read yet. It stays root, so that what it makes is the caller's, with the
/// capabilities to open files alone; a request has numbers, and it makes the names itself, but for those in folders, which follow a
/// pattern.

/// What may be asked for: to read a file; to read and write a database, with what SQLite has beside it; to make files in a folder whose
/// names the pattern of fnmatch(3) matches, lists of alternatives included.
enum { IMDUMP_BROKER_INPUT, IMDUMP_BROKER_STORE, IMDUMP_BROKER_FOLDER };

/// One of these. `path` is absolute for a database; `folder` is the open folder, for that kind alone.
struct imdump_broker_item { int kind; const char *path, *pattern; int folder; };

/// Starts it, in a process of one thread. From then on the functions below ask it for the files that `items` name. The socket on which it
/// is asked, or -errno.
int imdump_broker_start(const struct imdump_broker_item *items, int count, int is_sandboxed);

/// Whether root can become the user of these numbers here: not in every container. It is tried in a process that ends.
int imdump_can_become(unsigned uid, unsigned gid);

/// Opens a file for reading: by the broker where that may, else here. A pipe is not waited for.  A descriptor, or -errno.
int imdump_open_input(const char *path);

/// openat(2), unlinkat(2) and renameat(2) of plain names in a folder: by the broker where it has the folder, else here. No link is
/// followed.  0 or a descriptor, or -errno.
int imdump_open_at(int folder, const char *name, int flags, unsigned mode);
int imdump_unlink_at(int folder, const char *name);
int imdump_rename_at(int folder, const char *from, const char *to);

/// Whether files can be made in a folder, by the broker or here.  0, or -errno.
int imdump_may_make_files(int folder);

/// unlink(2) of a path, by the broker where it is of a database that it has.  0, or -1 and errno.
int imdump_unlink_path(const char *path);

/// What takes the place of SQLite's calls, by their names in its table; the result is what the call would give. `NULL` for another name.
typedef void (*imdump_system_call)(void);
imdump_system_call imdump_database_call(const char *name);

/// The value of a variable of the environment; none where this process has more rights than its caller (secure_getenv(3)).
const char *_Nullable imdump_secure_getenv(const char *_Nonnull name);

#endif
