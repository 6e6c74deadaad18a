/// How good the network is, by round trip and loss.
public enum NetworkQuality: UInt8, Sendable, CaseIterable, Comparable, BitwiseCopyable {
  /// Nothing has been measured yet.
  case unknown
  /// Below 100 ms and 2 % loss.
  case excellent
  /// Below 300 ms and 5 %.
  case good
  /// Below 500 ms and 10 %.
  case fair
  /// Below 800 ms and 15 %.
  case poor
  /// Worse.
  case bad

  /// The level of a round trip and a share of loss; without a round trip nothing is known, unless all was lost.
  public init(roundTrip: Duration?, loss: Double) {
    guard let roundTrip else {
      self = loss > 0 ? .bad : .unknown
      return
    }
    self =
      switch (roundTrip, loss) {
      case (..<Duration.milliseconds(100), ..<0.02): .excellent
      case (..<Duration.milliseconds(300), ..<0.05): .good
      case (..<Duration.milliseconds(500), ..<0.10): .fair
      case (..<Duration.milliseconds(800), ..<0.15): .poor
      default: .bad
      }
  }

  /// Whether `a` comes before `b`.
  public static func < (a: NetworkQuality, b: NetworkQuality) -> Bool { a.rawValue < b.rawValue }

  /// Whether what can wait should.
  public var isWeak: Bool { self >= .poor }
}

/// The last ten answers, or missing answers: round trip and loss as heartbeats judge them.
///
/// Later samples weigh more: 1.0, 1.2, 1.4, ... from the oldest.
struct QualityWindow: Sendable {
  private var roundTrips: [Int64] = []
  private var losses: [Bool] = []

  /// An answer came after `nanoseconds`.
  mutating func answered(after nanoseconds: Int64) {
    roundTrips.append(nanoseconds)
    if roundTrips.count > 10 { roundTrips.removeFirst() }
    note(lost: false)
  }

  /// No answer came, or only to another attempt.
  mutating func lost() { note(lost: true) }

  private mutating func note(lost: Bool) {
    losses.append(lost)
    if losses.count > 10 { losses.removeFirst() }
  }

  mutating func reset() {
    roundTrips = []
    losses = []
  }

  /// The weighted mean; `nil` without a sample.
  var roundTrip: Duration? {
    guard !roundTrips.isEmpty else { return nil }
    var (sum, weights) = (0.0, 0.0)
    for (index, sample) in roundTrips.enumerated() {
      let weight = 1 + 0.2 * Double(index)
      sum += weight * Double(sample)
      weights += weight
    }
    return .nanoseconds(Int64(sum / weights))
  }

  /// The share that was lost, 0 to 1.
  var loss: Double { losses.isEmpty ? 0 : Double(losses.count { $0 }) / Double(losses.count) }

  var quality: NetworkQuality { NetworkQuality(roundTrip: roundTrip, loss: loss) }
}
