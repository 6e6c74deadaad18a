import IMEngine
import IMFields
import IMOutput
import IMWire

/// Rows of `message`, and of the texts that are searched.
struct MessageRows: ~Copyable {
  private static let columnCount = 26
  /// Rows that one statement writes, where there are as many: what a statement costs is shared by them.
  static let together = 16

  private var add: Statement
  private var addTogether: Statement
  private var addText: Statement
  private var addSearch: Statement
  /// Rows that `addTogether` has been given.
  private var given = 0

  init(_ database: Connection) throws(StoreError) {
    let add = try database.prepare(Self.insert(rows: 1), "write messages")
    let addTogether = try database.prepare(Self.insert(rows: Self.together), "write messages")
    let addText = try database.prepare("INSERT INTO message_text VALUES (?1, ?2, ?3, ?4)", "write texts")
    let addSearch = try database.prepare("INSERT INTO message_search (rowid, text) VALUES (?1, ?2)", "write texts")
    self.add = add
    self.addTogether = addTogether
    self.addText = addText
    self.addSearch = addSearch
  }

  private static func insert(rows: Int) -> String {
    let row = "(" + [String](repeating: "?", count: columnCount).joined(separator: ", ") + ")"
    return "INSERT INTO message VALUES " + [String](repeating: row, count: rows).joined(separator: ", ")
  }

  /// What the row of a message says that others have found.
  struct Found {
    /// Microseconds since the epoch at which it began.
    let begun: Int64
    let problems: ProblemKinds
    /// The numbers of its type and of its answer's status.
    let type: Int64, status: Int64?
  }

  /// Writes a message. With `isTogether` its row is written with those of the next ones, of which `together` in all follow one another.
  mutating func write(
    _ message: borrowing StoredFacts, _ found: Found, isTogether: Bool
  ) throws(StoreError) {
    if isTogether {
      Self.bind(message, found, to: &addTogether, behind: Int32(given * Self.columnCount))
      given += 1
      if given == Self.together {
        given = 0
        try addTogether.run()
      }
    } else {
      Self.bind(message, found, to: &add, behind: 0)
      try add.run()
    }
    if let texts = message.details?.texts { try write(texts, message.id) }
  }

  @inline(__always)
  private static func bind(
    _ message: borrowing StoredFacts, _ found: Found, to add: inout Statement, behind place: Int32
  ) {
    let (first, exchange) = (message.first, message.exchange)
    add.bind(place + 1, message.id)
    add.bind(place + 2, found.begun)
    add.bind(place + 3, Int64(first.connection.serial))
    add.bind(place + 4, message.session)
    add.keep(place + 5, first.direction.column)
    add.keep(place + 6, found.type)
    if let sequence = first.sequence, sequence > UInt64(Int64.max) {
      // SQLite has no larger number; the column keeps text as it is.
      add.bind(place + 7, "\(sequence)")
    } else {
      add.bind(place + 7, first.sequence.map { Int64($0) })
    }
    add.bind(place + 8, Int64(first.bodyCount))
    add.keep(place + 9, Int64(exchange.fate.rawValue))
    add.keep(place + 10, exchange.cause.map { Int64($0.rawValue) })
    add.keep(place + 11, found.status)
    add.keep(place + 12, Int64(exchange.repeats))
    add.keep(place + 13, Int64(exchange.duplicates))
    add.bind(place + 14, exchange.latency?.microseconds)
    add.keep(place + 15, found.problems.rawValue)
    add.keep(place + 16, Int64(message.flags))
    add.keep(place + 17, Int64(first.checksum.rawValue))
    add.keep(place + 18, static: first.compression)
    add.keep(place + 19, Int64(first.capture) + 1)
    add.bind(place + 20, Int64(clamping: first.number))
    add.bind(place + 21, Int64(clamping: first.streamOffset))
    add.bind(place + 22, first.captureOffset.map { Int64(clamping: $0) })
    add.bind(place + 23, Int64(first.byteCount))
    add.keep(place + 24, text: message.details?.copies)
    add.keep(place + 25, text: message.details?.checksums)
    add.keep(place + 26, text: message.details?.answers)
  }

  private mutating func write(_ texts: MessageDetails, _ id: Int64) throws(StoreError) {
    addText.bind(1, id)
    addText.bind(2, texts.destination)
    addText.bind(3, texts.text)
    addText.bind(4, texts.otherText)
    try addText.run()
    addSearch.bind(1, id)
    addSearch.bind(2, SearchText.indexed([texts.destination, texts.text, texts.otherText]))
    try addSearch.run()
  }
}

extension Direction {
  /// The number in the store: 0 from the client to the server, 1 back.
  var column: Int64 { self == .clientToServer ? 0 : 1 }
}
