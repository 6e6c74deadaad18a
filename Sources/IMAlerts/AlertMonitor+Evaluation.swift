import IMEngine
import IMMetrics
import IMWire

/// Series, and their evaluation when a step of a rule is over.
extension AlertMonitor {
  // MARK: Series

  /// The series of a rule that a connection belongs to, and that of `direction` where the metric is of one direction; `nil`
  /// where the rule is not about it, or there is no room.
  func series(
    _ index: Int, of known: MonitoredConnection, _ direction: Direction? = nil, _ origin: SampleOrigin = .connection,
    at time: Timestamp
  ) -> AlertSeries? {
    // Field by field: a copy of the whole would count up and down all that it refers to, for each sample.
    if let plan = watches[index].plan, plan != known.info.plan { return nil }
    var subject = AlertSeries.Subject(plan: known.info.plan, direction: direction)
    if let grouping = watches[index].rule.grouping {
      guard let group = group(grouping, of: known, origin) else { return nil }
      subject.group = group
    }
    switch watches[index].rule.scope {
    case .profile: return series(index, UInt32(known.info.plan), subject, at: time)
    case .endpoint:
      guard let endpoint = known.endpoint else { return nil }
      subject.server = known.info.server
      return series(index, endpoint, subject, at: time)
    case .connection:
      // What still comes of one that is over begins nothing.
      let key = AlertSeries.Key(subject: known.info.serial, direction: direction, group: subject.group)
      if known.isOver, watches[index].series[key] == nil { return nil }
      (subject.server, subject.connection) = (known.info.server, known.info)
      return series(index, known.info.serial, subject, at: time)
    case .owner:
      guard let name = name(ofOwner: known), let place = place(ofOwner: name) else { return nil }
      subject.owner = name
      return series(index, place << 8 | UInt32(known.info.plan), subject, at: time)
    case .capture: return nil
    }
  }

  private func name(ofOwner known: MonitoredConnection) -> String? {
    if known.owner == nil { known.owner = owner?(known.info) }
    return known.owner
  }

  /// The group that a sample belongs to; `nil` where it has none: a session without a name, a type that the profile does not know, a
  /// connection whose owner is not known.
  private func group(_ grouping: AlertGrouping, of known: MonitoredConnection, _ origin: SampleOrigin) -> AlertGroup? {
    switch grouping {
    case .client: return .client(known.info.client.address)
    case .network(let v4, let v6):
      let address = known.info.client.address
      let bits = address.isIPv6 ? v6 : v4
      return .network(address.network(bits: bits), bits: bits)
    case .owner: return name(ofOwner: known).map { .owner($0) }
    case .session: return sessions[origin.session]
    case .type:
      let plan = known.info.plan
      guard Int(plan) < plans.count else { return nil }
      let names = plans[Int(plan)].typeNames
      guard Int(origin.kind) < names.count else { return nil }
      return .type(plan: plan, kind: origin.kind, name: names[Int(origin.kind)])
    }
  }

  /// The place of an owner in the keys of series; `nil` where there are too many.
  func place(ofOwner name: String) -> UInt32? {
    if let known = owners[name] { return known }
    guard owners.count < limits.series else {
      figures.refused += 1
      return nil
    }
    let place = UInt32(owners.count)
    owners[name] = place
    return place
  }

  /// The series of the rule's scope with the number `number`, and of the subject's direction; made where there is none yet.
  func series(_ index: Int, _ number: UInt32, _ subject: AlertSeries.Subject, at time: Timestamp) -> AlertSeries? {
    let key = AlertSeries.Key(subject: number, direction: subject.direction, group: subject.group)
    if let series = watches[index].series[key] { return series }
    if let most = watches[index].rule.maximumSeries, watches[index].series.count >= most {
      sweep(index)
      guard watches[index].series.count < most else {
        refuse(index)
        return nil
      }
    }
    if seriesCount >= limits.series { sweep() }
    guard seriesCount < limits.series else {
      figures.refused += 1
      return nil
    }
    let series = AlertSeries(
      number: watches[index].created, key: key, rule: watches[index].rule, subject: subject, knownSince: time)
    watches[index].created += 1
    watches[index].series[key] = series
    if key.group != nil, subject.connection != nil { watches[index].groups[number, default: []].append(key) }
    seriesCount += 1
    return series
  }

