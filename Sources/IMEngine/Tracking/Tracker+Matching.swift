import IMWire

extension Tracker {
  // MARK: Copies

  /// Joins a frame that expects an answer to its exchange, or begins one.
  @inline(__always)
  mutating func exchange(
    _ record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>, _ plan: UnsafePointer<Plan>,
    _ note: inout FrameNote
  ) {
    let (direction, sequence) = (record.pointee.direction, record.pointee.sequence)
    let isBad = record.pointee.facts.contains(.isBad)
    var session = sessions.pointer(flow.pointee.session)
    var place = session.exchanges(flow.pointee.session, direction, sequence)
    let isNew = place != nil && sessions.isNew(flow.pointee.session, direction, sequence, plan)
    if !isNew, !record.pointee.kind.pointee.flags.contains(.neverCopied) {
      if let known = find(flow.pointee.session, direction, sequence) {
        if join(record, to: known, flow, plan, &note) { return }
        if plan.pointee.sequenceCounts, !isBad, known.pointee.connection != flow.pointee.serial,
          part(flow, record.pointee.flow, plan)
        {
          note.session = flow.pointee.session
          session = sessions.pointer(flow.pointee.session)
          place = session.exchanges(flow.pointee.session, direction, sequence)
        }
      }
      if record.pointee.facts.contains(.isMarked), plan.pointee.endToEnd.isPresent,
        joinElsewhere(record, flow, plan, &note)
      {
        return
      }
    }
    if place != nil, isBad || !record.pointee.kind.pointee.flags.contains(.numbered) {
      sessions.skip(flow.pointee.session, direction, sequence, plan)
    }
    let kind = record.pointee.kind.pointee.index
    note.exchange = nextID
    note.copy = 1
    let exchange = KeptExchange(
      number: UInt32(truncatingIfNeeded: sequence), session: flow.pointee.session, direction: direction,
      firstAt: record.pointee.timestamp, flow: record.pointee.flow, connection: flow.pointee.serial,
      bodyCount: record.pointee.bodyCount,
      end: record.pointee.streamEnd, fingerprint: record.pointee.fingerprint, clock: record.pointee.clock,
      flags: isBad ? .bad : .good,
      plan: record.pointee.profile.plan, kind: kind)
    let new =
      if let place {
        table.append(exchange, id: nextID, at: place)
      } else {
        table.appendIndexed(exchange, numberHigh: UInt32(truncatingIfNeeded: sequence >> 32), id: nextID)
      }
    nextID &+= 1
    let figure = figures.pointer(flow.pointee.figures)
    figure.pointee.unsettled &+= 1
    let way = Int(direction.rawValue)
    total(record.pointee.profile.plan, kind).pointee.fates[way].units &+= 1
    let role = record.pointee.kind.pointee.role
    if role == .message { figure.pointee.units[way] &+= 1 }
    if role == .heartbeat { heartbeat(record.pointee.timestamp, figure, flow, plan) }
    if session.pointee.mayHaveOrphans(sequence) { adopt(new, record, flow, plan) }
  }

  /// A message or a heartbeat that asks for no answer: it is what it is at once, and counts among no units.
  @inline(never)
  mutating func oneWay(
    _ record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>, _ note: inout FrameNote
  ) {
    note.exchange = nextID
    note.copy = 1
    let new = table.append(
      KeptExchange(
        number: nextID, session: flow.pointee.session, direction: record.pointee.direction,
        firstAt: record.pointee.timestamp, flow: record.pointee.flow, connection: flow.pointee.serial,
        bodyCount: record.pointee.bodyCount, end: 0, fingerprint: 0, clock: 0,
        flags: record.pointee.facts.contains(.isBad) ? [.bad, .resolved] : [.good, .resolved],
        plan: record.pointee.profile.plan,
        kind: record.pointee.kind.pointee.index), id: nextID)
    new.pointee.outcome.decide(.unacknowledged)
    nextID &+= 1
    tellSettled(new, figures.pointer(flow.pointee.figures).pointee.endpoint)
  }

