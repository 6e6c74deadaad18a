import Glibc

/// A file, pipe or standard input, read step by step with read(2).
struct FileInput: ~Copyable {
  /// How much one call asks for: 64 KiB stay in the processor's cache between the read and the walk.
  static var step: Int { 65_536 }

  /// The name for messages.
  let path: String
  private let descriptor: Int32
  private let isOwned: Bool
  private let isRegular: Bool
  private let stop: StopSwitch
  private let step: Int
  /// Bytes read so far.
  private(set) var position: UInt64 = 0

  /// Opens `path`, `-` for standard input. A read asks for `step` bytes at most.
  init(path: String, stop: StopSwitch, step: Int = Self.step) throws(CaptureError) {
    let descriptor = path == "-" ? STDIN_FILENO : InputFile.open(path)
    guard descriptor >= 0 else { throw .system(path, "open", -descriptor) }
    var status = stat()
    let isKnown = fstat(descriptor, &status) == 0
    if isKnown, status.st_mode & S_IFMT == S_IFDIR {
      if path != "-" { close(descriptor) }
      throw CaptureError(.notACapture, path, "is a directory, not a capture", errno: EISDIR)
    }
    self.path = path
    self.descriptor = descriptor
    self.stop = stop
    self.step = max(1, step)
    isOwned = path != "-"
    isRegular = isKnown && status.st_mode & S_IFMT == S_IFREG
    if isRegular { posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  /// Reads what is there into `target`, at most `step` bytes.  Returns 0 at the end, or when a stop was asked for while
  /// a pipe had nothing to give.
  mutating func read(into target: UnsafeMutableRawBufferPointer) throws(CaptureError) -> Int {
    while true {
      guard isRegular || waitForBytes() else { return 0 }
      // By its own offset: somebody else may read by the same descriptor.
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
