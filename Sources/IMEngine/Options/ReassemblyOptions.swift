/// Which copy of a byte counts when two segments carry it.
package enum OverlapPolicy: String, CaseIterable, Sendable {
  /// The copy that came first, as most systems keep it.
  case first
  /// The copy that came last, as long as it has not been delivered.
  case last
}

/// Limits and rules of reassembly.
package struct ReassemblyOptions: Sendable {
  /// Bytes that one direction may hold beyond a hole.
  package var bytesPerDirection = 1 << 20
  /// Segments that one direction may hold beyond a hole.
  package var segmentsPerDirection = 32_768
  /// Bytes that all directions together may hold; `EngineOptions.memory` bounds them too.
  package var bytesInAll = Int.max
  /// How long a hole that the peer has acknowledged may still be filled.
  package var holePatience = Duration.milliseconds(50)
  /// The same for a capture that never shows the other direction, whose acknowledgments cannot be known.
  package var oneSidedPatience = Duration.seconds(5)
  /// Which copy of a byte counts.
  package var overlap = OverlapPolicy.first

  /// The defaults.
  package init() {}
}
