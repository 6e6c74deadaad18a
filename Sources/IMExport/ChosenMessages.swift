import IMEngine
import IMOutput
import IMWire

/// The messages that an export chose, to be looked for in what it wrote.
///
/// Each is kept as a hash of everything that `imdump messages --json` says of it, except the number of its connection, which
/// may be another in the copy, and, where names are replaced, except those.
struct ChosenMessages {
  private let writer: MessageJSONWriter
  /// How many messages of each hash were not found again.
  private var left: [UInt64: Int] = [:]
  /// Messages chosen.
  private(set) var count: UInt64 = 0
  /// Messages that were not found again.
  private(set) var missing: UInt64 = 0

  /// No messages; without `hasNames`, what names a session does not count.
  init(hasNames: Bool) { writer = MessageJSONWriter(hasNames: hasNames) }

  /// Adds a message that was chosen.
  mutating func add(_ record: MessageRecord, _ exchange: Exchange) {
    count += 1
    missing += 1
    left[hash(record, exchange), default: 0] += 1
  }

  /// Takes note of a message of the copy.
  mutating func remove(_ record: MessageRecord, _ exchange: Exchange) {
    let hash = hash(record, exchange)
    guard let number = left[hash] else { return }
    left[hash] = number == 1 ? nil : number - 1
    missing -= 1
  }

  private func hash(_ record: MessageRecord, _ exchange: Exchange) -> UInt64 {
    var line = ByteWriter(capacity: 512)
    writer.write(record, exchange, to: &line)
    return line.withBytes { bytes in
      // The connection's number is the first member.
      let start = bytes.firstIndex(of: UInt8(ascii: ",")) ?? 0
      return fnv1a(bytes[start...])
    }
  }
}
