import IMWire

/// Answers that come before their message.
extension Tracker {
  mutating func remember(_ key: OrphanKey, _ orphan: Orphan) {
    guard orphans.count < Self.maximumOrphans || orphans[key] != nil else { return }
    // Without numbers, all answers of a connection wait together.
    let limit = key.sequence >> 63 == 1 ? 128 : 16
    guard Self.add(orphan, to: &orphans[key, default: []], atMost: limit) else { return }
    orphanOrder.append((key, orphan.answer.at))
    if sessions.isKnown(key.session) { sessions.pointer(key.session).pointee.expects(key.sequence) }
  }

  /// Adds an answer to those that wait for the same message, of which there are at most `limit`; whether it is the first.
  private static func add(_ orphan: Orphan, to waiting: inout [Orphan], atMost limit: Int) -> Bool {
    if waiting.count < limit { waiting.append(orphan) }
    return waiting.count == 1
  }

  /// Forgets answers whose message would have come out by now.
  mutating func forgetOrphans(_ now: Timestamp) {
    while let (key, at) = orphanOrder.first, now.time(since: at) > Self.orphanPatience {
      _ = orphanOrder.popFirst()
      if orphans.removeValue(forKey: key) != nil, sessions.isKnown(key.session) {
        sessions.pointer(key.session).pointee.expectsOneLess()
      }
    }
  }

  /// Whether the sender of an answer had received what precedes the end of a message, and nothing after it.
  private func isExact(_ orphan: Orphan, _ record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>) -> Bool {
    orphan.connection == flow.pointee.serial && orphan.acknowledged == record.pointee.sequenceEnd
  }

  /// Whether an answer in order may belong to a message after `exchange`, which ends at the TCP number `end`: its sender had received more,
  /// and bytes of its own are missing in front of it.
  private mutating func mayBeAnotherOne(
    _ orphan: Orphan, _ exchange: Ref<KeptExchange>, _ end: UInt32, _ flow: Ref<Flow>
  ) -> Bool {
    if let acknowledged = orphan.acknowledged, acknowledged == end || !acknowledged.isAtOrAfter(end) { return false }
    let answering = flow.pointee.side(exchange.pointee.direction.reversed)
    guard let loss = lastLoss(flow, answering, upTo: orphan.answer.at) else { return false }
    return loss >= exchange.pointee.firstAt
  }

  /// Gives a new exchange the answers that came out before it, because it was held behind a hole or came late.
  ///
  /// An answer is younger than its message; one that the capture saw in front of it was sent when TCP had acknowledged the
  /// message.
  @inline(never)
  mutating func adopt(
    _ exchange: Ref<KeptExchange>, _ record: UnsafePointer<FrameRecord>,
    _ flow: Ref<Flow>,
    _ plan: UnsafePointer<Plan>
  ) {
    let key = OrphanKey(
      session: exchange.pointee.session, direction: exchange.pointee.direction, sequence: record.pointee.sequence)
    guard let waiting = orphans[key] else { return }
    let end = record.pointee.sequenceEnd
    var matching: [Orphan] = []
    var left: [Orphan] = []
    let isInOrder = plan.pointee.general != nil && record.pointee.kind.pointee.flags.contains(.unnumbered)
    // Without numbers, the answer is meant whose sender had received this message and none after it, where there is one.
    let exact = isInOrder ? waiting.first { isExact($0, record, flow) } : nil
    var isOver = false
    for orphan in waiting {
      let isAcknowledged =
        orphan.connection == flow.pointee.serial
        && orphan.acknowledged?.isAtOrAfter(end) ?? false
      // An identifier is free again after its answer: another answer belongs to another message.
      var isFree = plan.pointee.sequenceCounts || matching.isEmpty
      if isInOrder { isFree = matching.isEmpty && exact.map { $0.answer.at == orphan.answer.at } ?? !isOver }
      let mayBe = plan.pointee.numberLife == .session || orphan.connection == flow.pointee.serial
      let isForgotten = record.pointee.timestamp.time(since: orphan.answer.at) > Self.orphanPatience
      if isFree, mayBe, !isForgotten, orphan.answer.types >> UInt64(exchange.pointee.kind) & 1 == 1,
        orphan.answer.at >= exchange.pointee.firstAt || isAcknowledged
      {
        // The oldest that it may be is looked at, and no later one.
        if isInOrder, exact == nil, mayBeAnotherOne(orphan, exchange, end, flow) {
          isOver = true
          left.append(orphan)
          continue
        }
        matching.append(orphan)
      } else {
        left.append(orphan)
      }
    }
    guard !matching.isEmpty else { return }
    orphans[key] = left.isEmpty ? nil : left
    if left.isEmpty, sessions.isKnown(key.session) { sessions.pointer(key.session).pointee.expectsOneLess() }
    let rare = self.rare(of: flow)
    for orphan in matching {
      var note = FrameNote()
      answer(exchange, orphan.answer, on: flow, &note)
      rare.pointee.orphanAcks &-= rare.pointee.orphanAcks > 0 ? 1 : 0
    }
    adopted = (table.id(of: exchange), matching.map(\.answer.at))
    let (sequence, direction) = (record.pointee.sequence, exchange.pointee.direction)
    let isMixed = plan.pointee.general?.pointee.channel.isPresent ?? false
    for orphan in matching where orphan.isCumulative {
      answerEarlier(orphan.answer, than: sequence, flow, direction, plan, isMixed: isMixed)
    }
  }
}
