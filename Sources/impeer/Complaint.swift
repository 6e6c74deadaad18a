import Glibc

/// What a command could not do, and the status it ends with.
struct Complaint: Error {
  /// Exit statuses, as sysexits.h has them.
  enum Status: Int32 {
    /// The command line is wrong.
    case usage = 64
    /// Input is wrong.
    case data = 65
    /// A file cannot be read.
    case noInput = 66
    /// The server cannot be reached.
    case unavailable = 69
    /// The system refuses.
    case system = 71
    /// A file cannot be made.
    case cannotCreate = 73
  }

  var message: String
  var status: Status

  init(_ message: String, _ status: Status) {
    self.message = message
    self.status = status
  }
}

/// Writes one line to standard error, behind the command's name.
func complain(_ message: String) {
  fputs("impeer: \(message)\n", stderr)
}
