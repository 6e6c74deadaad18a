import Glibc
import IMDescriptors
import IMExport
import IMSystem

/// The file that a report is written to.
struct ReportFile {
  private let path: String
  private let descriptor: Int32

  /// Opens the file at `path`, `-` for standard output, before privileges are dropped. `nil` if no input can be read, so that a mistyped name does
  /// not overwrite an existing report. Throws if it cannot be opened, or is one of `inputs` or `others`, which are read, too.
  init?(_ path: String, inputs: [String], others: [String]) throws(CaptureError) {
    self.path = path
    guard inputs.contains(where: Self.isReadable) else { return nil }
    guard path != "-" else {
      descriptor = STDOUT_FILENO
      return
    }
    try ExportFile.check(path, inputs + others)
    descriptor = try OutputFile.open(path)
  }

  /// Whether there is a file at `path` that may be read, and not a folder.
  private static func isReadable(_ path: String) -> Bool {
    var status = stat()
    return access(path, R_OK) == 0 && stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
  }

  /// Opens the file at `path`, `-` for standard output, for a page that is written when a capture ends.
  init(live path: String) throws(CaptureError) {
    self.path = path
    descriptor = path == "-" ? STDOUT_FILENO : try OutputFile.open(path)
  }

  /// Writes the whole of it, and closes the file.
  func write(_ page: [UInt8]) throws(CaptureError) {
    let output = Output(descriptor: descriptor, name: path == "-" ? "standard output" : path)
    page.withUnsafeBytes { output.write($0) }
    if let error = output.error {
      if error.isBrokenPipe { return }
      throw CaptureError(.ioError, error.name, systemText(error.errno), errno: error.errno)
    }
    guard path != "-", close(descriptor) != 0 else { return }
    throw CaptureError(.ioError, path, systemText(errno), errno: errno)
  }
}
