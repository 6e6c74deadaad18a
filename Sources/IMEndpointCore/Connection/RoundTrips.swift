/// The round trips of messages that went out once, and what follows from them: when an answer is overdue.
struct RoundTrips: Sendable {
  private var samples = InlineArray<32, Int64>(repeating: 0)
  private var count = 0
  private var place = 0
  private var lastAt = Instant(nanoseconds: .min)
  /// The tenth percentile of the last 32 samples, in nanoseconds; 0 while there is none.
  private(set) var short: Int64 = 0
  /// The shortest sample there ever was on this path, in nanoseconds; 0 while there is none.
  private(set) var least: Int64 = 0

  /// The shortest of the last six samples, in nanoseconds; 0 while there is none. Six, because at half of all segments lost
  /// one in two hundred such minima is long, and a queue shows after as many messages.
  var recent: Int64 {
    guard count > 0 else { return 0 }
    return (1...min(6, count)).reduce(Int64.max) { min($0, samples[(place - $1 + 32) % 32]) }
  }

  var isEmpty: Bool { count == 0 }

  /// The last sample, in nanoseconds; 0 while there is none.
  var last: Int64 { count == 0 ? 0 : samples[(place + 31) % 32] }

  /// Takes a round trip; of those within one millisecond the first.
  @inline(__always)
  mutating func add(_ nanoseconds: Int64, at now: Instant) {
    guard now.nanoseconds(since: lastAt) >= 1_000_000 else { return }
    take(nanoseconds, at: now)
  }

  private mutating func take(_ nanoseconds: Int64, at now: Instant) {
    lastAt = now
    least = count == 0 ? max(0, nanoseconds) : min(least, max(0, nanoseconds))
    samples[place] = max(0, nanoseconds)
    place = (place + 1) % 32
    count = min(32, count + 1)
    var sorted = (0..<count).map { samples[$0] }
    sorted.sort()
    short = sorted[(count - 1) / 10]
  }

  /// Forgets all: the path is another one.
  mutating func reset() {
    count = 0
    place = 0
    short = 0
    least = 0
    lastAt = Instant(nanoseconds: .min)
  }
}
