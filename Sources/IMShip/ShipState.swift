import IMWire

/// What is known of a file by which it is found again under another name.
package struct FileIdentity: Equatable, Sendable {
  /// The number of its inode.
  package var inode: UInt64
  /// The hash of its first line.
  package var first: UInt64

  /// These.
  package init(inode: UInt64, first: UInt64) {
    self.inode = inode
    self.first = first
  }
}

/// How far each file was sent, as it is kept beside the files.
package struct ShipState: Equatable, Sendable {
  /// One file.
  package struct File: Equatable, Sendable {
    /// Its name when it was seen last, without its folder.
    package var name: String
    /// What it is.
    package var identity: FileIdentity
    /// Bytes that are sent; the next line begins there.
    package var offset: UInt64
    /// The hash of the last `ShipState.tailCount` bytes before `offset`, or of all that are there.
    package var tail: UInt64
    /// Lines before `offset`, and those after it that are in memory: they are sent even if the file is removed.
    package var lines: UInt64, held: UInt64
    /// Bytes of the file when it was seen last.
    package var size: UInt64

    /// These.
    package init(
      name: String, identity: FileIdentity, offset: UInt64, tail: UInt64, lines: UInt64 = 0, held: UInt64 = 0,
      size: UInt64 = 0
    ) {
      self.name = name
      self.identity = identity
      self.offset = offset
      self.tail = tail
      (self.lines, self.held, self.size) = (lines, held, size)
    }
  }

  /// Documents by what became of them, over all runs of `imdump ship`.
  package struct Totals: Equatable, Sendable {
    /// Stored by this command, there already, refused for good, and gone before they were sent.
    package var stored: UInt64 = 0, known: UInt64 = 0, refused: UInt64 = 0, lost: UInt64 = 0
    /// Files that were gone before all of them was sent.
    package var lostFiles: UInt64 = 0

    /// None.
    package init() {}
  }

  /// Bytes before the offset that are compared when a file is found again.
  package static let tailCount = 512
  /// Bytes that a state may have.
  package static let maximumBytes = 16 << 20

  /// The engine's own id; empty where it is not known.
  package var cluster = ""
  /// The files.
  package var files: [File] = []
  /// The counts.
  package var totals = Totals()
  /// Bytes of `refused.ndjson` that belong to what is counted here.
  package var refusedBytes: UInt64 = 0

  /// Nothing was sent.
  package init() {}

  /// The text of the file.
  package var text: String {
    let files = files.map {
      "  {\"name\": \(quotedJSON($0.name)), \"inode\": \"\($0.identity.inode)\", \"first\": \"\($0.identity.first)\", "
        + "\"offset\": \($0.offset), \"tail\": \"\($0.tail)\", "
        + "\"lines\": \($0.lines), \"held\": \($0.held), \"size\": \($0.size)}"
    }
    return """
      {"version": 1, "cluster": \(quotedJSON(cluster)), "refused_bytes": \(refusedBytes),
       "stored": \(totals.stored), "known": \(totals.known), "refused": \(totals.refused), "lost": \(totals.lost), "lost_files": \(totals.lostFiles),
       "files": [
      \(files.joined(separator: ",\n"))
       ]}

      """
  }

  /// Reads a state; `nil` for what is none.
  package init?(_ bytes: [UInt8]) {
    var scanner = JSONScanner(bytes)
    var state = ShipState()
    var version = 0
    let isRead = scanner.members { scanner, key in
      if scanner.spells(key, "cluster"), scanner.next == UInt8(ascii: "\""), let text = scanner.text() {
        state.cluster = scanner.unescaped(text)
        return true
      }
      if scanner.spells(key, "files") {
        return scanner.elements { scanner in
          guard let file = Self.file(&scanner) else { return false }
          state.files.append(file)
          return true
        }
      }
      guard let number = scanner.integer(), number >= 0 else { return false }
      if scanner.spells(key, "version") { version = number }
      if scanner.spells(key, "refused_bytes") { state.refusedBytes = UInt64(number) }
      if scanner.spells(key, "stored") { state.totals.stored = UInt64(number) }
      if scanner.spells(key, "known") { state.totals.known = UInt64(number) }
      if scanner.spells(key, "refused") { state.totals.refused = UInt64(number) }
      if scanner.spells(key, "lost") { state.totals.lost = UInt64(number) }
      if scanner.spells(key, "lost_files") { state.totals.lostFiles = UInt64(number) }
      return true
    }
    guard isRead, scanner.isAtEnd, version == 1 else { return nil }
    self = state
  }

  private static func file(_ scanner: inout JSONScanner) -> File? {
    var name: String?, offset: UInt64?
    var (lines, held, size): (UInt64, UInt64, UInt64) = (0, 0, 0)
    var numbers: (inode: UInt64?, first: UInt64?, tail: UInt64?) = (nil, nil, nil)
    let isRead = scanner.members { scanner, key in
      guard scanner.next == UInt8(ascii: "\"") else {
        guard let number = scanner.integer(), number >= 0 else { return false }
        if scanner.spells(key, "offset") { offset = UInt64(number) }
        if scanner.spells(key, "lines") { lines = UInt64(number) }
        if scanner.spells(key, "held") { held = UInt64(number) }
        if scanner.spells(key, "size") { size = UInt64(number) }
        return true
      }
      guard let range = scanner.text() else { return false }
      let text = scanner.unescaped(range)
      if scanner.spells(key, "name") { name = text }
      if scanner.spells(key, "inode") { numbers.inode = UInt64(text) }
      if scanner.spells(key, "first") { numbers.first = UInt64(text) }
      if scanner.spells(key, "tail") { numbers.tail = UInt64(text) }
      return true
    }
    guard isRead, let name, let offset, let inode = numbers.inode, let first = numbers.first, let tail = numbers.tail
    else { return nil }
    return File(
      name: name, identity: FileIdentity(inode: inode, first: first), offset: offset, tail: tail, lines: lines,
      held: held,
      size: size)
  }

  /// The index in `files` of a file that is `name` now: the same inode and first line, or where a copy or another disk changed
  /// the inode, the same name and first line.
  package func index(of identity: FileIdentity, name: String) -> Int? {
    files.firstIndex { $0.identity == identity }
      ?? files.firstIndex { $0.name == name && $0.identity.first == identity.first }
  }

  /// The hash of a line or of a file's last sent bytes.
  package static func hash(_ bytes: ArraySlice<UInt8>) -> UInt64 { fnv1a(bytes) }
}
