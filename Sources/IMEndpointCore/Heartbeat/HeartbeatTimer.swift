/// When the next heartbeat goes out: time in, beats out.
///
/// Everything that is sent or answered is a sign of life and sets the interval anew.
struct HeartbeatTimer: Sendable {
  var policy: HeartbeatPolicy
  private(set) var mode = ApplicationMode.foreground
  private(set) var window = QualityWindow()
  private(set) var silence = SilenceLimit()
  /// When the next one is due; `nil`: none is.
  private(set) var due: Instant?
  /// Interval without jitter, as it was last computed.
  private(set) var interval: Duration?
  private var drawn: Int64 = 0
  private var isRunning = false

  init(policy: HeartbeatPolicy) { self.policy = policy }

  var quality: NetworkQuality { window.quality }

  /// A connection stands: the first beat is due at once if `beatsAtOnce`.
  mutating func start(beatsAtOnce: Bool, at now: Instant, _ random: inout SeededGenerator) {
    isRunning = true
    draw(&random)
    due = interval == nil ? nil : beatsAtOnce ? now : now.advanced(byNanoseconds: drawn)
  }

  /// No connection stands.
  mutating func stop() {
    isRunning = false
    due = nil
  }

  /// Something was sent or answered. Cheap: it runs for each message.
  @inline(__always)
  mutating func alive(at now: Instant) {
    if let due, due > now, policy.restartsOnTraffic { self.due = now.advanced(byNanoseconds: drawn) }
  }

  /// A beat went out.
  mutating func beaten(at now: Instant, _ random: inout SeededGenerator) {
    draw(&random)
    due = isRunning && interval != nil ? now.advanced(byNanoseconds: drawn) : nil
  }

  /// An answer came after a round trip, when the connection had been silent for `silent` nanoseconds before the beat.
  mutating func answered(after roundTrip: Int64, silent: Int64, at now: Instant, _ random: inout SeededGenerator) {
    window.answered(after: roundTrip)
    if policy.learnsSilence { silence.answered(after: silent) }
    guard isRunning else { return }
    draw(&random)
    due = interval == nil ? nil : now.advanced(byNanoseconds: drawn)
  }

  /// Another frame than a heartbeat was answered.
  mutating func sampled(_ roundTrip: Int64) { window.answered(after: roundTrip) }

  /// No answer came, or only over another connection.
  mutating func lost() { window.lost() }

  /// The connection was dead after a silence, and a new one worked at once.
  mutating func died(after silent: Int64) {
    if policy.learnsSilence { silence.died(after: silent) }
  }

  /// The mode changes; coming back to the foreground beats at once.
  mutating func setMode(_ mode: ApplicationMode, at now: Instant, _ random: inout SeededGenerator) {
    guard mode != self.mode else { return }
    self.mode = mode
    guard isRunning else { return }
    draw(&random)
    due = interval == nil ? nil : mode == .foreground ? now : now.advanced(byNanoseconds: drawn)
  }

  /// The path is another one.
  mutating func pathChanged() {
    window.reset()
    silence.reset()
  }

  private mutating func draw(_ random: inout SeededGenerator) {
    guard let length = policy.interval(mode: mode, quality: quality, roundTrip: window.roundTrip) else {
      interval = nil
      return
    }
    let bound = policy.interval(of: mode) ?? policy.foreground
    let jittered = Double(length.wholeNanoseconds) * (1 - policy.jitter + 2 * policy.jitter * random.fraction())
    let clamped = min(bound.maximum.wholeNanoseconds, max(bound.minimum.wholeNanoseconds, Int64(jittered)))
    // What the path does not survive counts more than the mode's minimum, down to a second.
    let limit = max(1_000_000_000, silence.limit ?? .max)
    interval = min(length, .nanoseconds(limit))
    drawn = min(clamped, limit)
  }
}
