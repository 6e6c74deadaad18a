import IMWire

/// Messages that answers name by another number than their own: that of a copy on a connection to another server, or one that
/// is in the body.
extension Tracker {
  /// A message by what finds it: the newest of its number is it, or one after that.
  struct Alias {
    var session: UInt32, sequence: UInt64
    var firstAt: Timestamp
    /// When it was noted.
    var at: Timestamp
  }

  /// What numbers that bodies refer to have in them, so that none of them is a sequence number.
  static var reference: UInt64 { 1 << 62 }
  /// Aliases that are remembered, and for how long: beyond, their answers are orphans.
  private static var maximumAliases: Int { 65_536 }
  private static var aliasPatience: Nanoseconds { .seconds(120) }
  /// Exchanges that are looked at, from the newest on, for the one that a marked frame repeats.
  private static var farthestCopy: Int { 4_096 }

  /// Joins a frame that is marked as sent again to the message with the same end-to-end number, which its client sent on another
  /// connection, perhaps to another server; false where none is remembered.
  @inline(never)
  mutating func joinElsewhere(
    _ record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>, _ plan: UnsafePointer<Plan>, _ note: inout FrameNote
  ) -> Bool {
    guard let exchange = original(of: record, flow) else { return false }
    let number = table.sequence(of: exchange)
    let alias = Alias(
      session: exchange.pointee.session, sequence: number, firstAt: exchange.pointee.firstAt,
      at: record.pointee.timestamp)
    guard join(record, to: exchange, flow, plan, isNamed: true, &note) else { return false }
    let key = OrphanKey(
      session: flow.pointee.session, direction: record.pointee.direction, sequence: record.pointee.sequence)
    if key.session != alias.session || key.sequence != number { remember(alias, as: key) }
    return true
  }

  /// The newest message without an answer that has the type and the end-to-end number of a frame, and was sent by the same client on
  /// another connection; one that was answered where there is no other.
  private mutating func original(
    of record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>
  ) -> Ref<KeptExchange>? {
    let client = flow.pointee.key.endpoint(Int(flow.pointee.client)).address
    var answered: Ref<KeptExchange>?
    searchCredit = min(searchCredit &+ 64, Self.maximumSearchCredit)
    var position = table.tail
    let last = position - min(position - table.head, UInt64(Self.farthestCopy))
    while position > last, searchCredit > 0 {
      position -= 1
      searchCredit -= 1
      let exchange = table.pointer(position)
      guard exchange.pointee.kind == record.pointee.kind.pointee.index, !exchange.pointee.flags.contains(.moved),
        exchange.pointee.plan == record.pointee.profile.plan, exchange.pointee.direction == record.pointee.direction,
        exchange.pointee.connection != flow.pointee.serial,
        table.fingerprint(of: exchange) == record.pointee.fingerprint, !isTooLate(record.pointee.timestamp, exchange)
      else { continue }
      let other = flows.pointer(exchange.pointee.flow)
      guard other.pointee.serial == exchange.pointee.connection,
        other.pointee.key.endpoint(Int(other.pointee.client)).address == client
      else { continue }
      if !exchange.pointee.isAnswered { return exchange }
      answered = answered ?? exchange
    }
    return answered
  }

  /// Takes note of the number in a message's body by which its answer may name it; the message was tracked just now.
  mutating func refer(_ frame: UnsafePointer<Frame>, _ flow: Ref<Flow>, _ direction: Direction) {
    guard frame.pointee.flags.contains(.reference),
      let exchange = find(flow.pointee.session, direction, frame.pointee.sequence)
    else { return }
    let key = OrphanKey(
      session: flow.pointee.session, direction: direction, sequence: Self.reference | frame.pointee.answered)
    let alias = Alias(
      session: exchange.pointee.session, sequence: frame.pointee.sequence, firstAt: exchange.pointee.firstAt,
      at: frame.pointee.timestamp)
    remember(alias, as: key)
  }

  private mutating func remember(_ alias: Alias, as key: OrphanKey) {
    while let (old, at) = aliasOrder.first,
      aliasOrder.count >= Self.maximumAliases || alias.at.time(since: at) > Self.aliasPatience
    {
      _ = aliasOrder.popFirst()
      // The number may have come to name another message since.
      if aliases[old]?.at == at { aliases[old] = nil }
    }
    aliases[key] = alias
    aliasOrder.append((key, alias.at))
  }

  /// Answers the message that is known by `key` beside its own number; false where there is none, and its answer is an orphan.
  ///
  /// An answer that names a number in a body is none: pieces of a message do not have it.
  @inline(never)
  mutating func answerAliased(
    _ key: OrphanKey, _ answer: Answer, on flow: Ref<Flow>, _ note: inout FrameNote
  ) -> Bool {
    let isReference = key.sequence >> 62 == 1
    if isReference { note.ackOf = nil }
    guard let alias = aliases[key] else { return isReference }
    var found = find(alias.session, key.direction, alias.sequence)
    var steps = 0
    while let exchange = found, exchange.pointee.firstAt != alias.firstAt, steps < 32 {
      found = next(after: exchange)
      steps += 1
    }
    guard let exchange = found, exchange.pointee.firstAt == alias.firstAt,
      isAnswer(answer.types, answer.at, exchange)
    else { return isReference }
    if isReference {
      note.ackOf = alias.sequence
      // A message that its own number answered, too, has no duplicate of that.
      if exchange.pointee.isAnswered {
        note.exchange = table.id(of: exchange)
        return true
      }
    }
    self.answer(exchange, answer, on: flow, &note)
    return true
  }

  /// Gives a further answer of a heartbeat to the newest older one on its connection with the same number that has none: clients send
  /// all of theirs with one number. False where there is none.
  @inline(never)
  mutating func answerTwin(
    of exchange: Ref<KeptExchange>, _ answer: Answer, on flow: Ref<Flow>, _ note: inout FrameNote
  ) -> Bool {
    guard role(exchange) == .heartbeat else { return false }
    var steps = 0
    var candidate = next(after: exchange)
    while let twin = candidate, steps < 32 {
      if !twin.pointee.isAnswered, twin.pointee.connection == exchange.pointee.connection,
        isAnswer(answer.types, answer.at, twin)
      {
        self.answer(twin, answer, on: flow, &note)
        return true
      }
      candidate = next(after: twin)
      steps += 1
    }
    return false
  }
}
