import IMWire

/// Answers that come before their message.
extension Tracker {
  mutating func remember(_ key: OrphanKey, _ orphan: Orphan) {
    guard orphans.count < Self.maximumOrphans || orphans[key] != nil else { return }
    guard Self.add(orphan, to: &orphans[key, default: []]) else { return }
    orphanOrder.append((key, orphan.answer.at))
    if sessions.isKnown(key.session) { sessions.pointer(key.session).pointee.expects(key.sequence) }
  }

  /// Adds an answer to those that wait for the same message, of which there are at most 16; whether it is the first.
  private static func add(_ orphan: Orphan, to waiting: inout [Orphan]) -> Bool {
    if waiting.count < 16 { waiting.append(orphan) }
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
    for orphan in waiting {
      let isAcknowledged =
        orphan.connection == flow.pointee.serial
        && orphan.acknowledged?.isAtOrAfter(end) ?? false
      // An identifier is free again after its answer: another answer belongs to another message.
      let isFree = plan.pointee.sequenceCounts || matching.isEmpty
      let mayBe = plan.pointee.numberLife == .session || orphan.connection == flow.pointee.serial
      let isForgotten = record.pointee.timestamp.time(since: orphan.answer.at) > Self.orphanPatience
      if isFree, mayBe, !isForgotten, orphan.answer.types >> UInt64(exchange.pointee.kind) & 1 == 1,
        orphan.answer.at >= exchange.pointee.firstAt || isAcknowledged
      {
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
    for orphan in matching where orphan.isCumulative {
      answerEarlier(orphan.answer, than: sequence, flow, direction, plan)
    }
  }
}
