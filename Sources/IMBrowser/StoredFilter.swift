import IMEngine
package import IMFilter
package import IMStore
package import IMWire

/// A filter in the language of `-Y`, over messages as a store has them.
package struct StoredFilter: Sendable {
  private let filter: Filter

  /// What a store's rows answer. Fields that only packets have are refused.
  private static let known: Set<MessageField> = [
    .ts, .number, .conn, .clientIP, .clientPort, .serverIP, .serverPort, .ip, .port, .dir, .type, .seq, .session, .len,
    .rttMilliseconds, .rttMicroseconds, .fate, .cause, .retries, .dup, .late, .retry, .duplicate,
  ]

  /// The names of the fields, in the order of the manual.
  static var fieldNames: [String] { MessageField.allCases.filter { known.contains($0) }.map(\.field.name) }

  /// Compiles a filter. Times without a zone are in `zone`.
  package init(_ text: String, zone: LocalZone, begin: Timestamp? = nil) throws(FilterError) {
    var schema = FilterSchema.messages
    (schema.zone, schema.begin) = (zone, begin)
    filter = try Filter(text, schema: schema)
    for index in filter.fieldsUsed {
      guard let field = MessageField(rawValue: index), !Self.known.contains(field) else { continue }
      throw FilterError(code: .unknownField, column: 1, message: "'\(field.field.name)' is not in a store")
    }
  }

  /// Whether the filter asks for addresses or for the session's name, which are not in a message's row.
  package var needsSession: Bool { filter.fieldsUsed.contains(MessageField.session.rawValue) }
  /// Whether it asks for the connection's ends.
  package var needsEnds: Bool {
    let ends: [MessageField] = [.clientIP, .clientPort, .serverIP, .serverPort, .ip, .port]
    return ends.contains { filter.fieldsUsed.contains($0.rawValue) }
  }

  /// Whether it lets a message through.
  package func matches(_ message: StoredMessage, session: String?, client: Endpoint?, server: Endpoint?) -> Bool {
    filter.matches(StoredRecord(message: message, session: session, client: client, server: server))
  }
}

/// A message of a store, as a filter looks at it.
private struct StoredRecord: FilterRecord {
  let message: StoredMessage
  let session: String?
  let client: Endpoint?
  let server: Endpoint?

  func value(of field: Int, at index: Int) -> FilterValue? {
    let ends = [client, server].compactMap { $0 }
    switch MessageField(rawValue: field) {
    case .ip: return ends.indices.contains(index) ? .address(ends[index].address) : nil
    case .port: return ends.indices.contains(index) ? .integer(Int64(ends[index].port)) : nil
    default: break
    }
    guard index == 0 else { return nil }
    switch MessageField(rawValue: field) {
    case .ts: return .time(message.time)
    case .number: return .integer(message.packet)
    case .conn: return .integer(message.connection)
    case .clientIP: return client.map { .address($0.address) }
    case .clientPort: return client.map { .integer(Int64($0.port)) }
    case .serverIP: return server.map { .address($0.address) }
    case .serverPort: return server.map { .integer(Int64($0.port)) }
    case .dir: return .word(message.direction == .clientToServer ? 0 : 1)
    case .seq: return message.sequence.flatMap { UInt64($0) }.map { .unsigned($0) }
    case .session: return session.flatMap { UInt64($0) }.map { .unsigned($0) }
    case .len: return .integer(message.byteCount)
    // As in every output: not where a copy was sent before the answer.
    case .rttMilliseconds: return roundTrip.map { .real(Double($0) / 1_000) }
    case .rttMicroseconds: return roundTrip.map { .integer($0) }
    case .fate: return message.fate.map { .word(Int($0.rawValue)) }
    case .cause: return message.cause.map { .word(Int($0.rawValue)) }
    case .retries: return .integer(message.retries)
    case .dup: return .integer(message.duplicates)
    case .late: return .flag(message.problems.contains(.late))
    case .retry: return .flag(message.retries > 0)
    case .duplicate: return .flag(message.duplicates > 0)
    default: return nil
    }
  }

  private var roundTrip: Int64? { message.retries == 0 ? message.latency : nil }

  func anyText(of field: Int, path: FilterPath, where test: (RawSpan) -> Bool) -> Bool {
    let text: String? =
      switch MessageField(rawValue: field) {
      case .type: message.type
      case .session: session
      default: nil
      }
    guard let text else { return false }
    return Array(text.utf8).withUnsafeBytes { test($0.bytes) }
  }
}
