import Glibc

/// Why a capture could not be opened, read on, or written.
///
/// `description` is one line without a program name: `FILE: cut in a packet record at offset 1234: 16 bytes wanted, 7
/// available`.
package struct CaptureError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure, for exit codes.
  package enum Code: Sendable {
    /// No file of that name.
    case notFound
    /// The file or device may not be opened by this user.
    case noPermission
    /// A directory, or bytes that no reader here knows.
    case notACapture
    /// A file without a byte.
    case emptyFile
    /// A capture of a version, compression or link type that is not handled.
    case unsupported
    /// The capture ends inside a record; everything before it was handed out.
    case truncated
    /// A record contradicts itself; everything before it was handed out.
    case damaged
    /// Reading or writing failed in the system.
    case ioError
    /// The filter expression does not compile.
    case badFilter
    /// No interface of that name, or it is not up.
    case noDevice
    /// The interface disappeared during the capture; everything before was handed out.
    case deviceGone
    /// The capture library failed in another way.
    case captureFailed
  }

  /// The kind of failure.
  package var code: Code
  /// The file as it was named (`-` is standard input or output), or `capture on` and the device.
  package var subject: String
  /// What happened, in words, with offset and lengths where they are known.
  package var message: String
  /// Where in the capture (in its unpacked bytes, unless the message speaks of gzip data), from 0.
  package var offset: UInt64?
  /// Bytes from `offset` that the broken element needs.
  package var wanted: UInt64?
  /// Bytes from `offset` that were there.
  package var available: UInt64?
  /// The system's error number, where one was given.
  package var errno: Int32?

  /// An error of its parts.
  package init(
    _ code: Code, _ subject: String, _ message: String, offset: UInt64? = nil, wanted: UInt64? = nil,
    available: UInt64? = nil, errno: Int32? = nil
  ) {
    self.code = code
    self.subject = subject
    self.message = message
    self.offset = offset
    self.wanted = wanted
    self.available = available
    self.errno = errno
  }

  /// Whether the reader of what was written has gone away, which is its own decision and no error.
  package var isBrokenPipe: Bool { errno == EPIPE }

  /// What went wrong, with the name of the source in front.
  package var description: String { "\(subject): \(message)" }

  /// The system refused `action` on `subject` with `number`.
  package static func system(_ subject: String, _ action: String, _ number: Int32) -> CaptureError {
    let code: Code =
      switch number {
      case ENOENT, ENOTDIR: .notFound
      case EACCES, EPERM: .noPermission
      case EISDIR: .notACapture
      default: .ioError
      }
    return CaptureError(code, subject, "\(action): \(systemText(number))", errno: number)
  }
}
