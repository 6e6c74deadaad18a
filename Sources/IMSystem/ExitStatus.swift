/// How a run ends, as the process's exit status (`man imdump`, EXIT STATUS).
package enum ExitStatus: Int32, Sendable {
  case success = 0
  /// A runtime error, or a damaged or cut capture; everything before it was processed.
  case failure = 1
  /// An alert fired, or the fields of documents have changed in a way that breaks what is there.
  case fired = 2
  /// The command line, a filter, or a profile is wrong.
  case usage = 64
  /// The capture or the interface is not there.
  case noInput = 66
  /// Output could not be written.
  case ioError = 74
  /// This user may not capture.
  case noPermission = 77
  /// SIGINT or SIGTERM came before the end of a file; what was read until then was processed.
  case interrupted = 130
}

extension ExitStatus: Comparable {
  /// The graver status is the greater.
  package static func < (a: ExitStatus, b: ExitStatus) -> Bool { a.rawValue < b.rawValue }
}
