import CSandbox
import Glibc

/// Removes a store, with what SQLite has beside it.
func removeStore(_ path: String) {
  for end in ["", "-wal", "-shm", "-journal"] { _ = imdump_unlink_path(path + end) }
}

/// The names in a folder; none where it cannot be read.
func names(in folder: String) -> [String] {
  guard let listing = opendir(folder) else { return [] }
  defer { closedir(listing) }
  var names: [String] = []
  while let entry = readdir(listing) {
    names.append(
      withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      })
  }
  return names
}

/// The stores in a folder that are called by their process, `prefix`, its number and `end`, and whose process is no more: it was killed.
/// Files that SQLite has beside such a store count as well, and so do those of packets.
func abandoned(in folder: String, prefix: String, end: String) -> Set<String> {
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
