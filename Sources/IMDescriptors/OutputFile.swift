import CSandbox
import Glibc

/// Files that are written, whatever is in them.
package enum OutputFile {
  /// Opens the file at `path` for appending, makes it where there is none, and empties it if it is a regular one. A pipe without a reader
  /// is waited for.
  ///
  /// Links are followed where no other user may have made them: not in a folder that another user may write to, nor one on the way. There
  /// a file is written only if it is the caller's or its folder's owner's, and has no other name.
  ///
  /// With `keeps` nothing is emptied.
  package static func open(_ path: String, mode: UInt32 = 0o640, keeps: Bool = false) throws(CaptureError) -> Int32 {
    var refusal = imdump_output_refusal()
    let descriptor = imdump_open_output(
      path, mode, keeps ? 1 : 0, { ShutdownSignal.ofProcess.isStopped ? 1 : 0 }, &refusal)
    guard descriptor < 0 else { return descriptor }
    switch Int(refusal.reason) {
    case IMDUMP_OUTPUT_LINK:
      throw CaptureError(
        .ioError, path,
        "a link of user \(refusal.uid) in a folder that others may write to is not followed; name another",
        errno: -descriptor)
    case IMDUMP_OUTPUT_OWNER:
      throw CaptureError(
        .ioError, path, "is a file of user \(refusal.uid) in a folder that others may write to; name another",
        errno: -descriptor)
    case IMDUMP_OUTPUT_NAMES:
      throw CaptureError(
        .ioError, path, "has another hard link, and others may write to its folder; name another",
        errno: -descriptor)
    default:
      if -descriptor == EINTR { throw CaptureError(.ioError, path, "open: no process reads from it", errno: EINTR) }
      throw .system(path, "open", -descriptor)
    }
  }
}

/// Waits until a pipe that was full takes more; false where it has taken nothing for half a second since the process was asked to end.
package func waitForReader(of descriptor: Int32) -> Bool {
  var idle = 0
  while idle < 5 {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    if poll(&request, 1, 100) > 0 { return true }
    idle = ShutdownSignal.ofProcess.isStopped ? idle + 1 : 0
  }
  return false
}
