/// What the application is doing, as far as heartbeats care.
public enum ApplicationMode: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  /// The user looks at it.
  case foreground
  /// The user does not look, but messages are to come.
  case background
  /// The battery is low.
  case lowPower
  /// It sleeps: no heartbeats at all.
  case suspended
}

/// How eager heartbeats are.
public enum HeartbeatStrategy: Hashable, Sendable {
  /// As the mode says.
  case balanced
  /// A fifth more often.
  case aggressive
  /// A fifth more rarely.
  case conservative
  /// This many times as long.
  case custom(Double)

  /// What intervals are multiplied by.
  public var factor: Double {
    switch self {
    case .balanced: 1
    case .aggressive: 0.8
    case .conservative: 1.2
    case .custom(let factor): factor.isFinite ? min(10, max(0.1, factor)) : 1
    }
  }
}

/// How long the intervals between heartbeats are, and how long an answer may take.
///
/// The article says that a bad network wants more heartbeats and a good one fewer, and its code does the opposite: a
/// slow network, where a connection is likeliest to be lost unseen, is asked more rarely. `.article` follows the words,
/// `.seed` the code.
public struct HeartbeatPolicy: Hashable, Sendable {
  /// Which of the two.
  public enum Rule: UInt8, Sendable {
    /// The worse the network, the shorter the interval.
    case article
    /// As the article's code has it: with the round trip the interval grows.
    case seed
  }

  /// The interval of one mode and its bounds.
  public struct Interval: Hashable, Sendable, BitwiseCopyable {
    /// On a good network.
    public var base: Duration
    /// At least.
    public var minimum: Duration
    /// At most.
    public var maximum: Duration

    /// An interval of its parts.
    public init(base: Duration, minimum: Duration, maximum: Duration) {
      self.base = base
      self.minimum = minimum
      self.maximum = maximum
    }
  }

  /// Which way quality acts.
  public var rule = Rule.article
  /// How eager.
  public var strategy = HeartbeatStrategy.balanced
  /// While the user looks.
  public var foreground = Interval(base: .seconds(30), minimum: .seconds(15), maximum: .seconds(300))
  /// While the user does not look.
  public var background = Interval(base: .seconds(90), minimum: .seconds(45), maximum: .seconds(600))
  /// While the battery is low.
  public var lowPower = Interval(base: .seconds(60), minimum: .seconds(45), maximum: .seconds(900))
  /// An answer may take three round trips, and at least this.
  public var minimumTimeout = Duration.seconds(15)
  /// A part of the interval by which it is drawn shorter or longer.
  public var jitter = 0.1
  /// Whether everything that is sent or answered begins the interval anew.
  public var restartsOnTraffic = true
  /// Whether the longest silence the path survives is learned.
  public var learnsSilence = true

  /// The policy this library recommends.
  public init() {}

  /// The interval of `mode`; `nil`: no heartbeats.
  public func interval(of mode: ApplicationMode) -> Interval? {
    switch mode {
    case .foreground: foreground
    case .background: background
    case .lowPower: lowPower
    case .suspended: nil
    }
  }

  /// What a network's quality multiplies the interval by.
  public func factor(of quality: NetworkQuality, roundTrip: Duration?) -> Double {
    switch rule {
    case .article:
      switch quality {
      case .excellent: 1.2
      case .good, .unknown: 1
      case .fair: 0.8
      case .poor: 0.6
      case .bad: 0.5
      }
    case .seed:
      switch quality {
      case .poor: 2.5
      case .fair, .unknown, .bad: 1.5
      case .excellent, .good: max(Double((roundTrip ?? .zero).wholeNanoseconds) / 200e6, 1)
      }
    }
  }

  /// The interval before jitter and before what was learned; `nil`: no heartbeats.
  public func interval(mode: ApplicationMode, quality: NetworkQuality, roundTrip: Duration?) -> Duration? {
    guard let interval = interval(of: mode) else { return nil }
    let length = Double(interval.base.wholeNanoseconds) * factor(of: quality, roundTrip: roundTrip) * strategy.factor
    return min(interval.maximum, max(interval.minimum, .nanoseconds(Int64(length))))
  }

  /// How long an answer may take before the connection counts as dead.
  public func timeout(roundTrip: Duration?) -> Duration { max(minimumTimeout, (roundTrip ?? .zero) * 3) }
}
