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

  /// Writes a message.
  mutating func write(
    _ message: borrowing StoredFacts, begun: Int64, problems: ProblemKinds, type: Int64, status: Int64?
  ) throws(StoreError) {
    let (first, exchange) = (message.first, message.exchange)
    add.bind(1, message.id)
    add.bind(2, begun)
    add.bind(3, Int64(first.connection.serial))
    add.bind(4, message.session)
    add.keep(5, first.direction.column)
    add.keep(6, type)
    if let sequence = first.sequence, sequence > UInt64(Int64.max) {
      // SQLite has no larger number; the column keeps text as it is.
      add.bind(7, "\(sequence)")
    } else {
      add.bind(7, first.sequence.map { Int64($0) })
    }
    add.bind(8, Int64(first.bodyCount))
    add.keep(9, Int64(exchange.fate.rawValue))
    add.keep(10, exchange.cause.map { Int64($0.rawValue) })
    add.keep(11, status)
    add.keep(12, Int64(exchange.repeats))
    add.keep(13, Int64(exchange.duplicates))
    add.bind(14, exchange.latency?.microseconds)
    add.keep(15, problems.rawValue)
    add.keep(16, Int64(message.flags))
    add.keep(17, Int64(first.checksum.rawValue))
    if first.compression?.utf8Start != compression?.utf8Start || isFirst {
      compression = first.compression
      isFirst = false
      add.bind(18, compression)
    }
    add.keep(19, Int64(first.capture) + 1)
    add.bind(20, Int64(clamping: first.number))
    add.bind(21, Int64(clamping: first.streamOffset))
    add.bind(22, first.captureOffset.map { Int64(clamping: $0) })
    add.bind(23, Int64(first.byteCount))
    add.keep(24, text: message.details?.copies)
    add.keep(25, text: message.details?.checksums)
    add.keep(26, text: message.details?.answers)
    try add.run()
    if let fields = message.details?.fields, !fields.isEmpty { try writeText(fields, message.id) }
  }

  private mutating func writeText(_ fields: [NamedField], _ id: Int64) throws(StoreError) {
    var text = ""
    for field in fields {
      guard case .text(let part) = field.value, !part.isEmpty else { continue }
      text += text.isEmpty ? part : " " + part
      if text.utf8.count >= SearchText.maximumText { break }
    }
    guard !text.isEmpty else { return }
    text = JSONLines.cut(text)
    addText.bind(1, id)
    addText.bind(2, text)
    try addText.run()
    addSearch.bind(1, id)
    addSearch.bind(2, SearchText.indexed(text))
    try addSearch.run()
  }
}

extension Direction {
  /// The number in the store: 0 from the client to the server, 1 back.
  var column: Int64 { self == .clientToServer ? 0 : 1 }
}
