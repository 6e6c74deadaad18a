/// Which message had which number, for a receipt that may come much later; the newest are kept.
struct ReadLog: Sendable {
  private var slots: [(sequence: SequenceNumber, id: MessageID)] = []
  static var limit: Int { 4_096 }

  /// Notes a message that was delivered.
  mutating func note(_ sequence: SequenceNumber, _ id: MessageID) {
    while true {
      if !slots.isEmpty {
        let slot = Int(sequence.rawValue) & (slots.count - 1)
        if slots[slot].id.rawValue == 0 || slots.count >= Self.limit {
          slots[slot] = (sequence, id)
          return
        }
      }
      let old = slots
      slots = Array(repeating: (SequenceNumber(rawValue: 0), MessageID(rawValue: 0)), count: max(16, old.count * 2))
      for entry in old where entry.id.rawValue != 0 { slots[Int(entry.sequence.rawValue) & (slots.count - 1)] = entry }
    }
  }

  /// The message that had this number; `nil` when it is not known, or was read already.
  func message(_ sequence: SequenceNumber) -> MessageID? {
    guard !slots.isEmpty else { return nil }
    let entry = slots[Int(sequence.rawValue) & (slots.count - 1)]
    return entry.sequence == sequence && entry.id.rawValue != 0 ? entry.id : nil
  }

  /// Takes the message that had this number; `nil` when it is not known, or was read already.
  mutating func take(_ sequence: SequenceNumber) -> MessageID? {
    guard !slots.isEmpty else { return nil }
    let slot = Int(sequence.rawValue) & (slots.count - 1)
    guard slots[slot].sequence == sequence, slots[slot].id.rawValue != 0 else { return nil }
    let id = slots[slot].id
    slots[slot].id = MessageID(rawValue: 0)
    return id
  }
}
