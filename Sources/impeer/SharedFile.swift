import Glibc

/// Files that people send one another.
enum SharedFile {
  /// The longest that is sent.
  private static var limit: Int { 63 << 20 }

  /// The last part of a path.
  static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

  /// The bytes of a file.
  static func read(_ path: String) throws(Complaint) -> [UInt8] {
    func problem() -> Complaint { Complaint("\(path): \(String(cString: strerror(errno)))", .noInput) }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw problem() }
    defer { close(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(file, &piece, piece.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw problem() }
      if count == 0 { return bytes }
      bytes += piece[..<count]
      guard bytes.count <= limit else { throw Complaint("\(path) is longer than \(limit >> 20) MiB", .data) }
    }
  }

  /// Keeps a file that came in a folder, which is made if need be: under the name that its sender gave it as far as that is
  /// one, and never in place of another file.
  static func save(_ bytes: [UInt8], as name: String?, in folder: String) throws(Complaint) {
    guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
      throw Complaint("make \(folder): \(String(cString: strerror(errno)))", .cannotCreate)
    }
    let base = safe(name ?? "file")
    for number in 1...1_000 {
      let path = folder + "/" + (number == 1 ? base : "\(number)-\(base)")
      let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
      if file < 0, errno == EEXIST { continue }
      guard file >= 0 else { throw Complaint("\(path): \(String(cString: strerror(errno)))", .cannotCreate) }
      defer { close(file) }
      var written = 0
      while written < bytes.count {
        let count = bytes[written...].withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw Complaint("\(path): \(String(cString: strerror(errno)))", .cannotCreate) }
        written += count
      }
      return
    }
    throw Complaint("\(folder) has a thousand files of the name \(base)", .cannotCreate)
  }

  /// A name that a sender gave, as one of a file in this folder.
  static func safe(_ name: String) -> String {
    var text = Self.name(TerminalText.plain(name))
    while text.utf8.count > 200 { text.removeLast() }
    while text.hasPrefix(".") { text.removeFirst() }
    return text.isEmpty ? "file" : text
  }
}
