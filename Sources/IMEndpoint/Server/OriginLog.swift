/// Where forwarded messages came from, so that receipts find their way back; the newest are kept.
struct OriginLog: Sendable {
  private var slots: [(id: MessageID, session: SessionID, sequence: SequenceNumber)] = []
  static var limit: Int { 65_536 }

  mutating func note(_ id: MessageID, _ session: SessionID, _ sequence: SequenceNumber) {
    if slots.isEmpty {
      slots = Array(
        repeating: (MessageID(rawValue: 0), SessionID(place: 0), SequenceNumber(rawValue: 0)), count: Self.limit)
    }
    slots[Int(truncatingIfNeeded: id.rawValue) & (Self.limit - 1)] = (id, session, sequence)
  }

  func origin(of id: MessageID) -> (session: SessionID, sequence: SequenceNumber)? {
    guard !slots.isEmpty else { return nil }
    let slot = slots[Int(truncatingIfNeeded: id.rawValue) & (Self.limit - 1)]
    return slot.id == id ? (slot.session, slot.sequence) : nil
  }
}

/// Acknowledgments that a slow server sends later, in the order they came.
struct DelayedAcknowledgments: Sendable {
  private var items: [(at: Moment, session: SessionID, sequence: SequenceNumber)] = []
  private var head = 0
  /// More are not held back.
  static var limit: Int { 65_536 }

  var first: Moment? { head < items.count ? items[head].at : nil }
  var isFull: Bool { items.count - head >= Self.limit }

  mutating func append(_ session: SessionID, _ sequence: SequenceNumber, at moment: Moment) {
    items.append((moment, session, sequence))
  }

  mutating func pop(until now: Moment) -> (session: SessionID, sequence: SequenceNumber)? {
    guard head < items.count, items[head].at <= now else { return nil }
    let item = items[head]
    head += 1
    if head == items.count {
      items = []
      head = 0
    } else if head > 1_024, head * 2 > items.count {
      items.removeFirst(head)
      head = 0
    }
    return (item.session, item.sequence)
  }
}
