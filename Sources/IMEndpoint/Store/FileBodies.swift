internal import CEpoll
internal import CSSL
import Glibc

/// Large bodies as files of a folder, or as files without a name that end with the process.
///
/// A body that is not whole is `.NAME.part`, with its record in `.NAME.have`; NAME is its number in 16 hexadecimal digits. What a
/// process that was killed has written is there for the next one.
public final class FileBodies: BodyStore, @unchecked Sendable {
  // A core uses it on its own thread alone.
  private let folder: String?
  private let keepsRecords: Bool
  private let hashes: Bool
  private var files: [UInt64: Open] = [:]
  private var uses: UInt64 = 0

  private struct Open {
    var file: Int32
    var usedAt: UInt64
    var hash: FileHash
    /// Bytes that the kernel has not been asked to write to the disk.
    var unwritten = 0
  }

  /// Files that are open at once; of files without a name all are.
  private static var mostOpen: Int { 64 }
  private static var mostNameless: Int { 1_024 }
  /// The kernel is asked to write after so many bytes, so that the end has not to wait for all.
  private static var writeback: Int { 8 << 20 }

  /// Bodies in `folder`, which is made if need be; `nil`: in files without a name, of the folder for temporary files. Records are
  /// kept where the next process is to go on with what is not whole; the digest is computed while bodies are written where it will
  /// be asked for.
  public init(folder: String?, keepsRecords: Bool, computesDigests: Bool = false) throws(StoreError) {
    if let folder, mkdir(folder, 0o755) != 0, errno != EEXIST { throw StoreError("make " + folder) }
    self.folder = folder
    hashes = computesDigests
    self.keepsRecords = keepsRecords && folder != nil
  }

  deinit { for open in files.values { close(open.file) } }

  private func path(_ body: UInt64, _ suffix: String) -> String {
    let digits = String(body, radix: 16)
    return (folder ?? "") + "/." + String(repeating: "0", count: 16 - digits.count) + digits + suffix
  }

  /// The file of a body.
  public func path(of body: UInt64) -> String { path(body, ".part") }

  // MARK: files

  private func file(_ body: UInt64, makes: Bool) -> Int32? {
    uses += 1
    if files[body] != nil {
      files[body]?.usedAt = uses
      return files[body]?.file
    }
    if files.count >= (folder == nil ? Self.mostNameless : Self.mostOpen) {
      guard folder != nil, let oldest = files.min(by: { $0.value.usedAt < $1.value.usedAt }) else { return nil }
      close(oldest.value.file)
      files[oldest.key] = nil
    }
    let file: Int32
    if folder != nil {
      file = Glibc.open(path(of: body), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (makes ? O_CREAT : 0), 0o600)
    } else {
      guard makes else { return nil }
      let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
      var name = Array((temporary + "/impeer-XXXXXX").utf8CString)
      file = mkstemp(&name)
      if file >= 0 {
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        unlink(name)
      }
    }
    guard file >= 0 else { return nil }
    files[body] = Open(file: file, usedAt: uses, hash: FileHash())
    return file
  }

  /// See `BodyStore`.
  public func write(_ bytes: RawSpan, of body: UInt64, at offset: Int) -> Bool {
    guard let file = file(body, makes: true) else { return false }
    let isWritten = bytes.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        let count = pwrite(file, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(offset + done))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        done += count
      }
      return true
    }
    guard isWritten else { return false }
    if hashes { files[body]?.hash.add(bytes, at: offset) }
    files[body]?.unwritten += bytes.byteCount
    if folder != nil, files[body]?.unwritten ?? 0 >= Self.writeback {
      files[body]?.unwritten = 0
      imdump_start_writeback(file)
    }
    return true
  }

  /// See `BodyStore`.
  public func note(_ record: [UInt8]?, of body: UInt64) {
    guard keepsRecords else { return }
    let path = path(body, ".have")
    guard let record else {
      unlink(path)
      return
    }
    let file = Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { return }
    defer { close(file) }
    // A record that is cut off has a wrong checksum: then the transfer begins anew.
    if record.withUnsafeBytes({ pwrite(file, $0.baseAddress, $0.count, 0) }) == record.count {
      _ = ftruncate(file, off_t(record.count))
    }
  }

  /// See `BodyStore`.
  public func reader(of body: UInt64) -> (any BodyReader)? {
    guard let file = file(body, makes: false) else { return nil }
    var facts = stat()
    guard fstat(file, &facts) == 0 else { return nil }
    return Reader(self, body, Int(facts.st_size))
  }

  /// See `BodyStore`.
  public func remove(_ body: UInt64) {
    if let open = files.removeValue(forKey: body) { close(open.file) }
    guard folder != nil else { return }
    unlink(path(of: body))
    if keepsRecords { unlink(path(body, ".have")) }
  }

  /// Lets go of a body whose file the application has taken, and forgets its record.
  public func release(_ body: UInt64) {
    if let open = files.removeValue(forKey: body) { close(open.file) }
    if keepsRecords { unlink(path(body, ".have")) }
  }

  /// Returns when a body is on the disk; false where that failed.
  public func sync(_ body: UInt64) -> Bool {
    guard folder != nil, let file = file(body, makes: false) else { return folder == nil }
    return fdatasync(file) == 0
  }

  /// See `BodyStore`.
  public func records() -> [(body: UInt64, record: [UInt8])] {
    guard keepsRecords else { return [] }
    return bodies(".have").compactMap { body in
      guard let reader = try? FileReader(path(body, ".have")), reader.byteCount <= 1 << 20,
        let record = reader.read(at: 0, count: reader.byteCount)
      else { return nil }
      return (body, record)
    }
  }

  /// Removes all bodies but these, and those that have a record: of a folder that is this store's alone.
  public func removeAll(but kept: Set<UInt64>) {
    let open = Set(bodies(".have"))
    for body in bodies(".part") where !kept.contains(body) && !open.contains(body) { remove(body) }
    for body in open where access(path(of: body), F_OK) != 0 { unlink(path(body, ".have")) }
  }

  private func bodies(_ suffix: String) -> [UInt64] {
    guard let folder, let entries = opendir(folder) else { return [] }
    defer { closedir(entries) }
    var found: [UInt64] = []
    while let entry = readdir(entries) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name.utf8.count == 17 + suffix.utf8.count, name.hasPrefix("."), name.hasSuffix(suffix),
        let body = UInt64(name.dropFirst().prefix(16), radix: 16)
      else { continue }
      found.append(body)
    }
    return found
  }

  /// A body's bytes, from whatever file is open for it then.
  private final class Reader: BodyReader, @unchecked Sendable {
    private let bodies: FileBodies
    private let body: UInt64
    let byteCount: Int

    init(_ bodies: FileBodies, _ body: UInt64, _ byteCount: Int) {
      (self.bodies, self.body, self.byteCount) = (bodies, body, byteCount)
    }

    func read(at offset: Int, count: Int) -> [UInt8]? {
      bodies.file(body, makes: false).flatMap { FileReader.read($0, at: offset, count: count) }
    }

    func digest() -> [UInt8]? {
      guard let file = bodies.file(body, makes: false), var hash = bodies.files[body]?.hash else { return nil }
      defer { bodies.files[body]?.hash = hash }
      return hash.finish(file, byteCount)
    }
  }
}

