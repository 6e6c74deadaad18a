import Glibc
import IMDescriptors
import IMIndexing
import IMSystem

/// The store of captures that are browsed: a file in the user's cache folder, which goes when the browser ends.
struct CacheFile {
  private static let prefix = "browse-"

  /// Its path.
  let path: String

  /// Chooses a name in `$XDG_CACHE_HOME/imdump`, `~/.cache/imdump` where that is not set, and makes the folder. Where root becomes
  /// `user`, who may not enter root's folders, the folder is `/var/tmp/imdump-USER` and the user's own. Removes what browsers have
  /// left there that were killed.
  init(for user: Sandbox.User? = nil) throws(CaptureError) {
    let folder: String
    if let user { folder = try Self.folder(of: user) } else { folder = try Self.ownFolder() }
    Self.removeLeftovers(folder)
    path = "\(folder)/\(Self.prefix)\(getpid()).db"
  }

  /// The folder of the user whose process this is.
  private static func ownFolder() throws(CaptureError) -> String {
    let cache: String
    if let folder = getenv("XDG_CACHE_HOME").map({ String(cString: $0) }), folder.hasPrefix("/") {
      cache = folder
    } else if let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") {
      cache = home + "/.cache"
    } else {
      throw CaptureError(
        .ioError, "cache folder",
        "neither XDG_CACHE_HOME nor HOME is set: index the capture first, and browse the store")
    }
    mkdir(cache, 0o700)
    let folder = cache + "/imdump"
    guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
      throw CaptureError(.ioError, folder, "make the folder: \(systemText(errno))", errno: errno)
    }
    return folder
  }

  /// A folder that belongs to `user`, and to nobody else. Anybody may have made one of that name: then it is refused.
  private static func folder(of user: Sandbox.User) throws(CaptureError) -> String {
    let folder = "/var/tmp/imdump-\(user.name)"
    if mkdir(folder, 0o700) == 0 { user.own(folder: folder) }
    var info = stat()
    guard lstat(folder, &info) == 0, info.st_mode & S_IFMT == S_IFDIR, info.st_uid == user.uid,
      info.st_mode & 0o077 == 0
    else {
      throw CaptureError(
        .ioError, folder, "is not a folder that only \(user.name) may enter: remove it, or name a store with --store")
    }
    return folder
  }

  /// Removes the file, with what SQLite has beside it.
  func remove() { Self.remove(path) }

  private static func remove(_ path: String) {
    removeStore(path)
    // Packets of a live run.
    let slash = path.lastIndex(of: "/")
    let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    let folder = slash.map { String(path[..<$0]) } ?? "."
    for found in names(in: folder) where SpillCapture.isFile(found, of: name) { unlink("\(folder)/\(found)") }
  }

  private static func removeLeftovers(_ folder: String) {
    for store in abandoned(in: folder, prefix: prefix, end: ".db") { remove(store) }
  }
}
