import Glibc
import IMCapture
import IMDescriptors
import IMWire
import Testing

@Suite struct PcapngWriterTests {
  /// Copies a capture; `comment` gives what is said of a packet.
  private static func copy(
    _ bytes: [UInt8], to path: String, comment: (UInt64) -> String?
  ) throws(CaptureError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    let writer = PcapngWriter(descriptor: descriptor, isOwned: true, name: path, application: "test")
    try forEachPacket(of: bytes) { record, batch, source throws(CaptureError) in
      let name = source.interfaces[Int(record.interface)].name
      try writer.write(record, batch, interface: name, comment: comment(record.number))
    }
    try writer.close()
  }

  /// What is written is read as it was, whatever it came from.
  @Test(arguments: Form.all) func roundTrip(form: Form) throws {
    try withPath { path in
      try Self.copy(form.file, to: path) { $0 % 3 == 0 ? "packet \($0), in words" : nil }
      let reading = readFile(path)
      #expect(reading.error == nil)
      #expect(
        reading.packets
          == form.packets.map { packet in
            var packet = packet
            packet.nanoseconds = max(0, packet.nanoseconds)
            return packet
          })
    }
  }

  /// The blocks by hand: section, interface, packet with padding and a comment.
  @Test func blocks() throws {
    var file = CaptureBytes.pcap()
    file.record([1, 2, 3, 4, 5], seconds: 5, fraction: 7)
    try withPath { path in
      try Self.copy(file.bytes, to: path) { _ in "why" }
      let time = UInt64(5_000_007_000)
      func words(_ values: [UInt32]) -> [UInt8] {
        values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
      }
      let section =
        words([0x0a0d_0d0a, 40, 0x1a2b_3c4d, 1, .max, .max, 4 | 4 << 16]) + Array("test".utf8) + words([0, 40])
      let interface = words([1, 32, 1, 0, 9 | 1 << 16, 9, 0, 32])
      let packet =
        words([6, 52, 0, UInt32(time >> 32), UInt32(truncatingIfNeeded: time), 5, 5]) + [1, 2, 3, 4, 5, 0, 0, 0]
        + words([1 | 3 << 16]) + Array("why\0".utf8) + words([0, 52])
      #expect(contents(path) == section + interface + packet)
    }
  }
}
