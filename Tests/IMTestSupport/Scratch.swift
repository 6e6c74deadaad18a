package import Foundation

/// A folder for one test, deleted with this object.
package final class Scratch {
  /// The folder.
  package let url: URL

  /// Makes the folder. With `isInMemory` it is in shared memory, if there is any, so that no write waits for a disk.
  package init(isInMemory: Bool = false) throws {
    let memory = "/dev/shm"
    let isThere = isInMemory && FileManager.default.isWritableFile(atPath: memory)
    url = URL(filePath: isThere ? memory : NSTemporaryDirectory()).appending(
      path: "imdump-scratch-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The path of the file `name` in the folder.
  package func path(_ name: String) -> String { url.appending(path: name).path }

  /// Makes a file and returns its path.
  package func file(_ name: String, _ bytes: some Sequence<UInt8>, mode: Int = 0o600) throws -> String {
    let path = path(name)
    try Data(bytes).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return path
  }
}
