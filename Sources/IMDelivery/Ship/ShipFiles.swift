import Glibc
import IMDescriptors
import IMOutput
import IMShip
import IMSystem
import IMWire

/// The log files that are shipped: which there are, what they are, and how far each was sent.
final class ShipFiles {
  /// Bytes that are read at once.
  private static let pieceCount = 256 << 10
  /// Bytes of a first line by which a file is known.
  private static let maximumHead = 64 << 10

  /// One file.
  struct File {
    /// Its path, and its name alone.
    var path: String, name: String
    var identity: FileIdentity
    /// Bytes that are there, that are sent, and that the batch has.
    var size: UInt64, offset: UInt64, taken: UInt64
    /// Lines that are sent, those of them that were sent before the batch, and lines that the batch holds.
    var lines: UInt64 = 0, linesBefore: UInt64 = 0, held: UInt64 = 0
    /// The hash of the last bytes before `offset`.
    var tail: UInt64
    /// Seconds since 1970 of its last change.
    var changed: Int64
    var isThere = true
    /// Whether its loss is counted.
    var isLost = false
  }

  private let paths: [String]
  private let form: LogForm
  /// All files that were seen, in the order in which they are sent.
  private(set) var files: [File] = []
  /// Files that went away before all of them was sent, and lines that an earlier process held of such files.
  private(set) var lost: (files: UInt64, lines: UInt64) = (0, 0)
  private var isScanned = false
  private var reported: Set<String> = []
  private var buffer = [UInt8](repeating: 0, count: pieceCount)

  /// The files of `paths`: folders and files, which are to hold lines of this form.
  init(_ paths: [String], form: LogForm) {
    self.paths = paths
    self.form = form
  }

  /// The folder that has the state where none was named.
  static func folder(of paths: [String]) throws(UsageError) -> String {
    var folders: [String] = []
    for path in paths {
      var info = stat()
      guard stat(path, &info) == 0 else { throw UsageError(message: "\(path): \(systemText(errno))") }
      let isFolder = info.st_mode & S_IFMT == S_IFDIR
      let folder = isFolder ? path : path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
      if !folders.contains(folder) { folders.append(folder) }
    }
    guard folders.count == 1 else {
      throw UsageError(message: "files of several folders need --state")
    }
    return "\(folders[0])/.ship"
  }

  /// Bytes that are not sent.
  var pendingBytes: UInt64 { files.reduce(0) { $0 + ($1.isThere && $1.size > $1.offset ? $1.size - $1.offset : 0) } }

  /// Looks for files. Throws for one that holds the other form. While a batch is sent, files keep their places.
  func scan(_ state: ShipState, isSending: Bool = false) throws(ShipError) {
    try look(state, isSending)
    // A file that is renamed meanwhile may be missed by the first look.
    if files.contains(where: { !$0.isThere && $0.size > $0.taken }) { try look(state, isSending) }
    for index in files.indices where !files[index].isThere && files[index].size > files[index].taken {
      guard !files[index].isLost else { continue }
      files[index].isLost = true
      lose(files[index].path, files[index].size - files[index].taken)
    }
    if !isScanned { compare(state) }
    isScanned = true
    if isSending { return }
    files.removeAll { !$0.isThere }
    files.sort { ($0.changed, $0.name.utf8.count, $0.name) < ($1.changed, $1.name.utf8.count, $1.name) }
  }

  private func lose(_ path: String, _ byteCount: UInt64) {
    lost.files += 1
    report("\(shown(path)) is gone; \(grouped(byteCount)) bytes of it were not sent")
  }

  /// Counts the files of an earlier process that are gone. The capture does not count the lines that this process held.
  private func compare(_ state: ShipState) {
    guard
      let folder = paths.first(where: { path in
        var info = stat()
        return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
      })
    else { return }
    for file in state.files where file.size > file.offset {
      let isThere = files.contains { $0.identity.first == file.identity.first || $0.name == file.name }
      guard !isThere else { continue }
      lose("\(folder)/\(file.name)", file.size - file.offset)
      // Every file of documents begins with the same one.
      lost.lines &+= file.held - (form == .ecs && file.lines == 0 ? min(1, file.held) : 0)
    }
  }

