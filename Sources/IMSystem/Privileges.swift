/// The privileges that a run keeps when it drops the others.
package struct Privileges {
  /// The user that root switches to; nil if the process keeps its user.
  package let user: Sandbox.User?
  /// Open folders in which this process creates files.
  package var folders: [Int32] = []
  /// The processes that open files for this one.
  package var outputBrokers: [OutputBroker] = []
  /// The socket on which connections will be accepted.
  package var listener: Int32?
  /// A folder, and the names of files that are created in it, as a pattern of fnmatch(3).
  package struct Place {
    let folder: Int32, pattern: String

    /// The files of these names in an open folder.
    package init(folder: Int32, pattern: String) { (self.folder, self.pattern) = (folder, pattern) }
  }

  /// Databases, by their paths from the root, and folders in which files are created: for a process that opens them if this one may not.
  package var stores: [String] = [], places: [Place] = []
  /// Whether SQLite writes in these folders.
  package var keepsDatabase = false
  /// Whether a terminal is switched to raw mode and back.
  package var isInteractive = false
  /// Whether SIGHUP does anything but end the run.
  package var hearsHangup = false

  /// No privileges, for a process in which root switches to `user`.
  package init(user: Sandbox.User?) { self.user = user }
}

/// The privileges that a run drops before it reads the first packet.
package struct SandboxOptions: Equatable, Sendable {
  /// The user that root switches to; `nil` for the default.
  package var user: String?
  /// Whether Landlock and a system call filter restrict the run.
  package var isSandboxed = true
  /// Whether missing kernel features are reported.
  package var isVerbose = false

  /// The defaults.
  package init() {}
}
