/// Learns how long a path may be silent before something on it, a translator of addresses most of all, forgets the
/// connection, so that heartbeats stay under that.
///
/// What was answered after a silence is survived; a silence after which a connection was dead while a new one worked at
/// once is deadly. The limit is between the two: half way, until they are so near that trying on is not worth a
/// connection; or four fifths of the deadly one while nothing is known below.
struct SilenceLimit: Sendable {
  /// The longest silence that was survived, in nanoseconds.
  private(set) var survived: Int64 = 0
  /// Nothing on a path forgets a connection sooner: a death after a shorter silence had another cause.
  static let shortest: Int64 = 10_000_000_000
  /// The shortest one that was not; `nil` while none was.
  private(set) var deadly: Int64?

  /// An answer came after the connection had been silent for `nanoseconds`.
  mutating func answered(after nanoseconds: Int64) {
    survived = max(survived, nanoseconds)
    // The path has become more patient, or the death had another cause.
    if let known = deadly, survived >= known { deadly = nil }
  }

  /// The connection was dead after `nanoseconds` of silence, and the network was not.
  mutating func died(after nanoseconds: Int64) {
    guard nanoseconds >= Self.shortest else { return }
    deadly = min(deadly ?? .max, nanoseconds)
    if survived >= nanoseconds { survived = 0 }
  }

  /// The longest silence to be risked, in nanoseconds; `nil`: no limit is known.
  var limit: Int64? {
    guard let deadly else { return nil }
    let (low, high) = (Double(survived), Double(deadly))
    if survived == 0 { return Int64(high * 0.8) }
    return Int64(high - low < high / 8 ? low : (low + high) / 2)
  }

  /// The path is another one.
  mutating func reset() {
    survived = 0
    deadly = nil
  }
}
