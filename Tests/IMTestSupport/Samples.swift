internal import Foundation
import IMWire

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

  /// The packets of a capture in the folder, which is a little-endian pcap file with times in microseconds.
  package static func packets(_ sample: String) throws -> [TimedPacket] {
    let bytes = try Self.bytes(sample)
    func u32(_ at: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) } }
    // The magic number says what the second half of a time counts.
    let unit: Int64 = u32(0) == 0xa1b2_3c4d ? 1 : 1_000
    var packets: [TimedPacket] = []
    var at = 24
    while at + 16 <= bytes.count {
      let count = u32(at + 8)
      let time = Timestamp(nanoseconds: Int64(u32(at)) * 1_000_000_000 + Int64(u32(at + 4)) * unit)
      packets.append(TimedPacket(timestamp: time, bytes: Array(bytes[at + 16..<at + 16 + count])))
      at += 16 + count
    }
    return packets
  }
}
