import Glibc
package import IMDescriptors
package import IMOutput
package import IMSystem

/// A file of metrics that is always whole: each text is written beside it, and then takes its name.
///
/// Made for the textfile collector of Prometheus' node exporter, which reads all `*.prom` in a folder whenever it likes.
package final class MetricsFile {
  private let file: AtomicFile
  /// The open folder.
  package var folder: Int32 { file.folder }
  /// The names of files that are made in the folder, as a pattern of fnmatch(3).
  package var pattern: String { file.pattern }
  /// Why the last text could not be written; nil where it could.
  package private(set) var error: OutputError?

  /// The file at `path`, in a folder that is there.
  package init(path: String) throws(UsageError) {
    file = try AtomicFile(path: path, option: "--metrics-file", mode: 0o644)
  }

  deinit { close(file.folder) }

  /// Throws where this process may not make files in the folder.
  package func checkRights() throws(CaptureError) {
    try requireMayMakeFiles(in: folder, file.path, "cannot write metrics")
  }

  /// Puts `text` in the place of the file. What fails is told once and tried again the next time.
  package func write(_ text: borrowing MetricText) {
    let before = error
    let number = text.out.withBytes { bytes in file.replace { $0.write(bytes) } }
    error = number.map { OutputError(name: file.path, errno: $0) }
    if let error, error != before { logError("--metrics-file: \(error.description)") }
  }
}
