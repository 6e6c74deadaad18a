import IMTestSupport
import IMWire

/// The packets of a sample in the classic format: little-endian, microseconds.
enum Pcap {
  struct WrongFormat: Error {}

  static func packets(_ sample: String) throws -> [TimedPacket] {
    let file = try Samples.bytes(sample)
    func u32(_ at: Int) -> UInt32 { file[at..<at + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) } }
    guard file.count >= 24, u32(0) == 0xa1b2_c3d4 else { throw WrongFormat() }
    var packets: [TimedPacket] = []
    var at = 24
    while at + 16 <= file.count {
      let count = Int(u32(at + 8))
      let time = Timestamp(seconds: Int64(u32(at)), fraction: Int64(u32(at + 4)) * 1_000)
      packets.append(
        TimedPacket(
          timestamp: time, bytes: [UInt8](file[at + 16..<at + 16 + count]),
          linkType: UInt16(truncatingIfNeeded: u32(20))))
      at += 16 + count
    }
    return packets
  }
}
