import CSandbox
package import Glibc
package import IMDescriptors

/// What a run gives up once its inputs and outputs are open, before it reads the first packet.
///
/// A packet is made by somebody else, and the code that reads it is the code that can be fooled. Behind `enter` that code
/// has no rights of root, writes in the folders of its own output files only, and may make no system call that it does not
/// need. In a process of one thread only: see `CSandbox`.
package struct Sandbox {
  /// The user that root becomes.
  package struct User: Equatable {
    /// The name, for messages.
    package var name: String
    /// The numbers of user and group.
    package var uid: uid_t, gid: gid_t

    /// The user named `name`, if there is one.
    init?(named name: String) {
      guard let entry = getpwnam(name) else { return nil }
      self.init(name: name, uid: entry.pointee.pw_uid, gid: entry.pointee.pw_gid)
    }

    /// Root.
    static var root: User { User(name: "root", uid: 0, gid: 0) }

    init(name: String, uid: uid_t, gid: gid_t) {
      self.name = name
      self.uid = uid
      self.gid = gid
    }

    /// Makes the user the owner of an open folder that this process has made.
    package func own(folder: Int32) { _ = imdump_own_folder(folder, uid, gid) }

    /// The same of a folder at a path. A link or a file that has taken its place meanwhile keeps its owner.
    package func own(folder path: String) {
      let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard folder >= 0 else { return }
      _ = fchown(folder, uid, gid)
      close(folder)
    }
  }

  /// Who the process shall be; nil where it stays who it is.
  package let user: User?
  /// Whether what is written stays the caller's all the same: where files are read, and `-Z` does not say otherwise. Files are then held
  /// open, or opened by a process that keeps the caller's rights.
  let keepsOwner: Bool
  /// Who gets what is written; nil for the caller.
  package var owner: User? { keepsOwner ? nil : user }
  private var isSandboxed: Bool
  private let isVerbose: Bool
  private var givesUpNothing: Bool

  /// Of a process that keeps what it has.
  package static var none: Sandbox { Sandbox() }

  /// Of a command that reads files and prints; root becomes another user for that.
  package static var ofReader: Sandbox { Sandbox(reader: usualUser) }

  /// The user that root becomes where none is named: that of Debian's tcpdump, or else `nobody`. nil where it cannot, as in some
  /// containers.
  private static var usualUser: User? {
    guard geteuid() == 0, let user = User(named: "tcpdump") ?? User(named: "nobody") else { return nil }
    return user
  }

  private init(reader: User?) {
    user = reader.flatMap { imdump_can_become($0.uid, $0.gid) != 0 ? $0 : nil }
    keepsOwner = user != nil
    isSandboxed = true
    isVerbose = false
    givesUpNothing = false
  }

  private init() {
    user = nil
    keepsOwner = false
    isSandboxed = false
    isVerbose = false
    givesUpNothing = true
  }

  /// Chooses the user.
  ///
  /// `-Z` names it; else root becomes `tcpdump` or `nobody`, as Debian's tcpdump does: live in any case, to read files where it can and
  /// `isReader`, but not with `--no-sandbox`. Who is not root stays who he is, whatever `-Z` says.
  package init(_ options: SandboxOptions, isLive: Bool, isReader: Bool = true) throws(UsageError) {
    if isLive { continueAsCapturingCopy() }
    givesUpNothing = false
    isSandboxed = options.isSandboxed
    isVerbose = options.isVerbose
    guard geteuid() == 0 else {
      (user, keepsOwner) = (nil, false)
      return
    }
    if let name = options.user {
      guard let named = User(named: name) else { throw UsageError(message: "-Z: no such user: '\(name)'") }
      (user, keepsOwner) = (named.uid == 0 ? nil : named, false)
    } else if isLive {
      (user, keepsOwner) = (Self.usualUser, false)
    } else {
      user =
        isReader && options.isSandboxed
        ? Self.usualUser.flatMap { imdump_can_become($0.uid, $0.gid) != 0 ? $0 : nil } : nil
      keepsOwner = user != nil
    }
  }

  /// Starts the process that opens further files of `option` where the new user may not; nil where nobody becomes another
  /// user.
  package func makeOutputBroker(_ option: String) -> OutputBroker? {
    guard let user else { return nil }
    return OutputBroker(for: keepsOwner ? .root : user, isSandboxed: isSandboxed, option: option)
  }

  /// Starts the process that looks up the names of addresses, since this one may not. Returns the socket to it.
  package func startResolver() throws(CaptureError) -> Int32 {
    let socket = imdump_resolver_start(user == nil ? 0 : 1, user?.uid ?? 0, user?.gid ?? 0, isSandboxed ? 1 : 0)
    guard socket >= 0 else {
      throw CaptureError(.ioError, "-N", "start a process: \(systemText(-socket))", errno: -socket)
    }
    return socket
  }

  /// Drops the privileges. `folders` are descriptors of the folders in which files will still be created, unless `outputBrokers` create them;
  /// `listener` is the socket on which connections will be accepted; `keepsDatabase` is whether SQLite writes; `isInteractive` is whether the
  /// terminal is switched to raw mode and back. `stores` are paths of databases from the root, and `places` are folders in which files will be
  /// created whose names match a pattern: if the output stays the caller's, a process that keeps the caller's privileges opens these. `useStoreCalls`
  /// is called once that process serves stores, with the functions that call it.
  ///
  /// Throws when the rights of root or a capability stay. Where the kernel lacks Landlock or system call filters, goes on,
  /// and says so under `-v`.
  package func enter(
    folders: [Int32], mayWrite: Bool, outputBrokers: [OutputBroker] = [], listener: Int32? = nil,
    keepsDatabase: Bool = false,
    isInteractive: Bool = false, stores: [String] = [], places: [Privileges.Place] = [],
    useStoreCalls: ((String) -> (@convention(c) () -> Void)?) -> Void = { _ in }
  ) throws(CaptureError) {
    if givesUpNothing { return }
    let broker = keepsOwner ? try startBroker(stores, places, useStoreCalls) : nil
    // What the time in a file's name needs to know of zones is read while all can be.
    tzset()
    if let user {
      try check("become user \(user.name) (-Z root would stay root)", imdump_become(user.uid, user.gid))
    }
    // Root that stays root keeps what opens its files.
    if geteuid() != 0 { try check("drop capabilities", imdump_drop_capabilities()) }
    try check("set no_new_privs", imdump_no_new_privileges())
    guard isSandboxed else { return }
    let landlock = folders.withUnsafeBufferPointer {
      // Writable files come from the broker, or from output brokers.
      keepsOwner ? imdump_restrict_reading(nil, 0) : imdump_restrict_writing($0.baseAddress, Int32($0.count))
    }
    if landlock < 0 { note("Landlock is not available, so writing other files is not prevented", -landlock) }
    let filter = (outputBrokers.map(\.descriptor) + (broker.map { [$0] } ?? [])).withUnsafeBufferPointer {
      imdump_filter_system_calls(
        mayWrite ? 1 : 0, $0.baseAddress, Int32($0.count), listener ?? -1, keepsDatabase ? 1 : 0,
        isInteractive ? 1 : 0)
    }
    if filter < 0 { note("no system call filter is available", -filter) }
  }

  /// Opens what is to be read, and starts the process that opens the rest. Its socket; nil where there is nothing to open.
  private func startBroker(
    _ stores: [String], _ places: [Privileges.Place],
    _ useStoreCalls: ((String) -> (@convention(c) () -> Void)?) -> Void
  ) throws(CaptureError) -> Int32? {
    let more = InputFile.hold()
    guard !more.isEmpty || !stores.isEmpty || !places.isEmpty else { return nil }
    var texts: [UnsafeMutablePointer<CChar>?] = []
    func text(_ text: String) -> UnsafePointer<CChar>? {
      // As long as the process lives: both processes look names up in this list.
      let copy = strdup(text)
      texts.append(copy)
      return UnsafePointer(copy)
    }
    var items: [imdump_broker_item] = []
    for path in more {
      items.append(
        imdump_broker_item(kind: Int32(IMDUMP_BROKER_INPUT), path: text(path), pattern: nil, folder: -1))
    }
    for path in stores {
      items.append(
        imdump_broker_item(kind: Int32(IMDUMP_BROKER_STORE), path: text(path), pattern: nil, folder: -1))
    }
    for place in places {
      items.append(
        imdump_broker_item(
          kind: Int32(IMDUMP_BROKER_FOLDER), path: text(""), pattern: text(place.pattern), folder: place.folder))
    }
    guard texts.allSatisfy({ $0 != nil }) else {
      throw CaptureError(.captureFailed, "dropping privileges", "start a process: \(systemText(ENOMEM))", errno: ENOMEM)
    }
    let socket = items.withUnsafeBufferPointer {
      imdump_broker_start($0.baseAddress, Int32($0.count), isSandboxed ? 1 : 0)
    }
    try check("start a process that opens files", socket)
    if !stores.isEmpty { useStoreCalls { imdump_database_call($0) } }
    return socket
  }

  private func check(_ action: String, _ result: Int32) throws(CaptureError) {
    if result < 0 {
      throw CaptureError(.captureFailed, "dropping privileges", "\(action): \(systemText(-result))", errno: -result)
    }
  }

  private func note(_ text: String, _ number: Int32) {
    if isVerbose { logError("\(text): \(systemText(number))") }
  }
}

/// Why a command that somebody runs with the rights of its file's owner does nothing; nil for one that is run as it should.
///
/// Which files it reads and writes is the caller's choice, so it must do that with the caller's rights.
package func borrowedRights() -> String? {
  guard getuid() != geteuid() || getgid() != getegid() else { return nil }
  return "imdump must not be setuid or setgid: it would open files with rights that its caller does not have; "
    + "remove the bit, and use setcap cap_net_raw+ep instead"
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