  /// A message whose number is how many precede it, where the capture does not tell that: its fate is unknown at once.
  @inline(never)
  mutating func uncounted(
    _ record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>, _ plan: UnsafePointer<Plan>, _ note: inout FrameNote
  ) {
    var own = record.pointee
    // A number that nothing else has.
    own.sequence = 3 << 62 | UInt64(nextID)
    withUnsafePointer(to: own) { exchange($0, flow, plan, &note) }
    guard let new = find(flow.pointee.session, own.direction, own.sequence) else { return }
    resolve(new, role(new), .unknown, flow)
  }

  /// A copy that comes as much later was sent again on purpose.
  private static var retryDistance: Nanoseconds { .seconds(1) }

  /// Makes the frame a copy of a known exchange; false when it is a new one that uses the number again. `isNamed` says that both
  /// have the same end-to-end number: then the copy may be on any connection of the client.
  @inline(never)
  mutating func join(
    _ record: UnsafePointer<FrameRecord>, to known: Ref<KeptExchange>,
    _ flow: Ref<Flow>, _ plan: UnsafePointer<Plan>, isNamed: Bool = false, _ note: inout FrameNote
  ) -> Bool {
    let fingerprint = record.pointee.fingerprint
    let isBad = record.pointee.facts.contains(.isBad)
    var found: Ref<KeptExchange>? = known
    while let candidate = found, candidate.pointee.kind != record.pointee.kind.pointee.index {
      found = next(after: candidate)
    }
    guard let exchange = found, !isForgotten(exchange, record.pointee.timestamp) else { return false }
    if mayBeOverdue(exchange, record.pointee.timestamp) { settleOverdue(exchange, record.pointee.timestamp) }
    let isElsewhere = exchange.pointee.connection != flow.pointee.serial
    if isElsewhere, !isNamed, !Self.outlives(plan, record), !isHere(exchange, flow) {
      // A sender that has used the number for another message since then has started over.
      guard record.pointee.kind.pointee.flags.contains(.outlives), exchange == known else { return false }
    }
    let isAnswered = exchange.pointee.isAnswered
    let isSame = table.fingerprint(of: exchange) == fingerprint
    if plan.pointee.sequenceCounts {
      // A damaged copy has another checksum, and a damaged first copy is told by the same length.
      let damaged = isBad || !exchange.pointee.flags.contains(.good)
      guard isSame || (damaged && exchange.pointee.bodyCount == record.pointee.bodyCount)
      else {
        return false
      }
    } else {
      // What is sent again may look different: a topic alias is its connection's. So the mark says it, where nothing answered.
      let isMarked = record.pointee.facts.contains(.isMarked)
      guard isSame || isMarked && !isAnswered, !isAnswered || isMarked else { return false }
    }
    let now = record.pointee.timestamp
    let gap = now.time(since: table.lastAt(exchange))
    let clock = record.pointee.clock
    let figure = figures.pointer(flow.pointee.figures)
    let total = total(record.pointee.profile.plan, record.pointee.kind.pointee.index)
    note.isRetry =
      gap >= Self.retryDistance || record.pointee.facts.contains(.isMarked)
      || isElsewhere && plan.pointee.numberLife != .session
      || exchange.pointee.status == 0 && clock != exchange.pointee.clock
    let isLate = isAnswered && now.microseconds > exchange.pointee.ackedAt.microseconds
    if isLate {
      // Its sender could not know of the answer yet, or did not hear it: neither a retry nor a slip, but a duplicate.
      note.isRetry = false
    } else if note.isRetry {
      rare(figure, flow).pointee.deliberateCopies &+= 1
      total.pointee.deliberateCopies &+= 1
    } else {
      rare(figure, flow).pointee.immediateDuplicates &+= 1
      total.pointee.immediateDuplicates &+= 1
    }
    let rest = table.rest(of: exchange)
    if isLate {
      note.isDuplicate = true
      rare(figure, flow).pointee.duplicates &+= 1
      total.pointee.duplicates &+= 1
      rest.pointee.duplicates &+= rest.pointee.duplicates == .max ? 0 : 1
    } else {
      rest.pointee.repeats &+= rest.pointee.repeats == .max ? 0 : 1
      if role(exchange) == .message { countRetry(exchange, flow) }
      exchange.pointee.marks.insert(.isRepeated)
    }
    if isBad {
      exchange.pointee.flags.insert(.bad)
    } else {
      if !exchange.pointee.flags.contains(.good) {
        exchange.pointee.flags.insert(.good)
        rest.pointee.fingerprint = fingerprint
      }
    }
    exchange.pointee.copied(at: now, clock: clock, &rest.pointee)
    if isElsewhere {
      let link = table.link(of: exchange)
      if elsewhere.count < Self.maximumElsewhere || elsewhere[link] != nil {
        elsewhere[link] = CopyElsewhere(
          flow: record.pointee.flow, serial: flow.pointee.serial, end: record.pointee.streamEnd)
      }
    }
    note.exchange = table.id(of: exchange)
    note.copy = table.copies(of: exchange)
    return true
  }