  /// A sample is not kept, because its rule has as many states as it may. That is said once.
  private func refuse(_ index: Int) {
    figures.refused += 1
    watches[index].refused += 1
    guard !watches[index].isRefusalTold else { return }
    watches[index].isRefusalTold = true
    overflowed?(watches[index].rule)
  }

  /// Forgets what is inactive and has nothing in its window; once between two evaluations, as it looks at all.
  private func sweep() {
    guard !isSwept else { return }
    isSwept = true
    for index in watches.indices { sweep(index) }
  }

  /// The same of one rule.
  private func sweep(_ index: Int) {
    guard !watches[index].isSwept else { return }
    watches[index].isSwept = true
    let before = watches[index].series.count
    watches[index].series = watches[index].series.filter { $1.isActive || $1.state.phase != .inactive }
    let gone = before - watches[index].series.count
    seriesCount -= gone
    figures.evicted += UInt64(gone)
    guard gone > 0, !watches[index].groups.isEmpty else { return }
    watches[index].groups = Dictionary(grouping: watches[index].series.keys, by: \.subject)
  }

  /// Has the next evaluation look at a series, because something came.
  @inline(__always)
  func touch(_ index: Int, _ series: AlertSeries) { if !series.isActive { activate(index, series) } }

  /// Has the next evaluation look at a series.
  func activate(_ index: Int, _ series: AlertSeries) {
    guard !series.isActive else { return }
    series.isActive = true
    watches[index].active.append(series)
  }

  // MARK: Evaluation

  /// Evaluates what is due by the clock, in the order in which it became due, and then of the rules.
  @inline(never)
  func evaluate() {
    if due == .distantPast { return begin() }
    while let index = nextWatch(where: { watches[$0].due <= clock }) {
      step(index, clock.advanced(by: -watches[index].rule.lag))
    }
    schedule()
  }

  /// The rule that is evaluated next, of those that are let.
  private func nextWatch(where isLet: (Int) -> Bool) -> Int? {
    watches.indices.filter { !watches[$0].isExhausted && isLet($0) }.min { watches[$0].due < watches[$1].due }
  }

  /// The first packet: steps are counted from here.
  private func begin() {
    for index in watches.indices {
      watches[index].next = SlidingWindow.boundary(after: clock, step: watches[index].rule.step)
      // A rule about one profile waits for it from the beginning.
      expectFirst(index)
    }
    schedule()
  }

  /// Has a rule that asks for the silence of a profile wait for its first message.
  func expectFirst(_ index: Int) {
    let rule = watches[index].rule
    guard rule.comparison == .absent, rule.scope == .profile, rule.grouping == nil, let plan = watches[index].plan,
      let series = series(index, UInt32(plan), AlertSeries.Subject(plan: plan), at: clock)
    else { return }
    activate(index, series)
  }

  func schedule() {
    due = watches.filter { !$0.isExhausted }.map(\.due).min() ?? .distantFuture
    isSwept = false
    for index in watches.indices { watches[index].isSwept = false }
  }

  /// Evaluates every rule to the end of the step that `time` lies in.
  func evaluate(throughStepOf time: Timestamp) {
    if due == .distantPast { begin() }
    let ends = watches.map { SlidingWindow.boundary(after: time, step: $0.rule.step) }
    while let index = nextWatch(where: { watches[$0].next <= ends[$0] }) { step(index, ends[index]) }
  }

