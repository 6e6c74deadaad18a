package import Foundation

/// A folder for one test, gone with it.
package final class Scratch {
  /// The folder.
  package let url: URL

  /// Makes the folder; with `isInMemory` where no write waits for a disk, if there is such a place.
  package init(isInMemory: Bool = false) throws {
    let memory = "/dev/shm"
    let isThere = isInMemory && FileManager.default.isWritableFile(atPath: memory)
    url = URL(filePath: isThere ? memory : NSTemporaryDirectory()).appending(
      path: "imdump-scratch-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of `name` in it.
  package func path(_ name: String) -> String { url.appending(path: name).path }

  /// Makes a file and gives its path.
  package func file(_ name: String, _ bytes: some Sequence<UInt8>, mode: Int = 0o600) throws -> String {
    let path = path(name)
    try Data(bytes).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
  }
}
