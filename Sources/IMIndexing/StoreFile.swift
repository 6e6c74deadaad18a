import CSandbox
import Glibc
package import IMDescriptors
import IMStore
import IMSystem

/// The file of a store that is about to be written, and its folder.
package struct StoreFile {
  /// The file as it was named.
  let path: String
  /// The path from the root, without links: once privileges are dropped, the current folder can no longer be determined.
  package let place: String
  /// A descriptor of its folder, in which SQLite makes files beside it.
  package let folder: Int32
  /// Holds the lock by which another run knows that this one writes the store, for as long as the process lives. Not one of SQLite's
  /// locks, which would go with any descriptor of the file that is closed.
  private let lock: Int32?

  /// Makes the file anew. One that is there is replaced where it is a store, or empty.
  package init(_ path: String) throws(CaptureError) {
    self.path = path
    let old = try Self.remove(path)
    defer { if let old { close(old) } }
    // Emptied only when no other process writes it.
    let descriptor = try OutputFile.open(path, keeps: true)
    lock = descriptor
    do throws(CaptureError) {
      try Self.lock(descriptor, path)
      guard ftruncate(descriptor, 0) == 0 else {
        throw CaptureError(.ioError, path, "empty: \(systemText(errno))", errno: errno)
      }
    } catch {
      close(descriptor)
      throw error
    }
    place = try Self.place(path)
    folder = try Self.openFolder(place)
  }

  /// Gives the file to the user that the run becomes, with those that SQLite has made beside it.
  func give(to user: Sandbox.User) {
    // By name: to close a descriptor of a file drops all locks that this process has on it, and with them SQLite's, by which other
    // processes know that the log is in use.
    for name in [place, place + "-wal", place + "-shm"] { _ = lchown(name, user.uid, user.gid) }
  }

  /// The file of a store that is there.
  init(reading path: String) throws(CaptureError) {
    self.path = path
    lock = nil
    place = try Self.place(path)
    folder = try Self.openFolder(place)
  }

  private static func place(_ path: String) throws(CaptureError) -> String {
    guard let real = realpath(path, nil) else {
      throw CaptureError(errno == ENOENT ? .notFound : .ioError, path, systemText(errno), errno: errno)
    }
    defer { free(real) }
    return String(cString: real)
  }

  private static func openFolder(_ path: String) throws(CaptureError) -> Int32 {
    let name = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let folder = imdump_open_folder(name)
    guard folder >= 0 else {
      throw CaptureError(.ioError, path, "open its folder: \(systemText(-folder))", errno: -folder)
    }
    return folder
  }

  /// Removes the store that is there, with what a writer that died has left beside it.
  ///
  /// Gives a descriptor that holds its lock; nil where there was none.
  private static func remove(_ path: String) throws(CaptureError) -> Int32? {
    var there = stat()
    guard lstat(path, &there) == 0, there.st_mode & S_IFMT == S_IFREG else { return nil }
    guard there.st_size == 0 || isStore(path) else {
      throw CaptureError(.ioError, path, "is not a store and was not changed: name another file")
    }
    // SQLite finds a log by its name: whoever still has the old file open would read the new one's log over it. With no byte left
    // of the old one that is an error, and never a row of both.
    let descriptor = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    if descriptor >= 0 {
      do throws(CaptureError) { try lock(descriptor, path) } catch {
        close(descriptor)
        throw error
      }
      _ = ftruncate(descriptor, 0)
    }
    for name in [path, path + "-wal", path + "-shm", path + "-journal"] { unlink(name) }
    return descriptor >= 0 ? descriptor : nil
  }

  /// Takes the lock of a store. Throws where another run has it.
  private static func lock(_ descriptor: Int32, _ path: String) throws(CaptureError) {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
    throw CaptureError(.ioError, path, "is being written by another imdump; name another file", errno: EWOULDBLOCK)
  }

  /// Whether the file at `path` is a store.
  package static func isStore(_ path: String) -> Bool {
    // Of a pipe what is read is gone.
    var there = stat()
    guard stat(path, &there) == 0, there.st_mode & S_IFMT == S_IFREG else { return false }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var header = [UInt8](repeating: 0, count: StoreFormat.headerCount)
    return read(descriptor, &header, header.count) == header.count && StoreFormat.isStore(header)
  }
}
