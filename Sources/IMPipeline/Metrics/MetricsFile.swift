import CSandbox
import Glibc
import IMCapture
import IMOutput

/// A file of metrics that is always whole: each text is written beside it, and then takes its name.
///
/// Made for the textfile collector of Prometheus' node exporter, which reads all `*.prom` in a folder whenever it likes.
final class MetricsFile {
  /// The open folder.
  let folder: Int32
  private let path: String
  private let name: String
  private var temporary: String { ".\(name).tmp" }
  /// The two names of files that are made in the folder, as a pattern of fnmatch(3).
  var pattern: String {
    func quoted(_ name: String) -> String { String(name.flatMap { "*?[@!+()|".contains($0) ? "[\($0)]" : "\($0)" }) }
    return "@(\(quoted(name))|\(quoted(temporary)))"
  }
  /// Why the last text could not be written; nil where it could.
  private(set) var error: OutputError?

  /// The file at `path`, in a folder that is there.
  init(path: String) throws(UsageError) {
    try requireReplaceable(path, option: "--metrics-file")
    let slash = path.lastIndex(of: "/")
    let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    guard !name.isEmpty, name != ".", name != ".." else {
      throw UsageError(message: "--metrics-file \(path): give the name of a file")
    }
    folder = imdump_open_folder(parent)
    guard folder >= 0 else { throw UsageError(message: "--metrics-file \(path): \(systemText(-folder))") }
    self.path = path
  }

  deinit { close(folder) }

  /// Throws where this process may not make files in the folder.
  func checkRights() throws(CaptureError) {
    let error = -imdump_may_make_files(folder)
    guard error != 0 else { return }
    throw CaptureError(
      .ioError, path,
      "metrics cannot be written: \(systemText(error)) for user \(geteuid()); give the folder to that user, or name another with -Z",
      errno: error)
  }

  /// Puts `text` in the place of the file. What fails is told once and tried again the next time.
  func write(_ text: borrowing MetricText) {
    let before = error
    error = replace(text).map { OutputError(name: path, errno: $0) }
    if let error, error != before { logError("--metrics-file: \(error.description)") }
  }

  /// The number of the error, if there is one.
  private func replace(_ text: borrowing MetricText) -> Int32? {
    // Whatever has that name is not written through.
    _ = imdump_unlink_at(folder, temporary)
    let descriptor = imdump_open_at(folder, temporary, O_WRONLY | O_CREAT | O_EXCL, 0o644)
    guard descriptor >= 0 else { return -descriptor }
    let output = Output(descriptor: descriptor, name: path)
    text.out.withBytes { output.write($0) }
    var number = output.error?.errno
    if close(descriptor) != 0, number == nil { number = errno }
    if number == nil {
      let error = imdump_rename_at(folder, temporary, name)
      if error < 0 { number = -error }
    }
    if number != nil { _ = imdump_unlink_at(folder, temporary) }
    return number
  }
}

/// Throws where something else than a file has the name `path`: each text takes the name, and a link, a device or a pipe that had it would
/// be gone. `option` is the option that named it.
package func requireReplaceable(_ path: String, option: String) throws(UsageError) {
  var status = stat()
  guard lstat(path, &status) == 0 else { return }
  let kind: String
  switch status.st_mode & S_IFMT {
  case S_IFREG: return
  case S_IFLNK: kind = "a link"
  case S_IFDIR: kind = "a folder"
  default: kind = "no regular file"
  }
  throw UsageError(
    message:
      "\(option) \(path): is \(kind); each text takes the place of the last, so give the name of a file of its own")
}
