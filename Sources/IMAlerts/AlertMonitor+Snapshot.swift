import IMEngine
import IMMetrics
package import IMWire

/// A server or a connection of an earlier run, by which its series are found again.
struct UnboundSubject: Hashable {
  var plan: UInt8
  var server: Endpoint
  /// The ends of a connection on the client's side; `nil` for all connections to the server.
  var client: Endpoint?, peer: Endpoint?
}

/// State that outlives a run.
extension AlertMonitor {
  /// The first number of series of an earlier run to which no connection belongs: engines do not count as far.
  private static let firstUnbound: UInt32 = 1 << 31
  /// How long after the last packet the timeout of an answer may end, in nanoseconds.
  private static let furthest: Int64 = 600_000_000_000

  /// What was counted and told so far; `text` is the file of the rules. `nil` before the first packet.
  package func snapshot(text: String) -> AlertSnapshot? {
    guard due > .distantPast else { return nil }
    var snapshot = AlertSnapshot(text: text, clock: clock, horizon: horizon, profiles: plans.map(\.name))
    (snapshot.lastDropAt, snapshot.lastKernelDropAt) = (lastDropAt, lastKernelDropAt)
    (snapshot.dropped, snapshot.kernelDropped) = (dropped, kernelDropped)
    snapshot.unwatchedUntil = unwatchedUntil
    snapshot.rules = watches.map { watch in
      var rule = AlertSnapshot.Rule(
        name: watch.rule.name, created: watch.created, next: watch.next, minute: watch.minute)
      (rule.told, rule.suppressed) = (watch.told, watch.suppressed)
      rule.series = watch.series.values.sorted { $0.number < $1.number }.map(Self.kept)
      return rule
    }
    return snapshot
  }

  private static func kept(_ series: AlertSeries) -> AlertSnapshot.Series {
    var kept = AlertSnapshot.Series(
      number: series.number, subject: series.subject, knownSince: series.knownSince, phase: series.state.phase)
    (kept.isActive, kept.isOver) = (series.isActive, series.isOver)
    (kept.isMuted, kept.isHeldTold) = (series.isMuted, series.isHeldTold)
    (kept.count, kept.episode, kept.window) = (series.count, series.episode, series.window.entries)
    return kept
  }

