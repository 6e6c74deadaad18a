import IMWire
import Testing

/// Distances between words, counted by hand.
@Suite struct EditDistanceTests {
  @Test(arguments: [
    ("", "", 0), ("", "abc", 3), ("stats", "stats", 0), ("stats", "stat", 1), ("stats", "sttas", 1),
    ("kitten", "sitting", 3),
    ("ab", "ba", 1), ("abc", "ca", 3), ("seq", "sequence", 5),
  ]) func isTheSameBothWays(_ a: String, _ b: String, _ distance: Int) {
    #expect(editDistance(Array(a.utf8), Array(b.utf8)) == distance)
    #expect(editDistance(Array(b), Array(a)) == distance)
  }
}
