import CSandbox
import Glibc
import IMCapture

/// The process that opens further `-w` files where the user that root becomes may make none.
///
/// It is started before the interface is opened and tables are made, so that it shares no memory with them, and told its
/// folder when the first file is there. It ends with this object, and with the process.
final class FileOpener {
  private let socket: Int32
  private let process: Int32
  private var isOver = false

  /// Starts one that becomes `user`; nil where that cannot be.
  init?(for user: Confinement.User, isSandboxed: Bool) {
    var process: Int32 = 0
    socket = imdump_opener_start(user.uid, user.gid, isSandboxed ? 1 : 0, &process)
    self.process = process
    if socket < 0 {
      isOver = true
      return nil
    }
  }

  deinit { end() }

  /// Ends the process, and waits until it is gone.
  func end() {
    if !isOver { imdump_opener_end(socket, process) }
    isOver = true
  }

  /// Tells it where files are and what their names are, once. Returns whether it will open them; if not, its user may make
  /// the files without it, or nothing helps.
  func begin(folder: Int32, names: FileNames) -> Bool {
    imdump_opener_begin(
      socket, folder, names.template, names.isTimed ? 1 : 0, Int32(names.digits), Int64(names.count)) == 1
  }

  /// Opens the file with this number and time, a new one or that which has its name.  A descriptor, or the error's number,
  /// negative. Waits 2 s at most.
  func open(_ number: Int, at second: Int64, replaces: Bool) -> Int32 {
    imdump_opener_open(socket, replaces ? 1 : 0, Int64(number), second)
  }

  /// What the filter of system calls has to leave.
  var descriptor: Int32 { socket }
}
