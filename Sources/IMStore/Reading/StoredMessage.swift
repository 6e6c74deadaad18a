package import IMEngine
package import IMWire

/// One message as a store has it.
package struct StoredMessage: Equatable, Sendable {
  /// Its number: messages count from 1 in the order in which their first copies came.
  package var id: Int64
  /// When the first copy came.
  package var time: Timestamp
  /// Its connection, by the number that every output shows.
  package var connection: Int64
  /// Its session, by the number in the store.
  package var session: Int64
  /// The direction of its copies.
  package var direction: Direction
  /// The type's name.
  package var type: String
  /// The number that its sender gave it, in decimal; `nil` where it gave none.
  package var sequence: String?
  /// Bytes of the first copy's body.
  package var byteCount: Int64
  /// What became of it; `nil` for a fate that this version does not know.
  package var fate: Fate?
  /// Why; `nil` where there is no cause.
  package var cause: Cause?
  /// Copies after the first, up to the answer; copies behind it.
  package var retries: Int64, duplicates: Int64
  /// Microseconds from the first copy to the first answer; `nil` without one.
  package var latency: Int64?
  /// What is wrong with it.
  package var problems: ProblemKinds
  /// Which capture brought the first copy, from 1, and which packet of it.
  package var capture: Int64, packet: Int64
  /// Where in its stream the first copy begins.
  package var streamOffset: Int64
  /// What it is for; `nil` where the store does not say.
  package var role: FrameRole?
  /// Microseconds from the first copy to the receipts that say that it was delivered, and read; `nil` without one.
  package var deliveredAfter: Int64?, readAfter: Int64?
  /// What its answer said, by name or number; `nil` where it said nothing.
  package var status: String?

  /// The columns in the order in which `init` reads them.
  static let columns = """
    id, time_us, connection, session, direction, type, sequence, length, fate, cause, retries, duplicates, rtt_us, problems, \
    capture, packet, stream_offset, \(Schema.receipt(.delivered, of: "message.id")), \
    \(Schema.receipt(.read, of: "message.id"))
    """
  /// How many they are.
  static let columnCount: Int32 = 19
  /// The status of its answer, in SQL: in a column of its own.
  static let statusColumn = "(SELECT ifnull(name, number) FROM status WHERE status.id = message.status)"

}

/// The texts of a message that a store has; `nil` for those that it has not.
package struct StoredMessageTexts: Equatable, Sendable {
  /// The topic.
  package var topic: String?
  /// What the message says.
  package var text: String?
  /// The texts of its other named fields.
  package var other: String?

  /// Texts; none by default.
  package init(topic: String? = nil, text: String? = nil, other: String? = nil) {
    (self.topic, self.text, self.other) = (topic, text, other)
  }
}

/// A type of messages, as a store has it.
struct StoredType {
  let name: String
  let role: FrameRole?
  /// The types that answer it: `puback,pubrec`; after a semicolon, those that answer more types.
  let answers: String

  /// The name of the type that answered a message: several if any of them may have; `nil` if the store does not have it.
  func answerName(isRejected: Bool) -> String? {
    let groups = answers.split(separator: ";")
    // A rejection may have a type that rejects anything.
    guard let first = groups.first, !isRejected || groups.count == 1 else { return nil }
    let names = first.split(separator: ",")
    return names.count <= 2 ? names.joined(separator: "/") : nil
  }
}

extension StoredMessage {
  /// The message of a row; `types` has the types by their numbers.
  init(_ row: Row, types: [Int64: StoredType]) {
    func number(_ column: Int32) -> Int64 { row.number(column) ?? 0 }
    id = number(0)
    time = Timestamp(microseconds: row.microseconds(1) ?? 0)
    connection = number(2)
    session = number(3)
    direction = number(4) == 0 ? .clientToServer : .serverToClient
    type = types[number(5)]?.name ?? ""
    role = types[number(5)]?.role
    sequence = row.number(6).map { "\($0)" } ?? row.text(6)
    byteCount = row.counted(7) ?? 0
    fate = row.number(8).flatMap { UInt8(exactly: $0) }.flatMap(Fate.init)
    cause = row.number(9).flatMap { UInt8(exactly: $0) }.flatMap(Cause.init)
    retries = row.counted(10) ?? 0
    duplicates = row.counted(11) ?? 0
    latency = row.microseconds(12)
    problems = ProblemKinds(rawValue: number(13))
    capture = row.counted(14) ?? 0
    packet = row.counted(15) ?? 0
    streamOffset = row.counted(16) ?? 0
    deliveredAfter = row.microseconds(17)
    readAfter = row.microseconds(18)
  }
}
