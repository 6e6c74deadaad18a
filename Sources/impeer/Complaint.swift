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
func logError(_ message: String) {
  say("impeer: \(message)\n", to: 2)
}

/// Writes `text` to a descriptor, as far as it takes it.
func say(_ text: String, to file: Int32 = 1) {
  var text = text
  text.withUTF8 { bytes in
    var written = 0
    while written < bytes.count {
      let count = write(file, bytes.baseAddress.map { $0 + written }, bytes.count - written)
      if count < 0, errno != EINTR { return }
      written += max(0, count)
    }
  }
}
