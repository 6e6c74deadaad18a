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

  /// What an answer without a number belongs to: the oldest open exchange of its connection.
  ///
  /// Where the capture lacks bytes of the answering direction, the answers to those that were open may have been among them.
  /// The oldest that was sent later is meant then, else the newest of those that were open: what is missing answered the
  /// older ones. A message that the capture lacks may be meant as well: then a single one that was open is left alone. So many
  /// that looking through them for each answer would cost their square are not looked through.
  @inline(never)
  mutating func searchInOrder(
    from newest: Ref<KeptExchange>, _ now: Timestamp, _ flow: Ref<Flow>
  ) -> Ref<KeptExchange>? {
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
      if !exchange.pointee.isAnswered, !isTooLate(now, exchange) {
        if exchange.pointee.firstAt > now {
          early = exchange
        } else if exchange.pointee.firstAt >= loss {
          oldest = exchange
        } else if exchange.pointee.fate != .unknown || flow.pointee.phase == .closed {
          // What comes behind the end was captured late: it is an answer to one of those that had none.
          if doubts == 0 { doubtful = exchange }
          doubts += 1
        }
      }
      candidate = table.nextOpen(after: exchange, now)
    }
    if let oldest { return oldest }
    guard let doubtful else { return early }
    if doubts == 1, let lost = lastLoss(flow, asking, upTo: now), lost > doubtful.pointee.firstAt { return nil }
    return doubtful
  }
}
