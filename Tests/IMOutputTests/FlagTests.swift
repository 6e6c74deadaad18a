import IMEngine
import IMFilter
@testable import IMOutput
import IMWire
import Testing

/// Remarks on frames have one name each, in outputs and in filters.
@Suite struct FlagTests {
  @Test func filtersKnowTheNamesThatOutputsPrint() {
    #expect(MessageField.remarks == FrameFlagNames.all.map(\.description))
    #expect(FrameFlagNames.isInOrder)
  }

  @Test func placesOfAMaskAreItsBits() {
    let mask: UInt32 = 1 << 2 | 1 << 5 | 1 << 17
    #expect((0..<4).map { FrameFlagNames.place(of: $0, in: mask) } == [2, 5, 17, nil])
    #expect(FrameFlagNames.place(of: 0, in: 0) == nil)
    #expect(FrameFlagNames.contains(mask, .afterGap) && !FrameFlagNames.contains(mask, .encrypted))
  }
}
