/// The outcome of a run, as the process's exit status (`man imdump`, EXIT STATUS).
package enum ExitStatus: Int32, Sendable {
  case success = 0
  /// A runtime error, or a damaged or truncated capture; everything before it was processed.
  case failure = 1
  /// An alert fired, or the fields of documents have changed incompatibly.
  case fired = 2
  /// The command line, a filter, or a profile is wrong.
  case usage = 64
  /// The capture or the interface does not exist.
  case noInput = 66
  /// Output could not be written.
  case ioError = 74
  /// This user may not capture.
  case noPermission = 77
  /// SIGINT or SIGTERM came before the end of a file; everything read before it was processed.
  case interrupted = 130
}

extension ExitStatus: Comparable {
  /// The more severe status is the greater one.
  package static func < (a: ExitStatus, b: ExitStatus) -> Bool { a.rawValue < b.rawValue }
}
