import CSandbox
package import Glibc
package import IMDescriptors
import IMOutput

/// A file that is always whole: what it shall have is written beside it, and then takes its name.
package struct AtomicFile: Sendable {
  /// Its path, as errors name it.
  package let path: String
  /// The descriptor of its folder, which whoever made this closes.
  package let folder: Int32
  private let name: String
  private let mode: UInt32
  private var temporary: String { ".\(name).tmp" }

  /// The file at `path`, in a folder that exists, which gets the rights of `mode`. `option` is the option that names it.
  package init(path: String, option: String, mode: UInt32) throws(UsageError) {
    try requireReplaceable(path, option: option)
    let slash = path.lastIndex(of: "/")
    let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    guard !name.isEmpty, name != ".", name != ".." else {
      throw UsageError(message: "\(option) \(path): expected the name of a file")
    }
    folder = imdump_open_folder(parent)
    guard folder >= 0 else { throw UsageError(message: "\(option) \(path): \(systemText(-folder))") }
    (self.path, self.mode) = (path, mode)
  }

  /// The two names of files that are made in the folder, as a pattern of fnmatch(3).
  package var pattern: String {
    func quoted(_ name: String) -> String { String(name.flatMap { "*?[@!+()|".contains($0) ? "[\($0)]" : "\($0)" }) }
    return "@(\(quoted(name))|\(quoted(temporary)))"
  }

  /// Opens the file to read it; a descriptor, or a negative errno. A link is not followed.
  package func openToRead() -> Int32 {
    let descriptor = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    return descriptor < 0 ? -errno : descriptor
  }

  /// Locks the file until the descriptor that this returns is closed; a negative errno where that fails, `-EWOULDBLOCK` where another process has
  /// it. What is locked is a file beside it that stays, because the file itself is exchanged.
  package func lock() -> Int32 {
    openLock(".\(name).lock", in: folder, mode: 0o644)
  }

  /// Renames the file, to its name with `suffix`. Whether that succeeded.
  package func rename(suffix: String) -> Bool { renameat(folder, name, folder, name + suffix) == 0 }

  /// Puts what `write` writes in the place of the file, on the disk where `isSynced`. The number of the error, if there is one: then the
  /// file is what it was.
  package func replace(isSynced: Bool = false, _ write: (Output) -> Void) -> Int32? {
    // Whatever has that name is not written through.
    _ = imdump_unlink_at(folder, temporary)
    let descriptor = imdump_open_at(folder, temporary, O_WRONLY | O_CREAT | O_EXCL, mode)
    guard descriptor >= 0 else { return -descriptor }
    let output = Output(descriptor: descriptor, name: path)
    write(output)
    var number = output.error?.errno
    if isSynced, number == nil, fsync(descriptor) != 0 { number = errno }
    if close(descriptor) != 0, number == nil { number = errno }
    if number == nil {
      let error = imdump_rename_at(folder, temporary, name)
      if error < 0 { number = -error }
    }
    if number != nil { _ = imdump_unlink_at(folder, temporary) }
    return number
  }
}

/// Opens and locks the file `name` in an open folder, and makes it where there is none. Closing the descriptor, or the end of the process, gives the
/// lock back. A negative errno where that fails: `-EWOULDBLOCK` where another process has the lock. A link is not followed.
package func openLock(_ name: String, in folder: Int32, mode: mode_t) -> Int32 {
  let descriptor = openat(folder, name, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode)
  guard descriptor >= 0 else { return -errno }
  guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
    let number = errno
    close(descriptor)
    return -number
  }
  return descriptor
}

/// Throws where this process may not make files in an open folder. `what` is what cannot be done then.
package func requireMayMakeFiles(in folder: Int32, _ path: String, _ what: String) throws(CaptureError) {
  let error = -imdump_may_make_files(folder)
  guard error != 0 else { return }
  throw CaptureError(
    .ioError, path,
    "\(what): \(systemText(error)) for user \(geteuid()); give the folder to that user"
      + (programName == "imdump" ? ", or choose another user with -Z" : ""),
    errno: error)
}

/// Throws if anything but a regular file has the name `path`: each text takes the name, and would replace a link, a device or a pipe. `option` is the
/// option that named it.
package func requireReplaceable(_ path: String, option: String) throws(UsageError) {
  var status = stat()
  guard lstat(path, &status) == 0 else { return }
  let kind: String
  switch status.st_mode & S_IFMT {
  case S_IFREG: return
  case S_IFLNK: kind = "a link"
  case S_IFDIR: kind = "a folder"
  default: kind = "not a regular file"
  }
  throw UsageError(
    message:
      "\(option) \(path): is \(kind); expected a regular file, which is replaced at each write")
}