  /// Counts a retry of a message where the message began, or here where that connection is forgotten.
  private mutating func countRetry(_ exchange: Ref<KeptExchange>, _ flow: Ref<Flow>) {
    let first = flows.pointer(exchange.pointee.flow)
    let isKnown = first.pointee.serial == exchange.pointee.connection && first.pointee.figures != .max
    rare(of: isKnown ? first : flow).pointee.retries &+= 1
  }

  /// Whether a frame may be a copy of one on another connection of its session.
  private static func outlives(_ plan: UnsafePointer<Plan>, _ record: UnsafePointer<FrameRecord>) -> Bool {
    switch plan.pointee.numberLife {
    case .session: true
    case .marked: record.pointee.facts.contains(.isMarked)
    case .connection: false
    }
  }

  /// Whether a copy of an exchange was on this connection.
  @inline(__always)
  func isHere(_ exchange: Ref<KeptExchange>, _ flow: Ref<Flow>) -> Bool {
    exchange.pointee.connection == flow.pointee.serial
      || exchange.pointee.mayHaveCopyElsewhere
        && Self.isOn(flow.pointee.serial, elsewhere, table.link(of: exchange))
  }

  /// Whether the last copy of the exchange with that link was on the connection `serial`.
  @inline(never)
  private static func isOn(_ serial: UInt32, _ copies: [UInt32: CopyElsewhere], _ link: UInt32) -> Bool {
    copies[link]?.serial == serial
  }

  // MARK: Answers

  /// Joins an acknowledgment to what it names.
  @inline(__always)
  mutating func acknowledge(
    _ record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>, _ plan: UnsafePointer<Plan>,
    _ note: inout FrameNote
  ) {
    let sequence = record.pointee.named
    let answer = Answer(
      at: record.pointee.timestamp, types: record.pointee.kind.pointee.answers,
      refuses: record.pointee.facts.contains(.refuses), status: record.pointee.status)
    let inOrder = record.pointee.kind.pointee.flags.contains(.unnumbered)
    let isCumulative =
      record.pointee.kind.pointee.flags.contains(.cumulative) && !record.pointee.facts.contains(.isSingle)
    if !inOrder { note.ackOf = sequence }
    let reverse = record.pointee.direction.reversed
    let isScoped = plan.pointee.numberLife != .session
    if isCumulative {
      let isMixed = record.pointee.kind.pointee.flags.contains(.cumulativeOnDemand)
      answerEarlier(answer, than: sequence, flow, reverse, plan, isMixed: isMixed)
    }
    let newest = find(flow.pointee.session, reverse, sequence)
    var found = newest
    if isCumulative, plan.pointee.general != nil {
      // One that says again what was said is no second answer.
      if let newest, newest.pointee.isAnswered, isHere(newest, flow) { return }
      guard newest != nil || mayStillCome(flow, reverse) else { return }
    }
    if let newest, inOrder {
      let isStrict = plan.pointee.general != nil
      found = searchInOrder(
        from: newest, answer, flow, received: isStrict ? Self.received(record, flow, reverse) : nil, isStrict: isStrict)
    } else if let newest, !isAnswer(answer.types, answer.at, newest) || isScoped && !isHere(newest, flow) {
      found = search(from: newest, answer, flow, counts: plan.pointee.sequenceCounts, isScoped: isScoped)
    }
    guard let exchange = found else {
      let key = OrphanKey(session: flow.pointee.session, direction: reverse, sequence: sequence)
      if answerAliased(key, answer, on: flow, &note) { return }
      note.isOrphan = true
      rare(of: flow).pointee.orphanAcks &+= 1
      remember(
        key,
        Orphan(
          answer: answer, isCumulative: isCumulative, connection: flow.pointee.serial,
          acknowledged: record.pointee.facts.contains(.hasAcknowledged)
            && (!inOrder || plan.pointee.general == nil || record.pointee.facts.contains(.isCurrent))
            ? record.pointee.acknowledged : nil))
      return
    }
    if isCumulative, plan.pointee.general != nil, !exchange.pointee.isAnswered, leavesOpen(exchange, answer, flow) {
      return
    }
    self.answer(exchange, answer, on: flow, &note)
  }

