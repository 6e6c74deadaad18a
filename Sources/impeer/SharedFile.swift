import Glibc
import IMEndpoint

/// Files that people send one another.
enum SharedFile {
  /// The last part of a path.
  static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

  /// Opens a file to be sent; it is read when its turn comes.
  static func open(_ path: String) throws(Complaint) -> FileReader {
    let file: FileReader
    do throws(StoreError) { file = try FileReader(path) } catch { throw Complaint(error.description, .noInput) }
    guard file.byteCount < Int(UInt32.max) - 65_536 else { throw Complaint("\(path) has 4 GiB or more", .data) }
    return file
  }

  /// Keeps a file that came in a folder, which is made if need be: under the name that its sender gave it as far as that is
  /// one, and never in place of another file.
  static func save(_ bytes: [UInt8], as name: String?, in folder: String) throws(Complaint) {
    guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
      throw Complaint("make \(folder): \(String(cString: strerror(errno)))", .cannotCreate)
    }
    try place(name, in: folder) { path throws(Complaint) in
      let file = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
      if file < 0, errno == EEXIST { return false }
      guard file >= 0 else { throw Complaint("\(path): \(String(cString: strerror(errno)))", .cannotCreate) }
      defer { close(file) }
      var written = 0
      while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw Complaint("\(path): \(String(cString: strerror(errno)))", .cannotCreate) }
        written += count
      }
      return true
    }
  }

  /// Keeps a file that came and is in another place of this file system.
  static func keep(_ part: String, as name: String?, in folder: String) throws(Complaint) {
    try place(name, in: folder) { path throws(Complaint) in
      guard link(part, path) != 0 else {
        unlink(part)
        chmod(path, 0o644)
        return true
      }
      guard errno == EEXIST else { throw Complaint("\(path): \(String(cString: strerror(errno)))", .cannotCreate) }
      return false
    }
  }

  /// Finds a path that no file has; `make` says whether it made one there.
  private static func place(_ name: String?, in folder: String, _ make: (String) throws(Complaint) -> Bool)
    throws(Complaint)
  {
    let base = safe(name ?? "file")
    for number in 1...1_000 where try make(folder + "/" + (number == 1 ? base : "\(number)-\(base)")) { return }
    throw Complaint("\(folder) already has a thousand files named \(base)", .cannotCreate)
  }

  /// A name that a sender gave, as one of a file in this folder.
  static func safe(_ name: String) -> String {
    var text = Self.name(TerminalText.plain(name))
    while text.utf8.count > 200 { text.removeLast() }
    while text.hasPrefix(".") { text.removeFirst() }
    return text.isEmpty ? "file" : text
  }
}
