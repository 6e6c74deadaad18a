import Glibc
import IMEndpoint

/// A file of a server's metrics in Prometheus' text format, which is always whole: each text takes the place of the last.
final class MetricsText {
  private let path: String
  private var writtenAt = Int64.min
  private(set) var problem: String?
  /// Nanoseconds between two texts.
  private static var interval: Int64 { 15_000_000_000 }

  init(_ path: String) { self.path = path }

  /// Writes the file, if its time has come.
  func advance(to now: Int64, _ snapshot: () -> ServerSnapshot, _ metrics: () -> EndpointMetrics) {
    guard writtenAt == .min || now - writtenAt >= Self.interval else { return }
    writtenAt = now
    write(snapshot(), metrics())
  }

  /// Writes the file now.
  func write(_ snapshot: ServerSnapshot, _ metrics: EndpointMetrics) {
    let other = path + ".tmp"
    // Nothing that stands there is written through.
    unlink(other)
    let file = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard file >= 0 else { return note() }
    let isWritten = Self.write(Self.text(snapshot, metrics), to: file)
    if !isWritten { note() }
    guard close(file) == 0, isWritten, rename(other, path) == 0 else {
      if isWritten { note() }
      unlink(other)
      return
    }
    problem = nil
  }

  /// What could not be done is told once.
  private func note() {
    let reason = "\(path): \(String(cString: strerror(errno)))"
    if problem != reason { logError("--metrics \(reason)") }
    problem = reason
  }

  private static func write(_ text: String, to file: Int32) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      var written = 0
      while written < bytes.count {
        let count = Glibc.write(file, bytes.baseAddress.map { $0 + written }, bytes.count - written)
        if count < 0, errno != EINTR { return false }
        written += max(0, count)
      }
      return true
    }
  }

  /// What the server holds, and what it has counted by the names of `EndpointMetrics`.
  static func text(_ snapshot: ServerSnapshot, _ metrics: EndpointMetrics) -> String {
    var text = ""
    for figure in snapshot.figures {
      let name = "impeer_\(figure.name)"
      text += "# HELP \(name) \(figure.about).\n# TYPE \(name) \(figure.isTotal ? "counter" : "gauge")\n"
      text += "\(name) \(figure.value)\n"
    }
    for (name, value) in metrics.values {
      let whole = value.rounded() == value && abs(value) < 1e15
      text += "# TYPE impeer_\(name) untyped\nimpeer_\(name) \(whole ? "\(Int(value))" : "\(value)")\n"
    }
    return text
  }
}
