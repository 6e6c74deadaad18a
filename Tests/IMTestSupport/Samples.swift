internal import Foundation

/// Finds the files of the repository's `Samples` folder, wherever the tests run.
package enum Samples {
  /// The folder's path, without a slash at its end.
  package static let folder: String = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Samples").path

  /// The path of one file in the folder.
  package static func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// The names of the captures in the folder, sorted.
  package static func captures() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder)
      .filter { $0.hasSuffix(".pcap") || $0.hasSuffix(".pcapng") }.sorted()
  }

  /// The bytes of one file in the folder.
  package static func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
  }
}
