package import IMEngine
package import IMMetrics
package import IMWire

/// Something to tell of an alert, with its evidence.
package struct AlertEvent: Sendable {
  /// What is told.
  package enum State: String, Sendable {
    /// It fires.
    case firing
    /// It is over.
    case resolved
    /// It would fire, but the capture drops packets, so nobody can tell. Not a state of the rule: a note, once.
    case held
    /// What it was held for is over. A note, too.
    case released
  }

  /// Why an alert is resolved though its value is not right again.
  package enum Ending: Sendable {
    /// Its connection is over.
    case connection
    /// The run has ended, and no rule is evaluated any more.
    case run
    /// The rules were read again, and its rule is not among them.
    case removed
    /// The rules were read again, and its rule is another.
    case changed
  }

  /// What the rule says.
  package var rule: AlertRule
  /// What is told.
  package var state: State
  /// The moment of the evaluation, in packet time.
  package var at: Timestamp
  /// Since when it has been wrong.
  package var since: Timestamp
  /// 16 hexadecimal digits made of the rule's name and of what it is about; never of the value.
  package var fingerprint: String
  /// How often this fingerprint has fired in this run, this time included.
  package var count: UInt64
  /// The moment at which the episode began: the boundary at which it fired, or at which it was first held.
  package var episode: Timestamp
  /// The value at this moment; `nil` where there is none: `absent`, or the connection is over.
  package var value: Double?
  /// Samples in the window; of them, those that count against.
  package var samples: UInt64 = 0, affected: UInt64 = 0
  /// Messages of the window of which nobody knows what became, because the capture lacks bytes.
  package var unknown: UInt64 = 0
  /// The first and the last connection that a sample of the window counted against.
  package var first: SlidingWindow.Affected?, last: SlidingWindow.Affected?
  /// The profile's index and its name.
  package var plan: UInt8?, profile: String?
  /// The server, for the scopes `endpoint` and `connection`.
  package var server: Endpoint?
  /// The connection, for the scope `connection`.
  package var connection: ConnectionInfo?
  /// The unit or the container, for the scope `owner`.
  package var owner: String?
  /// The direction of the messages whose round trips it is about; `nil` where the metric is not of one direction.
  package var direction: Direction?
  /// The group within the scope that it is about, for rules with `by`.
  package var group: AlertGroup?
  /// The run that tells it, as documents name it; `nil` where it has no name.
  package var run: String?
  /// Why it is resolved, where that is not its value.
  package var ending: Ending?
  /// Packets that the capture dropped, or holes that it left, as far as they were counted, for `held`.
  package var dropped: UInt64 = 0
  /// Alerts of this rule that were not told since the last one that was: the limit is 100 a minute.
  package var suppressed: UInt64 = 0
  /// The name of the capture of the packets behind it, where one is written.
  package var evidence: String?
  /// The connections that had samples in the windows that made it fire; only where evidence is collected.
  package var contributors: [ConnectionInfo] = []

  /// The name of the episode: the same when it fires and when it is resolved, in every run over the same packets, and of no
  /// other episode: the fingerprint and the milliseconds since 1970 at which the episode began.
  package var id: String { "\(fingerprint)-\(episode.microseconds / 1_000)" }

  /// The fingerprint of a rule and what it is about.
  static func fingerprint(
    _ rule: AlertRule, profile: String?, server: Endpoint?, client: Endpoint?, owner: String? = nil,
    direction: Direction? = nil, group: AlertGroup? = nil
  ) -> String {
    var labels = [("rule", rule.name), ("scope", rule.scope.rawValue)]
    if let profile { labels.append(("profile", profile)) }
    if let server { labels.append(("server", "\(server)")) }
    if let client { labels.append(("client", "\(client)")) }
    if let owner { labels.append(("owner", owner)) }
    if let direction { labels.append(("direction", direction.shortName)) }
    if let group, let grouping = rule.grouping { labels.append(("group", "\(grouping.name)=\(group.name)")) }
    // A byte that no value has stands between them.
    let parts = labels.sorted { $0.0 < $1.0 }.map { "\($0.0)=\($0.1)" }.joined(separator: "\u{0}")
    return SHA1.shortDigest(parts)
  }
}
