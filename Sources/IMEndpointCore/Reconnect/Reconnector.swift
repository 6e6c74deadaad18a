/// Says when the next attempt to connect is to be made: reasons and time in, delays out.
struct Reconnector: Sendable {
  /// What follows a lost connection or a failed attempt.
  enum Answer: Equatable, Sendable {
    /// Nothing is tried.
    case stop
    /// The most attempts have been made.
    case giveUp(attempts: Int)
    /// The next attempt is made then.
    case attempt(at: Instant)
  }

  var policy: ReconnectPolicy
  /// Attempts since the last success.
  private(set) var attempts = 0

  init(policy: ReconnectPolicy) { self.policy = policy }

  /// An attempt begins.
  mutating func began() { attempts += 1 }

  /// A connection works.
  mutating func succeeded() {
    if policy.resetsAfterSuccess { attempts = 0 }
  }

  /// The application asks anew, or the path is another one: all begins anew.
  mutating func reset() { attempts = 0 }

  /// A connection is lost, or an attempt has failed.
  func lost(_ reason: DisconnectReason, path: NetworkPath.Kind, at now: Instant, _ random: inout SeededGenerator)
    -> Answer
  {
    let rule = policy.rule(for: reason)
    guard rule != .never else { return .stop }
    if let most = policy.maximumAttempts, attempts >= most { return .giveUp(attempts: attempts) }
    if path == .none { return .attempt(at: now.advanced(by: policy.lookInterval)) }
    var delay: Duration
    switch policy.firstIsDelayed ? .delayed : rule {
    case .atOnce where attempts == 0: delay = .zero
    case .spread(let width) where attempts == 0: delay = width * random.fraction()
    default: delay = grown(attempts == 0 ? 0 : attempts - 1, &random)
    }
    if path == .cellular, attempts == 0 { delay = max(delay, policy.cellularDelay) }
    return .attempt(at: now.advanced(by: delay))
  }

  private func grown(_ exponent: Int, _ random: inout SeededGenerator) -> Duration {
    let longest = Double(policy.longest.wholeNanoseconds)
    var delay = Double(policy.base.wholeNanoseconds)
    for _ in 0..<min(exponent, 64) where delay < longest { delay *= max(1, policy.growth) }
    delay = min(delay, longest) * (policy.steadyPart + (1 - policy.steadyPart) * random.fraction())
    delay += Double(policy.jitter.wholeNanoseconds) * random.fraction()
    return .nanoseconds(Int64(min(longest, delay)))
  }
}
