import IMCapture
import IMDescriptors
import Testing

/// Blocks that lie: everything before them is handed out, and the error names their offset.
@Suite struct PcapngDamageTests {
  /// What is wrong, made after a good packet at offset 48 + 36, and the message.
  static let damages: [(String, @Sendable (inout CaptureBytes) -> Void, CaptureError.Code, String)] = [
    (
      "length 0", { $0.block(6, length: 0) { $0.put(UInt64(0)) } }, .damaged,
      "a block at offset 84 has the impossible length 0"
    ),
    (
      "length 8", { $0.block(6, length: 8) { $0.put(UInt64(0)) } }, .damaged,
      "a block at offset 84 has the impossible length 8"
    ),
    (
      "misaligned", { $0.block(99, length: 33) { $0.put(UInt64(0)) } }, .damaged,
      "a block at offset 84 has the impossible length 33"
    ),
    (
      "4 GB", { $0.block(99, length: .max - 3) { $0.put(UInt64(0)) } }, .damaged,
      "a block at offset 84 has the impossible length 4294967292"
    ),
    (
      "trailer", { $0.block(99, trailer: 24) { $0.put(UInt64(0)) } }, .damaged,
      "a block at offset 84 of 20 bytes has the length 24 at its end"
    ),
    (
      "short", { $0.block(6) { $0.put(UInt64(0)) } }, .damaged,
      "a block at offset 84 of type 6 has 20 bytes, fewer than 32"
    ),
    (
      "interface", { $0.enhanced([1], ticks: 0, interface: 1) }, .damaged,
      "a packet block at offset 84 refers to the undescribed interface 1"
    ),
    (
      "interface max", { $0.enhanced([1], ticks: 0, interface: .max) }, .damaged,
      "a packet block at offset 84 refers to the undescribed interface 4294967295"
    ),
    (
      "captured", { $0.enhanced([1], ticks: 0, claimed: 5) }, .damaged,
      "a packet block at offset 84 of 36 bytes claims a packet of 5"
    ),
    (
      "captured max", { $0.enhanced([1], ticks: 0, claimed: .max) }, .damaged,
      "a packet block at offset 84 of 36 bytes claims a packet of 4294967295"
    ),
    (
      "simple", { $0.simple([1], original: 5) }, .damaged,
      "a simple packet block at offset 84 of 20 bytes claims a packet of 5"
    ),
    (
      "version", { $0.section(version: (2, 0)) }, .unsupported,
      "a section header at offset 84 has the unknown version 2.0"
    ),
    (
      "order",
      {
        $0.block(0x0a0d_0d0a) {
          $0.put(UInt32(7)); $0.put(UInt64(0))
        }
      }, .damaged, "a section header at offset 84 has no byte order mark"
    ),
  ]

  @Test(arguments: damages.indices) func damage(index: Int) {
    let (name, make, code, message) = Self.damages[index]
    var file = CaptureBytes()
    file.section()
    file.interface()
    file.enhanced(packet(1, 3), ticks: 0)
    make(&file)
    let reading = read(file.bytes)
    #expect(reading.packets.count == 1, "\(name)")
    #expect(reading.error == CaptureError(code, "FILE", message, offset: 84), "\(name)")
  }

  /// Options that reach past their block are given up; the packets still count.
  @Test func brokenOptions() {
    var file = CaptureBytes()
    file.section()
    file.block(1) {
      $0.put(UInt32(1))
      $0.put(UInt32(0))
      $0.put(UInt16(2))
      $0.put(UInt16.max)
      $0.put(UInt32(0))
    }
    file.enhanced(packet(1, 3), ticks: 1)
    let reading = read(file.bytes)
    #expect(reading.error == nil)
    #expect(reading.packets.map(\.nanoseconds) == [1_000])
  }

  /// A section forgets the interfaces of the one before.
  @Test func interfacesEndWithTheirSection() {
    var file = CaptureBytes()
    file.section()
    file.interface()
    file.section()
    file.enhanced(packet(1, 3), ticks: 1)
    #expect(read(file.bytes).error?.message == "a packet block at offset 76 refers to the undescribed interface 0")
  }

  @Test func tooManyInterfaces() {
    var file = CaptureBytes()
    file.section()
    for _ in 0...65_536 { file.interface() }
    let reading = read(file.bytes)
    #expect(reading.interfaces.count == 65_536)
    #expect(reading.error?.message == "an interface description at offset 1310748 is the 65,537th")
  }
}
