/// What a run keeps when it gives up its rights.
package struct Privileges {
  /// The user that root becomes; nil where the process stays who it is.
  package let user: Sandbox.User?
  /// Open folders in which this process makes files.
  package var folders: [Int32] = []
  /// The processes that open files for this one.
  package var outputBrokers: [OutputBroker] = []
  /// The socket on which connections will be taken.
  package var listener: Int32?
  /// A folder, and the names of files that are made in it, as a pattern of fnmatch(3).
  package struct Place {
    let folder: Int32, pattern: String

    /// The files of these names in an open folder.
    package init(folder: Int32, pattern: String) { (self.folder, self.pattern) = (folder, pattern) }
  }

  /// Databases, by their paths from the root, and folders in which files are made: for a process that opens them where this one may
  /// not.
  package var stores: [String] = [], places: [Place] = []
  /// Whether SQLite writes in these folders.
  package var keepsDatabase = false
  /// Whether a terminal is switched to raw mode and back.
  package var isInteractive = false
  /// Whether SIGHUP is for something other than to end the run.
  package var hearsHangup = false

  /// Nothing, for a process whose root becomes `user`.
  package init(user: Sandbox.User?) { self.user = user }
}

/// What a run gives up before it reads the first packet.
package struct SandboxOptions: Equatable, Sendable {
  /// The user that root shall become; `nil` for the default.
  package var user: String?
  /// Whether Landlock and a filter of system calls hold the run.
  package var isSandboxed = true
  /// Whether it is said what the kernel lacks for that.
  package var isVerbose = false

  /// The defaults.
  package init() {}
}