/// Reads a file from where it is asked to.
public final class FileReader: BodyReader, @unchecked Sendable {
  // A core uses it on its own thread alone.
  private let file: Int32
  private var hash = FileHash()
  /// Its bytes when it was opened.
  public let byteCount: Int
  /// When it had last been modified then: nanoseconds since 1970.
  public let modified: Int64
  /// Its path, which means the same in every working folder.
  public let path: String

  /// Opens a regular file.
  public init(_ path: String) throws(StoreError) {
    file = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw StoreError(path) }
    var facts = stat()
    guard fstat(file, &facts) == 0 else {
      close(file)
      throw StoreError(path)
    }
    guard facts.st_mode & S_IFMT == S_IFREG else {
      close(file)
      throw StoreError(path, "not a regular file")
    }
    byteCount = Int(facts.st_size)
    modified = Int64(facts.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(facts.st_mtim.tv_nsec)
    let real = realpath(path, nil)
    self.path = real.map { String(cString: $0) } ?? path
    free(real)
  }

  deinit { close(file) }

  /// Opens the file of a message that an earlier process has sent; `nil` where it is not as it was then.
  public static func reopen(_ stored: StoredFile) -> FileReader? {
    guard let reader = try? FileReader(stored.path), reader.modified == stored.modified else { return nil }
    return reader
  }

  /// What a client's store keeps of it.
  public var stored: StoredFile { StoredFile(path: path, byteCount: byteCount, modified: modified) }

  /// See `BodyReader`.
  public func read(at offset: Int, count: Int) -> [UInt8]? {
    guard let bytes = Self.read(file, at: offset, count: count) else { return nil }
    hash.add(bytes.span.bytes, at: offset)
    // What another process had sent is read beside what this one sends.
    hash.goOn(file, to: offset)
    return bytes
  }

  /// See `BodyReader`.
  public func digest() -> [UInt8]? { hash.finish(file, byteCount) }

  static func read(_ file: Int32, at offset: Int, count: Int) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      while done < count {
        let part = pread(file, buffer.baseAddress?.advanced(by: done), count - done, off_t(offset + done))
        if part < 0, errno == EINTR { continue }
        guard part > 0 else { return }
        done += part
      }
    }
    return bytes.count == count ? bytes : nil
  }
}

/// The SHA-256 of a file, from its beginning as far as it has been seen.
private struct FileHash {
  private final class Context {
    let state = EVP_MD_CTX_new()
    var count = 0
    init() { EVP_DigestInit_ex(state, EVP_sha256(), nil) }
    deinit { EVP_MD_CTX_free(state) }
  }

  private var context: Context?
  private var digest: [UInt8]?
  private static var step: Int { 1 << 20 }

  /// Bytes have been read or written; those that follow what has been seen are taken in.
  mutating func add(_ bytes: RawSpan, at offset: Int) {
    guard digest == nil else { return }
    let context = context ?? Context()
    self.context = context
    guard offset == context.count else { return }
    bytes.withUnsafeBytes { bytes in _ = EVP_DigestUpdate(context.state, bytes.baseAddress, bytes.count) }
    context.count += bytes.byteCount
  }

  /// Takes in what comes next in the file, a step of it.
  mutating func goOn(_ file: Int32, to end: Int) {
    guard let context, context.count < end,
      let bytes = FileReader.read(file, at: context.count, count: min(Self.step, end - context.count))
    else { return }
    add(bytes.span.bytes, at: context.count)
  }

  /// The hash of `byteCount` bytes; `nil` when they cannot be read.
  mutating func finish(_ file: Int32, _ byteCount: Int) -> [UInt8]? {
    if let digest { return digest }
    let context = context ?? Context()
    self.context = context
    while context.count < byteCount {
      let before = context.count
      goOn(file, to: byteCount)
      guard context.count > before else { return nil }
    }
    guard context.count == byteCount else { return nil }
    var result = [UInt8](repeating: 0, count: 32)
    guard EVP_DigestFinal_ex(context.state, &result, nil) == 1 else { return nil }
    digest = result
    self.context = nil
    return result
  }
}
