import CSandbox
import Glibc
import IMDescriptors

/// The process that opens further files where the user that root becomes may make none.
///
/// It is started before the interface is opened and tables are made, so that it shares no memory with them, and told its
/// folder when the first file is there. It ends with this object, and with the process.
package final class OutputBroker {
  /// What is asked of it.
  package enum Action {
    /// To open a file; to make a new one in the place of what has the name; to take one away.
    case open, replace, remove

    fileprivate var number: Int32 {
      switch self {
      case .open: Int32(IMDUMP_OPEN)
      case .replace: Int32(IMDUMP_REPLACE)
      case .remove: Int32(IMDUMP_REMOVE)
      }
    }
  }

  private let socket: Int32
  private let process: Int32
  private var isOver = false

  /// Starts one that becomes `user`, for the files of the option `option`; nil where that cannot be.
  init?(for user: Sandbox.User, isSandboxed: Bool, option: String) {
    var process: Int32 = 0
    let title = "imdump: opens the files of \(option)"
    socket = imdump_opener_start(user.uid, user.gid, isSandboxed ? 1 : 0, title, &process)
    self.process = process
    if socket < 0 {
      isOver = true
      return nil
    }
  }

  deinit { end() }

  /// Ends the process, and waits until it is gone.
  package func end() {
    if !isOver { imdump_opener_end(socket, process) }
    isOver = true
  }

  /// Tells it where files are and what their names are, once: one of `formats`, a number below `count`, and `suffix`. Returns
  /// whether it will open them; if not, its user may make the files without it, or nothing helps.
  package func begin(
    folder: Int32, formats: [String], suffix: String = "", isTimed: Bool = false, digits: Int, count: Int
  ) -> Bool {
    imdump_opener_begin(
      socket, folder, formats.joined(separator: "/"), suffix, isTimed ? 1 : 0, Int32(digits), Int64(count)) == 1
  }

  /// Opens or removes the file with this number and time, and the format of this index.  A descriptor, 0 for one that is gone,
  /// or the error's number, negative. Waits 2 s at most.
  package func ask(_ action: Action, format: Int = 0, _ number: Int, at second: Int64) -> Int32 {
    imdump_opener_ask(socket, action.number, Int32(format), Int64(number), second)
  }

  /// What the filter of system calls has to leave.
  var descriptor: Int32 { socket }
}

/// Why a file could not be opened, in words.
package func openingError(_ number: Int32, isAsked: Bool) -> String {
  switch number {
  case ELOOP: "is not a regular file"
  case ECHILD: "the process that opens files has ended"
  case ETIMEDOUT where isAsked: "the process that opens files does not answer"
  default: systemText(number)
  }
}
