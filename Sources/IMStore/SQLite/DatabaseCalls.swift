import CSQLite

/// Has SQLite open, remove and look at files by the functions that `call` gives, for a process that may not do so itself.
package func useDatabaseCalls(_ call: (String) -> (@convention(c) () -> Void)?) {
  for name in ["open", "unlink", "stat", "lstat", "access"] {
    guard let function = call(name) else { continue }
    _ = imdump_sqlite_replace(name, function)
  }
}