  /// Whether a message of `direction` that an acknowledgment names may still be decoded, because bytes in front of it are missing so far.
  private func mayStillCome(_ flow: Ref<Flow>, _ direction: Direction) -> Bool {
    let state = flow.state(flow.pointee.side(direction))
    return state.pointee.queue != nil || state.pointee.partial != nil
  }

  /// Joins a frame that is no acknowledgment, as `record` says, to what it acknowledges all the same.
  @inline(never)
  mutating func acknowledgeToo(_ record: UnsafePointer<FrameRecord>, _ plan: UnsafePointer<Plan>) {
    var note = FrameNote()
    acknowledge(record, flows.pointer(record.pointee.flow), plan, &note)
  }

  /// Matches an acknowledgment with all exchanges that it names after the first, up to the number `last`. The search goes through the open ones, down
  /// to where none was seen for long.
  @inline(never)
  mutating func acknowledge(
    _ record: UnsafePointer<FrameRecord>, through last: UInt64, _ plan: UnsafePointer<Plan>
  ) {
    let flow = flows.pointer(record.pointee.flow)
    let answer = Answer(
      at: record.pointee.timestamp, types: record.pointee.kind.pointee.answers,
      refuses: record.pointee.facts.contains(.refuses), status: record.pointee.status)
    let direction = record.pointee.direction.reversed
    let isScoped = plan.pointee.numberLife != .session
    var last = last
    if plan.pointee.ackPlus != 0 { last = plan.number(before: last, by: plan.ackPlus(of: record.pointee.kind)) }
    var missing = 0
    var number = record.pointee.named
    for _ in 0..<Self.farthestEarlier {
      guard number != last, missing < Self.mostMissing else { return }
      number = plan.number(after: number)
      guard let exchange = findAnswerable(by: answer, flow, direction, number),
        isAnswer(answer.types, answer.at, exchange), !isScoped || isHere(exchange, flow)
      else {
        missing += 1
        continue
      }
      missing = 0
      guard !exchange.pointee.isAnswered else { continue }
      var note = FrameNote()
      self.answer(exchange, answer, on: flow, &note)
    }
  }

  /// Takes note in an answer's record of the status that its frame gives.
  @inline(never)
  mutating func noteStatus(
    _ frame: UnsafePointer<Frame>, _ record: UnsafeMutablePointer<FrameRecord>, _ plan: UnsafePointer<Plan>
  ) {
    if record.pointee.kind.pointee.flags.contains(.refusing), plan.refuses(frame.pointee.status, record.pointee.kind) {
      record.pointee.facts.insert(.refuses)
    }
    let code = StatusCode(frame.pointee, plan: record.pointee.profile.plan)
    let (place, isNew) = statuses.place(code)
    if isNew { sink.met(code, place: place) }
    record.pointee.status = place
  }

  /// Numbers in a row of which nothing was seen, at which the search for earlier ones ends: as many messages as a capture may
  /// have lost at once. And how far back it goes at most: all numbers that a counter of 16 bits has.
  private static var mostMissing: Int { 64 }
  private static var farthestEarlier: UInt64 { 65_536 }

