import CSandbox
import Glibc
import IMSystem

/// Removes a store, with what SQLite has beside it.
package func removeStore(_ path: String) {
  for end in ["", "-wal", "-shm", "-journal"] { _ = imdump_unlink_path(path + end) }
}

/// The stores in a folder that are called by their process, `prefix`, its number and `end`, and whose process is no more: it was killed.
/// Files that SQLite has beside such a store count as well, and so do those of packets.
package func abandoned(in folder: String, prefix: String, end: String) -> Set<String> {
  var stores: Set<String> = []
  for name in names(in: folder) where name.hasPrefix(prefix) {
    let number = name.dropFirst(prefix.count).prefix { $0.isASCII && $0.isNumber }
    guard name.dropFirst(prefix.count + number.count).hasPrefix(end), let process = pid_t(number), process > 0,
      kill(process, 0) != 0, errno == ESRCH
    else { continue }
    stores.insert("\(folder)/\(prefix)\(number)\(end)")
  }
  return stores
}