  /// One evaluation of one rule; sets the time of the next one.
  private func step(_ index: Int, _ limit: Timestamp) {
    let boundary = watches[index].next
    let rule = watches[index].rule
    var active = watches[index].active
    watches[index].active = []
    active.sort { $0.number < $1.number }
    var wake = Timestamp.distantFuture
    var stay: [AlertSeries] = []
    for series in active {
      look(index, rule, series, at: boundary)
      if series.isOver, series.window.isEmpty {
        remove(index, series)
      } else if isUnwatched(rule, at: boundary) {
        wake = min(wake, boundary.advanced(by: rule.step))
        stay.append(series)
      } else if let time = series.wake(rule, after: boundary, heldUntil: heldUntil(rule)) {
        wake = min(wake, time)
        stay.append(series)
      } else {
        series.isActive = false
      }
    }
    watches[index].active = stay
    // Steps at which nothing can change are passed over.
    let next = boundary.advanced(by: rule.step)
    let behind = SlidingWindow.boundary(after: limit, step: rule.step)
    watches[index].next = max(next, min(wake, behind))
    watches[index].isExhausted = next <= boundary
  }

  private func remove(_ index: Int, _ series: AlertSeries) {
    series.isActive = false
    guard series.subject.connection != nil, watches[index].series.removeValue(forKey: series.key) != nil else { return }
    seriesCount -= 1
    guard series.key.group != nil else { return }
    watches[index].groups[series.key.subject]?.removeAll { $0 == series.key }
    if watches[index].groups[series.key.subject]?.isEmpty == true { watches[index].groups[series.key.subject] = nil }
  }

  private func look(_ index: Int, _ rule: AlertRule, _ series: AlertSeries, at boundary: Timestamp) {
    let reading = series.read(rule, at: boundary) { open.contains($0) }
    var verdict = series.verdict(rule, reading, at: boundary)
    let isDoubtful =
      rule.metric.isDoubtful && series.isDoubtful(rule, reading.counts, dropped: droppedByKernel(rule, at: boundary))
    if verdict != .over, isDoubtful || isHeld(rule, at: boundary) {
      if isDoubtful || verdict == .wrong, !series.state.isFiring {
        noteHeld(index, rule, series, reading, at: boundary)
      }
      verdict = .held
    } else if isUnwatched(rule, at: boundary), rule.dependsOnAbsence(verdict) {
      verdict = .noData
    } else if series.isHeldTold {
      series.isHeldTold = false
      if verdict != .over, mayTell(index, at: boundary) {
        tell(event(index, series, .released, reading, at: boundary, since: boundary))
      }
    }
    let transition = series.state.take(
      verdict, at: boundary, patience: rule.patience, keepFiring: rule.keepFiring)
    if series.state.phase == .inactive, transition == nil, reading.counts.samples > 0 {
      forgetOldContributors(series, rule, boundary)
    }
    switch transition {
    case nil: break
    case .fired(let since):
      figures.fired += 1
      series.count += 1
      series.episode = boundary
      series.isMuted = !mayTell(index, at: boundary)
      guard !series.isMuted else { return }
      tell(event(index, series, .firing, reading, at: boundary, since: since))
    case .resolved(let since):
      figures.resolved += 1
      guard !series.isMuted else { return }
      var event = event(index, series, .resolved, reading, at: boundary, since: since)
      event.ending = verdict == .over ? .connection : nil
      tell(event)
    }
  }

  /// Resolves the alerts that fire, because a live run has ended and evaluates no rule any more. Call it after `finish`.
  package func end() {
    for index in watches.indices { end(index, .run) }
  }

  /// Resolves the alerts of a rule that fire, for a reason that is not their value.
  func end(_ index: Int, _ ending: AlertEvent.Ending) {
    for series in watches[index].series.values.sorted(by: { $0.number < $1.number }) where series.state.isFiring {
      let now = max(clock, watches[index].next.advanced(by: -watches[index].rule.step))
      let reading = series.read(watches[index].rule, at: now) { open.contains($0) }
      guard case .resolved(let since) = series.state.take(.over, at: now) else { continue }
      figures.resolved += 1
      guard !series.isMuted else { continue }
      var event = event(index, series, .resolved, reading, at: now, since: since)
      event.ending = ending
      tell(event)
    }
  }

  // MARK: Time without a run