  /// Answers what `direction` still has open of the numbers before `sequence`, for an acknowledgment that says so: down to one
  /// that is answered already, or to where none was seen for long.
  ///
  /// With `isMixed`, messages are answered one by one, too: then it goes down to where the last such acknowledgment began, or to where
  /// many are answered.
  @inline(never)
  mutating func answerEarlier(
    _ answer: Answer, than sequence: UInt64, _ flow: Ref<Flow>, _ direction: Direction,
    _ plan: UnsafePointer<Plan>, isMixed: Bool = false
  ) {
    let isScoped = plan.pointee.numberLife != .session
    let key = OrphanKey(session: flow.pointee.session, direction: direction, sequence: sequence & ~0xffff_ffff)
    let floor = isMixed ? floors[key] : nil
    if isMixed {
      if floors.count >= Self.maximumOrphans, floor == nil { floors.removeAll(keepingCapacity: true) }
      floors[key] = sequence
    }
    var answered = 0
    var missing = 0
    var distance: UInt64 = 0
    var farthest: UInt64 = 0
    while missing < Self.mostMissing, distance < min(Self.farthestEarlier, plan.pointee.counterWrap - 1) {
      distance += 1
      let number = plan.number(before: sequence, by: distance)
      if number == floor { break }
      guard let newest = findAnswerable(by: answer, flow, direction, number),
        !isForgotten(newest, answer.at)
      else {
        missing += 1
        continue
      }
      missing = 0
      guard isAnswer(answer.types, answer.at, newest), !isScoped || isHere(newest, flow) else { continue }
      if newest.pointee.isAnswered {
        answered += 1
        if !isMixed || answered > Self.mostMissing { break }
        continue
      }
      // What was left open on purpose once ends the search, too.
      if plan.pointee.general != nil, newest.pointee.flags.contains(.resolved), newest.pointee.fate == .unknown {
        break
      }
      farthest = distance
    }
    // The oldest first, as they were sent.
    while farthest > 0 {
      let number = plan.number(before: sequence, by: farthest)
      farthest -= 1
      guard let exchange = findAnswerable(by: answer, flow, direction, number),
        isAnswer(answer.types, answer.at, exchange),
        !exchange.pointee.isAnswered, !isScoped || isHere(exchange, flow)
      else { continue }
      if plan.pointee.general != nil, leavesOpen(exchange, answer, flow) { continue }
      var note = FrameNote()
      self.answer(exchange, answer, on: flow, &note)
    }
  }

  /// Whether a cumulative answer may not be the one that answered an exchange, because the capture lacks bytes of its direction, among which
  /// an earlier one may have been: then nobody knows when it was answered.
  private mutating func leavesOpen(_ exchange: Ref<KeptExchange>, _ answer: Answer, _ flow: Ref<Flow>) -> Bool {
    let answering = flow.pointee.side(exchange.pointee.direction.reversed)
    guard let loss = lastLoss(flow, answering, upTo: answer.at), loss > exchange.pointee.firstAt else { return false }
    if !exchange.pointee.flags.contains(.resolved) { resolve(exchange, role(exchange), .unknown, flow) }
    return true
  }

  /// The newest exchange of a number, or the newest of a type that `answer` is for where there are several.
  private mutating func findAnswerable(
    by answer: Answer, _ flow: Ref<Flow>, _ direction: Direction, _ sequence: UInt64
  ) -> Ref<KeptExchange>? {
    let newest = find(flow.pointee.session, direction, sequence)
    var found = newest
    var steps = 0
    while let exchange = found, answer.types &>> UInt64(exchange.pointee.kind & 63) & 1 == 0, steps < 4 {
      found = next(after: exchange)
      steps += 1
    }
    return found ?? newest
  }

  /// Whether a frame whose type answers `answers` can answer that exchange at `now`.
  @inline(__always)
  func isAnswer(_ answers: UInt64, _ now: Timestamp, _ exchange: Ref<KeptExchange>) -> Bool {
    answers &>> UInt64(exchange.pointee.kind & 63) & 1 == 1 && exchange.pointee.firstAt <= now
      && !isTooLate(now, exchange)
  }

