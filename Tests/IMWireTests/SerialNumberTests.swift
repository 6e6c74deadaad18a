import IMWire
import Testing

/// Numbers that wrap, by RFC 1982 with 32 bits: its section 5.2 has examples with 8.
@Suite struct SerialNumberTests {
  @Test(arguments: [
    ("equal", 7 as UInt32, 7 as UInt32, 0), ("one later", 8, 7, 1), ("one earlier", 7, 8, -1),
    ("over the end", 3, 0xffff_fffe, 5), ("back over it", 0xffff_fffe, 3, -5),
    ("as far as can be", 0x8000_0006, 7, 0x7fff_ffff), ("and back", 7, 0x8000_0006, -0x7fff_ffff),
  ])
  func order(_ name: String, _ a: UInt32, _ b: UInt32, _ distance: Int) {
    #expect(a.distance(from: b) == distance, "\(name)")
    #expect(a.isAfter(b) == (distance > 0) && a.isAtOrAfter(b) == (distance >= 0), "\(name)")
    #expect(a.isBefore(b) == (distance < 0) && a.isAtOrBefore(b) == (distance <= 0), "\(name)")
    #expect(b.isAfter(a) == a.isBefore(b) && b.isAtOrAfter(a) == a.isAtOrBefore(b), "\(name)")
  }

  /// Which of these is later the RFC leaves open: none is after the other.
  @Test(arguments: [0 as UInt32, 7, 0x7fff_ffff, 0x8000_0000]) func halfTheCircle(_ a: UInt32) {
    let b = a &+ 0x8000_0000
    #expect(!a.isAfter(b) && !b.isAfter(a) && a.isBefore(b) && b.isBefore(a))
  }
}