  /// Whether the window that ends at `boundary` reaches into time in which no run watched.
  private func isUnwatched(_ rule: AlertRule, at boundary: Timestamp) -> Bool {
    unwatchedUntil.map { boundary.nanoseconds(since: $0) < rule.window } ?? false
  }

  // MARK: Drops

  /// Whether the capture dropped packets in the rule's window, so that what it sees cannot be trusted.
  private func isHeld(_ rule: AlertRule, at boundary: Timestamp) -> Bool {
    guard rule.isHeldByDrops, let last = lastDropAt else { return false }
    return boundary.nanoseconds(since: last) < rule.window
  }

  /// When the packets that the capture dropped last are out of a rule's window.
  private func heldUntil(_ rule: AlertRule) -> Timestamp {
    let times = [rule.isHeldByDrops ? lastDropAt : nil, rule.metric.isDoubtful ? lastKernelDropAt : nil]
    return times.compactMap(\.self).max().map { $0.advanced(by: rule.window) } ?? .distantPast
  }

  /// Packets that the kernel or the interface dropped lately, as far as they lie in the rule's window.
  private func droppedByKernel(_ rule: AlertRule, at boundary: Timestamp) -> UInt64 {
    guard let last = lastKernelDropAt, boundary.nanoseconds(since: last) < rule.window else { return 0 }
    return kernelDropped
  }

  private func noteHeld(
    _ index: Int, _ rule: AlertRule, _ series: AlertSeries, _ reading: AlertSeries.Reading, at boundary: Timestamp
  ) {
    guard !series.isHeldTold else { return }
    series.isHeldTold = true
    series.episode = boundary
    figures.held += 1
    guard mayTell(index, at: boundary) else { return }
    var event = event(index, series, .held, reading, at: boundary, since: boundary)
    event.dropped = rule.metric.isDoubtful ? droppedByKernel(rule, at: boundary) : dropped
    tell(event)
  }

  // MARK: Telling

  /// Whether the rule has told less than its limit in this minute.
  private func mayTell(_ index: Int, at time: Timestamp) -> Bool {
    if time.nanoseconds(since: watches[index].minute) >= 60_000_000_000 {
      watches[index].minute = time
      watches[index].told = 0
    }
    guard watches[index].told < limits.notifications else {
      watches[index].suppressed += 1
      figures.suppressed += 1
      return false
    }
    watches[index].told += 1
    return true
  }

  func event(
    _ index: Int, _ series: AlertSeries, _ state: AlertEvent.State, _ reading: AlertSeries.Reading,
    at boundary: Timestamp, since: Timestamp
  ) -> AlertEvent {
    let rule = watches[index].rule
    let subject = series.subject
    let profile = subject.plan.map { plans[Int($0)].name }
    var event = AlertEvent(
      rule: rule, state: state, at: boundary, since: since,
      fingerprint: AlertEvent.fingerprint(
        rule, profile: profile, server: subject.server, client: subject.connection?.client,
        owner: subject.owner, direction: subject.direction, group: subject.group),
      count: max(1, series.count), episode: series.episode ?? boundary)
    event.value = reading.value
    event.samples = reading.counts.samples
    event.affected = reading.counts.affected
    event.unknown = reading.counts.unknown
    event.first = reading.counts.first
    event.last = reading.counts.last
    event.plan = subject.plan
    event.profile = profile
    event.server = subject.server
    event.connection = subject.connection
    event.owner = subject.owner
    event.direction = subject.direction
    event.group = subject.group
    event.suppressed = watches[index].suppressed
    watches[index].suppressed = 0
    if state == .firing, collectsEvidence {
      event.contributors = series.contributors.values.map(\.connection).sorted { $0.serial < $1.serial }
    }
    return event
  }

  /// Connections whose last sample is older than the window are no evidence of what begins now. Where there are no samples,
  /// the last ones are.
  private func forgetOldContributors(_ series: AlertSeries, _ rule: AlertRule, _ boundary: Timestamp) {
    guard !series.contributors.isEmpty else { return }
    series.contributors = series.contributors.filter { boundary.nanoseconds(since: $1.at) <= rule.window }
  }
}
