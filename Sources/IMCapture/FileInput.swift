import Glibc
import IMDescriptors

/// A file, pipe or standard input, read step by step with read(2).
struct FileInput: ~Copyable {
  /// How much one call asks for: 64 KiB stay in the processor's cache between the read and the walk.
  static var step: Int { 65_536 }

  /// The name for messages.
  let path: String
  /// Negative between reads of a file that is opened for each.
  private var descriptor: Int32
  private let opener: CaptureOpener
  private let isOwned: Bool
  /// Whether it is a regular file.
  let isRegular: Bool
  /// Which file it is, so that no other one is read on.
  private let device: dev_t, inode: ino_t
  private var isOpenedForReads = false
  private let stop: ShutdownSignal
  private let step: Int
  /// Bytes read so far.
  private(set) var position: UInt64 = 0

  /// Opens `path` by `opener`, `-` for standard input. A read asks for `step` bytes at most.
  init(
    path: String, stop: ShutdownSignal, step: Int = Self.step, opener: CaptureOpener = .system
  ) throws(CaptureError) {
    let descriptor = path == "-" ? STDIN_FILENO : opener.open(path)
    guard descriptor >= 0 else { throw .system(path, "open", -descriptor) }
    var status = stat()
    let isKnown = fstat(descriptor, &status) == 0
    if isKnown, status.st_mode & S_IFMT == S_IFDIR {
      if path != "-" { close(descriptor) }
      throw CaptureError(.notACapture, path, "is a directory, not a capture", errno: EISDIR)
    }
    self.path = path
    self.descriptor = descriptor
    self.opener = opener
    (device, inode) = (status.st_dev, status.st_ino)
    self.stop = stop
    self.step = max(1, step)
    isOwned = path != "-"
    isRegular = isKnown && status.st_mode & S_IFMT == S_IFREG
    if isRegular { posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }
  }

  deinit {
    if isOwned, descriptor >= 0 { close(descriptor) }
  }

  /// Has a regular file opened for each read from now on, and closed after it: for one of more files than may be open at a time.
  mutating func closesBetweenReads() {
    guard isRegular, isOwned, !isOpenedForReads else { return }
    isOpenedForReads = true
    close(descriptor)
    descriptor = -1
  }

  /// Opens the file again, where it was closed after the last read.
  private mutating func reopen() throws(CaptureError) {
    let descriptor = opener.open(path)
    guard descriptor >= 0 else { throw .system(path, "open", -descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_dev == device, status.st_ino == inode else {
      close(descriptor)
      throw CaptureError(.ioError, path, "is not the file that it was when it was first opened")
    }
    self.descriptor = descriptor
  }

  /// Reads what is there into `target`, at most `step` bytes.  Returns 0 at the end, or when a stop was asked for while
  /// a pipe had nothing to give.
  mutating func read(into target: UnsafeMutableRawBufferPointer) throws(CaptureError) -> Int {
    if isOpenedForReads { try reopen() }
    defer {
      if isOpenedForReads {
        close(descriptor)
        descriptor = -1
      }
    }
    while true {
      guard isRegular || waitForBytes() else { return 0 }
      // By its own offset: several readers may share a descriptor's.
      let count =
        isRegular && isOwned
        ? pread(descriptor, target.baseAddress, min(target.count, step), off_t(clamping: position))
        : Glibc.read(descriptor, target.baseAddress, min(target.count, step))
      if count >= 0 {
        position &+= UInt64(count)
        return count
      }
      let number = Glibc.errno
      if number != EINTR && number != EAGAIN { throw .system(path, "read", number) }
    }
  }

  /// Waits until the pipe has bytes or ended; false when a stop was asked for.  A signal need not interrupt read(2), so
  /// the wait looks at the switch ten times a second.
  private func waitForBytes() -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while !stop.isStopped {
      if poll(&request, 1, 100) > 0 { return true }
    }
    return false
  }
}
