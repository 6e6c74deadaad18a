import IMWire
import Testing

/// What a zone is called.
@Suite struct LocalZoneTests {
  @Test(
    arguments: [
      (0, "UTC"), (0, "GMT"), (28_800, "CST"), (-12_600, "NST"), (20_700, "+0545"),
    ] as [(Int, String)])
  func theHeadOfAColumnNamesTheZone(_ offset: Int, _ name: String) {
    let zone = LocalZone { _ in (offset, name) }
    let expected = [0: "UTC", 28_800: "+08:00", -12_600: "-03:30", 20_700: "+05:45"][offset]
    #expect(zone.label(from: 1_760_000_000, to: 1_760_000_000) == expected)
  }

  /// A column with times before and after clocks are put forward has no single offset.
  @Test func clocksThatAreChangedAreLocal() {
    let zone = LocalZone { $0 < 3_600 ? (3_600, "CET") : (7_200, "CEST") }
    #expect(zone.label(from: 0, to: 3_599) == "+01:00" && zone.label(from: 3_600, to: 9_000) == "+02:00")
    #expect(zone.label(from: 3_599, to: 3_600) == "local")
  }
}