  private func look(_ state: ShipState, _ isSending: Bool) throws(ShipError) {
    for index in files.indices { files[index].isThere = false }
    for path in paths {
      var info = stat()
      guard stat(path, &info) == 0 else { continue }
      if info.st_mode & S_IFMT == S_IFREG {
        try note(path, String(path.split(separator: "/").last ?? ""), info, state, isSending)
        continue
      }
      guard let folder = opendir(path) else { throw ShipError(.noInput, "\(shown(path)): \(systemText(errno))") }
      defer { closedir(folder) }
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        guard name.hasSuffix(".ndjson"), !name.hasPrefix("."), name != ShipStore.refusedName else { continue }
        let whole = path.hasSuffix("/") ? path + name : "\(path)/\(name)"
        guard lstat(whole, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { continue }
        try note(whole, name, info, state, isSending)
      }
    }
  }

  private func report(_ text: String) { if reported.insert(text).inserted { logError(text) } }

  private func note(
    _ path: String, _ name: String, _ info: stat, _ state: ShipState, _ isSending: Bool
  ) throws(ShipError) {
    let (inode, size) = (UInt64(info.st_ino), UInt64(max(0, info.st_size)))
    let known = files.firstIndex { $0.identity.inode == inode }
    if let known, size >= files[known].offset, files[known].name == name { return update(known, path, name, info) }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno != ENOENT { report("\(shown(path)): \(systemText(errno))") }
      return
    }
    defer { close(descriptor) }
    let head = Self.read(descriptor, at: 0, count: min(Self.maximumHead, Int(clamping: size)))
    let end = head.firstIndex(of: 10) ?? (head.count == Self.maximumHead ? head.count : nil)
    if let known {
      if files[known].name == name || end.map({ ShipState.hash(head[..<$0]) }) == files[known].identity.first {
        if size >= files[known].offset { return update(known, path, name, info) }
        // It was cut: it begins anew, after the batch.
        if isSending {
          files[known].isThere = true
          return
        }
        files.remove(at: known)
      } else {
        // The file is gone, and another one has its inode.
        files[known].identity.inode = 0
      }
    }
    // Without a whole first line nothing is known of it yet.
    guard let end else { return }
    switch (LogForm(line: Array(head[..<end])), form) {
    case (.otlp, .ecs):
      throw ShipError(
        .usage,
        "\(shown(path)) contains OpenTelemetry JSON, but --to expects ECS documents; use --to otlp+https://...")
    case (.ecs, .otlp):
      throw ShipError(
        .usage,
        "\(shown(path)) contains ECS documents, but --to otlp+... expects OpenTelemetry JSON; use --to https://...")
    default: break
    }
    let identity = FileIdentity(inode: inode, first: ShipState.hash(head[..<end]))
    var file = File(
      path: path, name: name, identity: identity, size: size, offset: 0, taken: 0, tail: ShipState.hash([]),
      changed: Int64(info.st_mtim.tv_sec))
    if let index = state.index(of: identity, name: name), state.files[index].offset <= size,
      Self.tail(descriptor, before: state.files[index].offset) == state.files[index].tail
    {
      file.offset = state.files[index].offset
      file.taken = file.offset
      file.tail = state.files[index].tail
      file.lines = state.files[index].lines
    }
    files.append(file)
  }

  private func update(_ index: Int, _ path: String, _ name: String, _ info: stat) {
    files[index].isThere = true
    files[index].size = UInt64(max(0, info.st_size))
    files[index].changed = Int64(info.st_mtim.tv_sec)
    (files[index].path, files[index].name) = (path, name)
  }

  private static func read(_ descriptor: Int32, at offset: UInt64, count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let count = pread(descriptor, &bytes, count, off_t(offset))
    return Array(bytes[..<max(0, count)])
  }

  private static func tail(_ descriptor: Int32, before offset: UInt64) -> UInt64 {
    let count = Int(min(UInt64(ShipState.tailCount), offset))
    return ShipState.hash(read(descriptor, at: offset - UInt64(count), count: count)[...])
  }

  /// Fills a batch with whole lines that are not sent, the oldest files first.
  func fill(_ batch: inout ShipBatch, limit: Int) {
    for index in files.indices {
      files[index].taken = files[index].offset
      (files[index].linesBefore, files[index].held) = (files[index].lines, 0)
      guard files[index].size > files[index].offset, batch.isEmpty || batch.byteCount < limit else { continue }
      fill(&batch, index, limit)
    }
  }

  private func fill(_ batch: inout ShipBatch, _ index: Int, _ limit: Int) {
    let descriptor = open(files[index].path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var info = stat()
    guard fstat(descriptor, &info) == 0, UInt64(info.st_ino) == files[index].identity.inode else { return }
    if Self.tail(descriptor, before: files[index].offset) != files[index].tail {
      // It was cut, and has grown beyond that: what is in it now is new.
      (files[index].offset, files[index].taken, files[index].tail) = (0, 0, ShipState.hash([]))
      (files[index].lines, files[index].linesBefore) = (0, 0)
    }
    var at = files[index].offset, line = at
    var rest: [UInt8] = []
    var isTooLong = false
    while true {
      let count = pread(descriptor, &buffer, buffer.count, off_t(at))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      var start = 0
      while let end = buffer[start..<count].firstIndex(of: 10) {
        let next = at + UInt64(end) + 1
        if isTooLong || rest.count + end - start > ShipBatch.maximumLine {
          batch.addTooLong(file: index, start: line, end: next)
        } else {
          guard batch.hasRoom(for: rest.count + end - start, limit: limit) else { return }
          if rest.isEmpty {
            batch.add(buffer[start..<end], file: index, start: line, end: next)
          } else {
            rest += buffer[start..<end]
            batch.add(rest[...], file: index, start: line, end: next)
            rest.removeAll()
          }
        }
        (isTooLong, line, start) = (false, next, end + 1)
        files[index].taken = next
        files[index].held += 1
      }
      if rest.count + count - start > ShipBatch.maximumLine {
        isTooLong = true
        rest.removeAll()
      } else if !isTooLong {
        rest += buffer[start..<count]
      }
      at += UInt64(count)
    }
  }

  /// Files are sent as far as a batch is.
  func advance(_ progress: [Int: ShipBatch.Progress]) {
    for (index, sent) in progress where files[index].offset != sent.sentTo {
      files[index].offset = sent.sentTo
      files[index].lines = files[index].linesBefore &+ sent.sent
      files[index].held = sent.held
      let descriptor = open(files[index].path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
      guard descriptor >= 0 else { continue }
      files[index].tail = Self.tail(descriptor, before: sent.sentTo)
      close(descriptor)
    }
  }

  /// The state of all files.
  var state: [ShipState.File] {
    files.map {
      ShipState.File(
        name: $0.name, identity: $0.identity, offset: $0.offset, tail: $0.tail, lines: $0.lines, held: $0.held,
        size: $0.isLost ? $0.taken : $0.size)
    }
  }

  /// Sends all files from their beginning.
  func restart() {
    for index in files.indices {
      (files[index].offset, files[index].taken, files[index].tail) = (0, 0, ShipState.hash([]))
      (files[index].lines, files[index].linesBefore, files[index].held) = (0, 0, 0)
    }
  }

  /// Removes files that are sent and have not changed since `time`; gives how many.
  func removeSent(before time: Int64) -> Int {
    var count = 0
    for file in files where file.isThere && file.offset == file.size && file.changed < time {
      var info = stat()
      guard lstat(file.path, &info) == 0, UInt64(info.st_ino) == file.identity.inode, UInt64(info.st_size) == file.size
      else { continue }
      if unlink(file.path) == 0 { count += 1 } else { report("\(shown(file.path)): \(systemText(errno))") }
    }
    return count
  }

  /// The files whose end is no whole line.
  var unfinished: [String] { files.filter { $0.isThere && $0.size > $0.taken }.map(\.path) }
}