  /// Takes up what an earlier run has counted and told, before the first packet.
  ///
  /// `old` are the rules of `snapshot.text`. Those that judge as before go on, alerts of the others are resolved with that as the reason, as
  /// where rules are read again. `watchedFrom` is when this run began to watch, live: of the time before it, back to the end of the
  /// earlier run, nothing is known. Without it the packets of both runs follow each other.
  package func resume(_ snapshot: AlertSnapshot, rules old: [AlertRule], watchedFrom: Timestamp?) -> RuleChanges {
    let rules = watches.map(\.rule)
    // Nothing of it is later than the packets that it was counted from: who waits for what is far ahead would look at each step until then.
    clock = snapshot.clock
    horizon = min(snapshot.horizon, clock.advanced(by: Self.furthest))
    (lastDropAt, lastKernelDropAt) = (snapshot.lastDropAt, snapshot.lastKernelDropAt)
    (dropped, kernelDropped) = (snapshot.dropped, snapshot.kernelDropped)
    unwatchedUntil = snapshot.unwatchedUntil.map { min($0, clock) }
    if let watchedFrom, watchedFrom > clock {
      clock = watchedFrom
      unwatchedUntil = max(watchedFrom, unwatchedUntil ?? watchedFrom)
    }
    let kept = Dictionary(snapshot.rules.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    let plans = snapshot.profiles.map { name in self.plans.firstIndex { $0.name == name }.map { UInt8($0) } }
    watches = old.map { Self.watch($0, self.plans) }
    var unbound = Self.firstUnbound
    for index in watches.indices {
      guard let rule = kept[watches[index].rule.name] else { continue }
      resume(index, rule, plans, snapshot.clock, &unbound)
    }
    hasUnbound = watches.contains { !$0.unbound.isEmpty }
    schedule()
    return replace(rules: rules, moves: FilterMoves(filters: [], answers: []))
  }

  private func resume(
    _ index: Int, _ kept: AlertSnapshot.Rule, _ plans: [UInt8?], _ then: Timestamp, _ unbound: inout UInt32
  ) {
    let rule = watches[index].rule
    watches[index].created = kept.created
    (watches[index].minute, watches[index].told) = (min(kept.minute, then), kept.told)
    watches[index].suppressed = kept.suppressed
    // No boundary lies elsewhere; one of the time in which no run watched is passed over.
    let evaluated = then.advanced(by: -rule.lag)
    let isBoundary =
      kept.next.nanoseconds % rule.step == 0 && kept.next > evaluated
      && kept.next <= SlidingWindow.boundary(after: then, step: rule.step)
    let next = isBoundary ? kept.next : SlidingWindow.boundary(after: evaluated, step: rule.step)
    let first = unwatchedUntil.map { SlidingWindow.boundary(after: $0.advanced(by: -1), step: rule.step) }
    watches[index].next = clock > then ? max(next, first ?? next) : next
    let last = then.advanced(by: Self.furthest).nanoseconds / rule.step
    for series in kept.series {
      guard let subject = subject(series.subject, plans), let number = number(rule, subject, &unbound) else { continue }
      let key = AlertSeries.Key(subject: number, direction: subject.direction, group: subject.group)
      guard watches[index].series[key] == nil else { continue }
      let taken = AlertSeries(
        number: series.number, key: key, rule: rule, subject: subject, knownSince: min(series.knownSince, then))
      taken.window = SlidingWindow(
        step: rule.step, count: rule.window / rule.step, entries: series.window.filter { $0.number <= last })
      taken.state = AlertState(phase: series.phase.noLater(than: then))
      // Until a packet shows that it goes on, a connection is over.
      taken.isOver = series.isOver || subject.connection != nil
      (taken.isMuted, taken.isHeldTold) = (series.isMuted, series.isHeldTold)
      (taken.count, taken.episode) = (series.count, series.episode)
      watches[index].series[key] = taken
      seriesCount += 1
      if key.group != nil, subject.connection != nil { watches[index].groups[number, default: []].append(key) }
      if series.isActive || taken.isOver || taken.state.phase != .inactive { activate(index, taken) }
      guard number >= Self.firstUnbound, let plan = subject.plan, let server = subject.server else { continue }
      let connection = subject.connection
      let place = UnboundSubject(plan: plan, server: server, client: connection?.client, peer: connection?.peer)
      watches[index].unbound[place, default: []].append(key)
    }
  }

  /// A subject with the indices of this run; `nil` where the run has no such profile or type.
  private func subject(_ kept: AlertSeries.Subject, _ plans: [UInt8?]) -> AlertSeries.Subject? {
    var subject = kept
    if let plan = kept.plan {
      guard Int(plan) < plans.count, let now = plans[Int(plan)] else { return nil }
      subject.plan = now
      subject.connection?.plan = now
    }
    if case .type(_, _, let name) = kept.group {
      guard let plan = subject.plan, let kind = self.plans[Int(plan)].typeNames.firstIndex(of: name) else { return nil }
      subject.group = .type(plan: plan, kind: UInt8(truncatingIfNeeded: kind), name: name)
    }
    return subject
  }

  /// The number in the key of a series; `nil` where the subject is none of the rule's scope.
  private func number(_ rule: AlertRule, _ subject: AlertSeries.Subject, _ unbound: inout UInt32) -> UInt32? {
    switch rule.scope {
    case .capture: return .max
    case .profile: return subject.plan.map { UInt32($0) }
    case .owner:
      guard let name = subject.owner, let plan = subject.plan, let place = place(ofOwner: name) else { return nil }
      return place << 8 | UInt32(plan)
    case .endpoint, .connection:
      guard subject.plan != nil, subject.server != nil, (subject.connection != nil) == (rule.scope == .connection)
      else {
        return nil
      }
      unbound += 1
      return unbound
    }
  }

  /// Gives a connection, and its server, the series that an earlier run has kept of them.
  func bind(_ known: MonitoredConnection) {
    let info = known.info
    for index in watches.indices where !watches[index].unbound.isEmpty {
      var subject = UnboundSubject(plan: info.plan, server: info.server)
      let number: UInt32
      switch watches[index].rule.scope {
      case .endpoint:
        guard let endpoint = known.endpoint else { continue }
        number = endpoint
      case .connection:
        // A further one between the same ends is another.
        guard !info.sawOpening else { continue }
        (subject.client, subject.peer) = (info.client, info.peer)
        number = info.serial
      case .profile, .owner, .capture: continue
      }
      guard let keys = watches[index].unbound.removeValue(forKey: subject) else { continue }
      for key in keys { bind(index, key, to: number, known) }
    }
    hasUnbound = watches.contains { !$0.unbound.isEmpty }
  }

  private func bind(_ index: Int, _ key: AlertSeries.Key, to number: UInt32, _ known: MonitoredConnection) {
    let new = AlertSeries.Key(subject: number, direction: key.direction, group: key.group)
    guard watches[index].series[new] == nil, let series = watches[index].series.removeValue(forKey: key) else { return }
    series.key = new
    watches[index].series[new] = series
    guard series.subject.connection != nil else { return }
    series.subject.connection = known.info
    series.isOver = known.isOver
    activate(index, series)
    guard new.group != nil else { return }
    watches[index].groups[key.subject] = nil
    watches[index].groups[number, default: []].append(new)
  }

  /// Ends a run whose state is kept: what has come is counted, and steps that are not over are left to the next run. After the engine's
  /// `finish`; `time` is that of the last packet.
  package func suspend(at time: Timestamp?) {
    if let time { tick(time) }
    for exchange in early { resolve(exchange) }
    early.removeAll()
  }

  /// The alerts that fire, as they would be told now, in the order of the rules.
  package var firing: [AlertEvent] {
    watches.indices.flatMap { index in
      watches[index].series.values.filter { !$0.isMuted }.sorted { $0.number < $1.number }.compactMap { series in
        guard case .firing(let since, _) = series.state.phase else { return nil }
        let reading = series.read(watches[index].rule, at: clock) { open.contains($0) }
        let suppressed = watches[index].suppressed
        defer { watches[index].suppressed = suppressed }
        return event(index, series, .firing, reading, at: clock, since: since)
      }
    }
  }
}

extension AlertState.Phase {
  /// The phase, begun at `time` where it says that it began later.
  fileprivate func noLater(than time: Timestamp) -> Self {
    switch self {
    case .inactive: .inactive
    case .pending(let since): .pending(since: min(since, time))
    case .firing(let since, let right): .firing(since: min(since, time), right: right.map { min($0, time) })
    }
  }
}
