package import IMWire

/// Where one rule stands for one endpoint, profile or connection.
///
///     inactive --wrong--> pending --wrong for `patience`--> firing --right for `keepFiring`--> resolved (and inactive)
///        ^                   |                                |  ^
///        +----not wrong------+                                +--+ wrong, or not right enough (`clear`)
///
/// Without data nothing changes, whatever time passes. Events in as a call, what follows out as a value; no clock.
package struct AlertState: Equatable, Sendable {
  /// The four states; `resolved` is the moment between two of them.
  package enum Phase: Equatable, Sendable {
    /// All is well, as far as is known.
    case inactive
    /// It is wrong since then, but not for long enough.
    case pending(since: Timestamp)
    /// It was told. `since` is when it began to be wrong; `right` since when it is right again.
    case firing(since: Timestamp, right: Timestamp?)
  }

  /// What an evaluation found.
  package enum Verdict: Equatable, Sendable {
    /// Nothing to judge by.
    case noData
    /// Wrong, or right, as far as can be seen; but the capture drops packets.
    case held
    /// Beyond the threshold.
    case wrong
    /// Not beyond the threshold, but beyond `clear`.
    case between
    /// Right.
    case right
    /// There is nothing left to judge.
    case over
  }

  /// What has to be told.
  package enum Transition: Equatable, Sendable {
    /// It fires, wrong since then.
    case fired(since: Timestamp)
    /// It is resolved, having been wrong since then.
    case resolved(since: Timestamp)
  }

  /// Where it stands.
  package private(set) var phase = Phase.inactive

  /// Inactive.
  package init() {}

  /// In a phase that an earlier run has reached.
  init(phase: Phase) { self.phase = phase }

  /// Whether it fires.
  package var isFiring: Bool { if case .firing = phase { true } else { false } }

  /// Takes a verdict of the moment `now`.
  package mutating func take(
    _ verdict: Verdict, at now: Timestamp, patience: Int64 = 0, keepFiring: Int64 = 0
  ) -> Transition? {
    switch (phase, verdict) {
    case (_, .noData), (_, .held):
      return nil
    case (.inactive, .wrong):
      if patience <= 0 { return fire(now) }
      phase = .pending(since: now)
      return nil
    case (.pending(let since), .wrong):
      return now.nanoseconds(since: since) >= patience ? fire(since) : nil
    case (.inactive, _), (.pending, _):
      phase = .inactive
      return nil
    case (.firing(let since, _), .wrong), (.firing(let since, _), .between):
      phase = .firing(since: since, right: nil)
      return nil
    case (.firing(let since, let right), .right):
      let begun = right ?? now
      guard now.nanoseconds(since: begun) >= keepFiring else {
        phase = .firing(since: since, right: begun)
        return nil
      }
      return resolve(since)
    case (.firing(let since, _), .over):
      return resolve(since)
    }
  }

  private mutating func fire(_ since: Timestamp) -> Transition {
    phase = .firing(since: since, right: nil)
    return .fired(since: since)
  }

  private mutating func resolve(_ since: Timestamp) -> Transition {
    phase = .inactive
    return .resolved(since: since)
  }
}
