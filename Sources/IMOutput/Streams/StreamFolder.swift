import Glibc
package import IMEngine

/// A folder into which the bytes of streams are written, two files each: `<id>.c2s.bin` and `<id>.s2c.bin`.
///
/// A file holds the captured ranges of one direction one after the other; a direction of which nothing was captured gets
/// none. Names are made of the stream's number, never of captured bytes. A file is created beside the open folder and
/// must not exist: nothing is overwritten, and no link is followed.
package struct StreamFolder: ~Copyable {
  /// Why a folder or file could not be made or written.
  package struct Failure: Error, Equatable, CustomStringConvertible {
    /// What was to be done.
    package let action: String
    /// The folder or file.
    package let path: String
    /// The system's number for the reason.
    package let code: Int32

    /// A failure of its parts.
    package init(action: String, path: String, code: Int32) {
      self.action = action
      self.path = path
      self.code = code
    }

    /// One line: what was done, to what, and why it failed.
    package var description: String { "\(action) \(path): \(String(cString: strerror(code)))" }
  }

  private let path: String
  /// The open folder.
  package let descriptor: Int32
  /// Makes a file in it that is not there yet. Gives its descriptor, or the error's number, negative.
  private let make: (Int32, String) -> Int32

  /// Opens the folder at `path`, and makes it (but not its parents) when it does not exist.
  ///
  /// `open` opens the folder, and `make` a file in it; both give a descriptor or the error's number, negative.
  package init(
    path: String,
    open: (String) -> Int32 = { path in
      let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      return descriptor >= 0 ? descriptor : -errno
    },
    make: @escaping (Int32, String) -> Int32 = { folder, name in
      let file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
      return file >= 0 ? file : -errno
    }
  ) throws(Failure) {
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw Failure(action: "create", path: path, code: errno) }
    let descriptor = open(path)
    guard descriptor >= 0 else { throw Failure(action: "open", path: path, code: -descriptor) }
    self.path = path
    self.make = make
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Writes the bytes of both directions, and answers how many.
  ///
  /// A direction of which a limit took content away holds less than its ranges say; `CollectedStream.isComplete` tells.
  @discardableResult
  package borrowing func write(_ stream: CollectedStream) throws(Failure) -> Int {
    var written = 0
    for (direction, side) in zip(stream.directions, StreamName.sides) where !direction.content.isEmpty {
      written += try write(direction.content, name: "\(stream.id).\(side).bin")
    }
    return written
  }

  private borrowing func write(_ content: [StreamContent], name: String) throws(Failure) -> Int {
    let file = make(descriptor, name)
    guard file >= 0 else { throw Failure(action: "create", path: "\(path)/\(name)", code: -file) }
    var isOpen = true
    defer { if isOpen { close(file) } }
    var written = 0
    for piece in content {
      var done = 0
      while done < piece.count {
        let count = piece.withUnsafeBytes { bytes in
          Glibc.write(file, bytes.baseAddress.map { $0 + done }, bytes.count - done)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw failure("write", name) }
        done += count
      }
      written += done
    }
    isOpen = false
    // A full disk may only be noticed here.
    guard close(file) == 0 else { throw failure("write", name) }
    return written
  }

  private borrowing func failure(_ action: String, _ name: String) -> Failure {
    Failure(action: action, path: "\(path)/\(name)", code: errno)
  }
}
