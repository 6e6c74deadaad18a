import IMWire

/// What an answer belongs to among exchanges of one number, or of none.
extension Tracker {
  /// What is answered among all exchanges of a number: the newest. Where none is old enough, the capture may have the
  /// answer in front of its message. `isScoped` says that numbers are their connection's.
  ///
  /// A number that was used again so often that looking through all of them for each answer would cost their square is not
  /// looked through: the answer is an orphan.
  // Mutating, because a struct that cannot be copied is copied all the same to call what does not change it.
  @inline(never)
  mutating func search(
    from newest: Ref<KeptExchange>, _ answer: Answer, _ flow: Ref<Flow>,
    counts: Bool, isScoped: Bool
  ) -> Ref<KeptExchange>? {
    var early: Ref<KeptExchange>?
    var candidate: Ref<KeptExchange>? = newest
    var steps = 0
    while let exchange = candidate {
      steps &+= 1
      if steps > 32 { return nil }
      candidate = next(after: exchange)
      if isScoped, !isHere(exchange, flow) { continue }
      if isAnswer(answer.types, answer.at, exchange) { return exchange }
      if exchange.pointee.firstAt > answer.at, isAnswer(answer.types, exchange.pointee.firstAt, exchange) {
        let isOpen = !exchange.pointee.isAnswered && exchange.pointee.connection == flow.pointee.serial
        if isOpen || counts { early = exchange }
      }
    }
    return early
  }

  /// An answer without a number that the capture has in front of its message is no older than so much: taps and queues change the order of
  /// packets that are close to one another.
  private static var mostEarly: Nanoseconds { .milliseconds(1) }

  /// The low half of the offset up to which the sender of an answer had received the stream of `direction`; `nil` where that is not
  /// known, or where a carrier has offsets of its own.
  @inline(__always)
  static func received(
    _ record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>, _ direction: Direction
  ) -> UInt32? {
    guard record.pointee.facts.isSuperset(of: [.hasAcknowledged, .isCurrent]), flow.pointee.carrier == .max else {
      return nil
    }
    let state = flow.state(flow.pointee.side(direction))
    let next = state.pointee.flags.contains(.finished) ? state.pointee.next &- 1 : state.pointee.next
    return UInt32(truncatingIfNeeded: state.pointee.offset) &+ (record.pointee.acknowledged &- next)
  }

  /// What an answer without a number belongs to: the oldest open exchange of its connection.
  ///
  /// Where the capture lacks bytes of the answering direction, the answers to those that were open may have been among them.
  /// The oldest that was sent later is meant then, else the newest of those that were open: what is missing answered the
  /// older ones. A message that the capture lacks may be meant as well: then a single one that was open is left alone. So many
  /// that looking through them for each answer would cost their square are not looked through.
  ///
  /// `received` is how far the answer's sender had received the asking stream. With `isStrict`, an answer that came before its message is taken
  /// for it only where that, or a tap's disorder, explains it.
  @inline(never)
  mutating func searchInOrder(
    from newest: Ref<KeptExchange>, _ answer: Answer, _ flow: Ref<Flow>, received: UInt32?, isStrict: Bool
  ) -> Ref<KeptExchange>? {
    let now = answer.at
    let asking = flow.pointee.side(newest.pointee.direction)
    let loss = lastLoss(flow, 1 - asking, upTo: now) ?? .distantPast
    var oldest: Ref<KeptExchange>?
    var early: Ref<KeptExchange>?
    var doubtful: Ref<KeptExchange>?
    var doubts = 0
    var candidate: Ref<KeptExchange>? = newest
    var steps = 0
    searchCredit = min(searchCredit &+ 16, Self.maximumSearchCredit)
    while let exchange = candidate {
      steps &+= 1
      if steps > 32 {
        searchCredit &-= 1
        guard searchCredit > 0 else { return nil }
      }
      if mayBeOverdue(exchange, now), !exchange.pointee.isAnswered { settleOverdue(exchange, now) }
      if !exchange.pointee.isAnswered, !isTooLate(now, exchange),
        answer.types &>> UInt64(exchange.pointee.kind & 63) & 1 == 1,
        // What did not arrive is not answered.
        received?.isAtOrAfter(exchange.pointee.end) ?? true
      {
        if exchange.pointee.firstAt > now {
          if !isStrict || received != nil || exchange.pointee.firstAt.time(since: now) <= Self.mostEarly {
            early = exchange
          }
        } else if exchange.pointee.firstAt >= loss {
          oldest = exchange
        } else if exchange.pointee.fate != .unknown || flow.pointee.phase == .closed {
          // What comes behind the end was captured late: it is an answer to one of those that had none.
          // The last one that the answer's sender had received is meant, where that is known.
          if doubts == 0 || exchange.pointee.end == received { doubtful = exchange }
          doubts += 1
        }
      }
      candidate = table.nextOpen(after: exchange, now)
    }
    if let oldest { return oldest }
    guard let doubtful else { return early }
    // What precedes a hole that may still be filled may be the message that is meant.
    let state = flow.state(asking)
    if let received, received != doubtful.pointee.end,
      state.pointee.queue != nil || state.pointee.phase != .open,
      received.isAtOrAfter(UInt32(truncatingIfNeeded: state.pointee.offset) &+ 1)
    {
      return nil
    }
    // Of several, the newest is meant only where nothing says that its sender had received a later one, which is missing.
    let isAmbiguous = doubts == 1 || isStrict && received.map { $0 != doubtful.pointee.end } ?? false
    if isAmbiguous, let lost = lastLoss(flow, asking, upTo: now), lost > doubtful.pointee.firstAt { return nil }
    return doubtful
  }
}
