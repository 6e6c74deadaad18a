import CSandbox
import Glibc
import IMCapture

/// What a run gives up once its inputs and outputs are open, before it reads the first packet.
///
/// A packet is made by somebody else, and the code that reads it is the code that can be fooled. Behind `enter` that code
/// has no rights of root, writes in the folders of its own output files only, and may make no system call that it does not
/// need. In a process of one thread only: see `CSandbox`.
struct Confinement {
  /// The user that root becomes.
  struct User: Equatable {
    /// The name, for messages.
    var name: String
    /// The numbers of user and group.
    var uid: uid_t, gid: gid_t

    /// The user named `name`, if there is one.
    init?(named name: String) {
      guard let entry = getpwnam(name) else { return nil }
      self.init(name: name, uid: entry.pointee.pw_uid, gid: entry.pointee.pw_gid)
    }

    init(name: String, uid: uid_t, gid: gid_t) {
      self.name = name
      self.uid = uid
      self.gid = gid
    }
  }

  /// Who the process shall be; nil where it stays who it is.
  let user: User?
  private var isSandboxed: Bool
  private let isVerbose: Bool
  private var givesUpNothing: Bool

  /// Of a process that keeps what it has.
  static var none: Confinement { Confinement() }

  /// Of a command that reads a file and prints, as whoever has started it.
  static var ofReader: Confinement {
    var reader = Confinement()
    (reader.isSandboxed, reader.givesUpNothing) = (true, false)
    return reader
  }

  private init() {
    user = nil
    isSandboxed = false
    isVerbose = false
    givesUpNothing = true
  }

  /// Chooses the user.
  ///
  /// `-Z` names it; a live capture that root has started becomes `tcpdump` or else `nobody`, as Debian's tcpdump does. Who
  /// is not root stays who he is, whatever `-Z` says.
  init(_ options: ConfinementOptions, isLive: Bool) throws(UsageError) {
    givesUpNothing = false
    isSandboxed = options.isSandboxed
    isVerbose = options.isVerbose
    guard geteuid() == 0 else {
      user = nil
      return
    }
    if let name = options.user {
      guard let named = User(named: name) else { throw UsageError(message: "-Z: there is no user '\(name)'") }
      user = named.uid == 0 ? nil : named
    } else {
      user = isLive ? User(named: "tcpdump") ?? User(named: "nobody") : nil
    }
  }

  /// Starts the process that opens further files of `option` where the new user may not; nil where nobody becomes another
  /// user.
  func makeOpener(_ option: String) -> FileOpener? {
    guard let user else { return nil }
    return FileOpener(for: user, isSandboxed: isSandboxed, option: option)
  }

  /// Starts the process that looks names of addresses up, since this one may not.
  func makeResolver() throws(CaptureError) -> NameResolver {
    let socket = imdump_resolver_start(user == nil ? 0 : 1, user?.uid ?? 0, user?.gid ?? 0, isSandboxed ? 1 : 0)
    guard socket >= 0 else {
      throw CaptureError(.ioError, "-N", "start a process: \(systemText(-socket))", errno: -socket)
    }
    return NameResolver(socket: socket)
  }

  /// Gives it all up. `folders` are descriptors of those in which files will still be made, unless `openers` make them;
  /// `listener` is the socket on which connections will be taken; `keepsDatabase` says that SQLite writes; `isInteractive` that the
  /// terminal is switched to raw mode and back.
  ///
  /// Throws when the rights of root or a capability stay. Where the kernel lacks Landlock or system call filters, goes on,
  /// and says so under `-v`.
  func enter(
    folders: [Int32], mayWrite: Bool, openers: [FileOpener] = [], listener: Int32? = nil, keepsDatabase: Bool = false,
    isInteractive: Bool = false
  ) throws(CaptureError) {
    if givesUpNothing { return }
    // What the time in a file's name needs to know of zones is read while all can be.
    tzset()
    if let user {
      try check("become user \(user.name) (-Z root would stay root)", imdump_become(user.uid, user.gid))
    }
    // Root that stays root keeps what opens its files.
    if geteuid() != 0 { try check("give up capabilities", imdump_drop_capabilities()) }
    try check("set no_new_privs", imdump_no_new_privileges())
    guard isSandboxed else { return }
    let landlock = folders.withUnsafeBufferPointer { imdump_restrict_writing($0.baseAddress, Int32($0.count)) }
    if landlock < 0 { note("no Landlock here, so files can be written elsewhere", -landlock) }
    let filter = openers.map(\.descriptor).withUnsafeBufferPointer {
      imdump_filter_system_calls(
        mayWrite ? 1 : 0, $0.baseAddress, Int32($0.count), listener ?? -1, keepsDatabase ? 1 : 0,
        isInteractive ? 1 : 0)
    }
    if filter < 0 { note("no filter of system calls here", -filter) }
  }

  private func check(_ action: String, _ result: Int32) throws(CaptureError) {
    if result < 0 {
      throw CaptureError(.captureFailed, "giving up rights", "\(action): \(systemText(-result))", errno: -result)
    }
  }

  private func note(_ text: String, _ number: Int32) {
    if isVerbose { complain("\(text): \(systemText(number))") }
  }
}

/// Why a command that somebody runs with the rights of its file's owner does nothing; nil for one that is run as it should.
///
/// Which files it reads and writes is the caller's choice, so it must do that with the caller's rights.
package func borrowedRights() -> String? {
  guard getuid() != geteuid() || getgid() != getegid() else { return nil }
  return "setuid and setgid are not for imdump: it would open its caller's files with rights that are not his; "
    + "take the bit away, and give the command what capturing needs: setcap cap_net_raw+ep"
}

/// From now on a fault in imdump itself prints one line before it ends the process, and nothing of what memory holds.
package func tellCrashes() {
  imdump_tell_crashes(imdumpVersion)
}

/// Keeps the numbers 0, 1 and 2 for standard input, output and error where the caller has closed them: else the first file
/// or socket that is opened becomes one of them, and lines end up in it.
///
/// What is put there refuses what is asked of it, so that lost output is an error, as it was.
package func keepStandardDescriptors() {
  for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
    // The lowest free number is this one.
    _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
  }
}
