#ifndef IMDUMP_CSQLITE_SHIM_H
#define IMDUMP_CSQLITE_SHIM_H

#include <sqlite3.h>
#include <stddef.h>

/// `SQLITE_TRANSIENT` is a macro with a cast in it: SQLite copies the bytes. An empty text may have no address in Swift, and
/// without one SQLite would take it for NULL.
static inline int imdump_sqlite_bind_text(sqlite3_stmt *statement, int place, const char *text, size_t count) {
  return sqlite3_bind_text64(statement, place, text ? text : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// The same for what a function of ours returns.
static inline void imdump_sqlite_result_text(sqlite3_context *context, const char *text, size_t count) {
  sqlite3_result_text64(context, text ? text : "", count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// `sqlite3_db_config` is variadic: sets a switch of a connection.
static inline int imdump_sqlite_switch(sqlite3 *database, int name, int value) {
  return sqlite3_db_config(database, name, value, (int *)0);
}

/// `sqlite3_config` is variadic. Turns SQLite's statistics of memory on or off: they take one lock of the process for each allocation,
/// and a reader waits there for a writer that was preempted while it held the lock; but without them there is no limit on the heap.
/// Has to be called before any other function of SQLite.
static inline int imdump_sqlite_configure(int counts_memory) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, counts_memory); }

/// Has SQLite call `call` in the place of a function of the system's, by its name in SQLite's table. Has to be called while no connection
/// uses it.
static inline int imdump_sqlite_replace(const char *name, void (*call)(void)) {
  sqlite3_vfs *system = sqlite3_vfs_find(NULL);
  return system && system->iVersion >= 3 ? system->xSetSystemCall(system, name, call) : SQLITE_ERROR;
}

/// Reads the first bytes of a connection's database as they are in the file.
static inline int imdump_sqlite_header(sqlite3 *database, unsigned char *bytes, int count) {
  sqlite3_file *file = 0;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file || !file->pMethods)
    return SQLITE_ERROR;
  return file->pMethods->xRead(file, bytes, count, 0);
}

/// Whether SQLite finds a file, which may be empty where it can be written.
static inline int imdump_sqlite_has_file(const char *path) {
  int found = 0, usable = 0;
  sqlite3_vfs *system = sqlite3_vfs_find(NULL);
  if (!system || system->xAccess(system, path, SQLITE_ACCESS_EXISTS, &found) != SQLITE_OK) return 1;
  if (system->xAccess(system, path, SQLITE_ACCESS_READWRITE, &usable) != SQLITE_OK) return 1;
  return found || usable;
}

/// Sorters and temporary tables spill into files of this folder: `sqlite3_temp_directory` is a variable, which has to be
/// set before the first connection is used. Returns 0 where there is no memory for its name.
static inline int imdump_sqlite_spill_into(const char *folder) {
  char *name = sqlite3_mprintf("%s", folder);
  if (!name) return 0;
  sqlite3_free(sqlite3_temp_directory);
  sqlite3_temp_directory = name;
  return 1;
}

#endif