  /// Whether an answer at `now` no longer counts: its message was resolved, and is due to be forgotten.
  @inline(__always)
  func isTooLate(_ now: Timestamp, _ exchange: Ref<KeptExchange>) -> Bool { isForgotten(exchange, now) }

  /// The same type and number in the other direction answers, where the protocol does it so.
  mutating func answerEcho(
    _ record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>, isScoped: Bool, _ note: inout FrameNote
  ) -> Bool {
    var found = find(flow.pointee.session, record.pointee.direction.reversed, record.pointee.sequence)
    if isScoped {
      var steps = 0
      while let exchange = found, !isHere(exchange, flow), steps < 32 {
        found = next(after: exchange)
        steps += 1
      }
    }
    guard let exchange = found, !isScoped || isHere(exchange, flow),
      exchange.pointee.kind == record.pointee.kind.pointee.index, exchange.pointee.firstAt <= record.pointee.timestamp,
      !isTooLate(record.pointee.timestamp, exchange)
    else { return false }
    note.isAck = true
    note.ackOf = record.pointee.sequence
    let answer = Answer(
      at: record.pointee.timestamp, types: 1 &<< UInt64(exchange.pointee.kind & 63), refuses: false, status: 0)
    self.answer(exchange, answer, on: flow, &note)
    return true
  }

  /// Takes note of an answer that came on the connection `answering`.
  @inline(__always)
  mutating func answer(
    _ exchange: Ref<KeptExchange>, _ answer: Answer, on answering: Ref<Flow>,
    _ note: inout FrameNote
  ) {
    note.exchange = table.id(of: exchange)
    guard !exchange.pointee.isAnswered else {
      if answerTwin(of: exchange, answer, on: answering, &note) { return }
      let rest = table.rest(of: exchange)
      rest.pointee.furtherAcks &+= rest.pointee.furtherAcks == .max - 1 ? 0 : 1
      note.isDupAck = true
      dupAcks += 1
      rare(of: answering).pointee.dupAcks &+= 1
      return
    }
    let flow = flows.pointer(exchange.pointee.flow)
    // Its connection was forgotten for want of room, and its fate was told.
    guard flow.pointee.serial == exchange.pointee.connection else { return }
    if mayBeOverdue(exchange, answer.at) { settleOverdue(exchange, answer.at) }
    var latency = exchange.pointee.answered(at: answer.at, status: answer.status)
    if isTimeless {
      exchange.pointee.forgetDelay()
      latency = nil
    }
    if let latency { note.answered(after: latency, isOfOneCopy: !exchange.pointee.isRepeated) }
    total(exchange.pointee.plan, exchange.pointee.kind).pointee.answered &+= 1
    let figure = figures.pointer(flow.pointee.figures)
    let role = role(exchange)
    if answer.refuses { exchange.pointee.flags.insert(.refused) }
    if role == .heartbeat { answeredHeartbeat(exchange, figure, note.roundTrip) }
    if exchange.pointee.isHandshake, table.link(of: exchange) == figure.pointee.handshakeExchange {
      acknowledgeHandshake(exchange, figure)
    }
    resolve(exchange, role, answer.refuses ? .rejected : exchange.pointee.isRepeated ? .ackedAfterRetry : .acked, flow)
  }

  /// Counts a heartbeat's answer. One that was given up before is no longer missed, or no longer unknown.
  private mutating func answeredHeartbeat(
    _ exchange: Ref<KeptExchange>, _ figure: Ref<ConnectionMetrics>,
    _ roundTrip: Nanoseconds?
  ) {
    // There are none where a profile that was read again has made it one.
    guard figure.pointee.heartbeats != .max else { return }
    let beats = heartbeats.pointer(figure.pointee.heartbeats)
    beats.pointee.answered(after: roundTrip)
    guard exchange.pointee.flags.contains(.resolved) else { return }
    switch exchange.pointee.fate {
    case .unanswered, .damaged: beats.pointee.missed &-= beats.pointee.missed > 0 ? 1 : 0
    case .unknown: beats.pointee.unknown &-= beats.pointee.unknown > 0 ? 1 : 0
    default: break
    }
  }
}
