import IMEngine
import IMFields
import IMOutput
import IMWire

/// Rows of `message`, and of the texts that are searched.
struct MessageRows: ~Copyable {
  private static let columnCount = 26
  private var add: Statement
  private var addText: Statement
  private var addSearch: Statement
  /// What the last row has as its compression, once there is one.
  private var compression: StaticString?
  private var isFirst = true

  init(_ database: Connection) throws(StoreError) {
    let places = (1...Self.columnCount).map { "?\($0)" }.joined(separator: ", ")
    let add = try database.prepare("INSERT INTO message VALUES (\(places))", "write messages")
    let addText = try database.prepare("INSERT INTO message_text VALUES (?1, ?2)", "write texts")
    let addSearch = try database.prepare("INSERT INTO message_search (rowid, text) VALUES (?1, ?2)", "write texts")
    self.add = add
    self.addText = addText
    self.addSearch = addSearch
  }

  /// The number of a message in the store: messages count from 1 in the order in which their first copies came.
  @inline(__always)
  static func id(_ exchange: Exchange) -> Int64 { Int64(exchange.id) + 1 }

  /// The number of a session in the store, from 1.
  @inline(__always)
  static func session(_ exchange: Exchange) -> Int64 { Int64(exchange.session) + 1 }

  /// Writes a message.
  mutating func write(
    _ record: MessageRecord, _ exchange: Exchange, begun: Int64, problems: ProblemKinds, type: Int64, status: Int64?
  ) throws(StoreError) {
    add.bind(1, Self.id(exchange))
    add.bind(2, begun)
    add.bind(3, Int64(record.connection.serial))
    add.bind(4, Self.session(exchange))
    add.keep(5, record.direction.column)
    add.keep(6, type)
    if let sequence = record.sequence, sequence > UInt64(Int64.max) {
      // SQLite has no larger number; the column keeps text as it is.
      add.bind(7, "\(sequence)")
    } else {
      add.bind(7, record.sequence.map { Int64($0) })
    }
    add.bind(8, Int64(record.bodyCount))
    add.keep(9, Int64(exchange.fate.rawValue))
    add.keep(10, exchange.cause.map { Int64($0.rawValue) })
    add.keep(11, status)
    add.keep(12, Int64(exchange.repeats))
    add.keep(13, Int64(exchange.duplicates))
    add.bind(14, exchange.latency)
    add.keep(15, problems.rawValue)
    add.keep(16, Int64(record.flags))
    add.keep(17, Int64(record.firstChecksum.rawValue))
    if record.compression?.utf8Start != compression?.utf8Start || isFirst {
      compression = record.compression
      isFirst = false
      add.bind(18, compression)
    }
    add.keep(19, Int64(record.capture) + 1)
    add.bind(20, Int64(clamping: record.number))
    add.bind(21, Int64(clamping: record.streamOffset))
    add.bind(22, record.captureOffset.map { Int64(clamping: $0) })
    add.bind(23, Int64(record.byteCount))
    let (copies, checksums, answers) = Self.lists(record, begun, exchange.latency)
    add.keep(24, text: copies)
    add.keep(25, text: checksums)
    add.keep(26, text: answers)
    try add.run()
    if !record.fields.isEmpty { try writeText(record, exchange) }
  }

  /// What is listed of a message as JSON arrays: its copies, their checksums, and its answers. What is so of nearly every message is
  /// told by other columns, and not listed.
  static func lists(
    _ record: MessageRecord, _ begun: Int64, _ latency: Int64?
  ) -> (copies: String?, checksums: String?, answers: String?) {
    let hasCopies = record.copyCount > 1
    return (
      hasCopies ? list(record.copies) { "\($0)" } : nil, hasCopies ? list(record.checksums) { "\"\($0.name)\"" } : nil,
      isTold(record, begun, latency) ? nil : list(record.answers) { "\($0)" }
    )
  }

  /// Whether time and round trip tell of all answers.
  private static func isTold(_ record: MessageRecord, _ begun: Int64, _ latency: Int64?) -> Bool {
    guard let answer = record.firstAnswer else { return true }
    return record.answerCount == 1 && latency.map { begun + $0 == answer } ?? false
  }

  private static func list<Element>(_ values: ShortList<Element>, _ text: (Element) -> String) -> String {
    "[" + values.map(text).joined(separator: ",") + "]"
  }

  private mutating func writeText(_ record: MessageRecord, _ exchange: Exchange) throws(StoreError) {
    var text = ""
    for field in record.fields {
      guard case .text(let part) = field.value, !part.isEmpty else { continue }
      text += text.isEmpty ? part : " " + part
      if text.utf8.count >= SearchText.maximumText { break }
    }
    guard !text.isEmpty else { return }
    text = JSONLines.cut(text)
    addText.bind(1, Self.id(exchange))
    addText.bind(2, text)
    try addText.run()
    addSearch.bind(1, Self.id(exchange))
    addSearch.bind(2, SearchText.indexed(text))
    try addSearch.run()
  }
}

extension Direction {
  /// The number in the store: 0 from the client to the server, 1 back.
  var column: Int64 { self == .clientToServer ? 0 : 1 }
}
