/// The parts of a document that decide where it goes: its data stream, its id and its time.
///
/// Ranges are of the bytes that were read, still escaped as JSON, so that they can be copied into JSON as they are.
struct DocumentHead {
  /// `data_stream.type`, `data_stream.dataset` and `data_stream.namespace`.
  var type: Range<Int>, dataset: Range<Int>, namespace: Range<Int>
  /// `event.id`; `nil` where the document has none.
  var id: Range<Int>?
  /// `@timestamp`; `nil` where the document has none.
  var time: Range<Int>?

  /// The form of a line of a log file.
  enum Form: Equatable {
    /// A document of the Elastic Common Schema with its data stream.
    case ecs
    /// OpenTelemetry's JSON: logs, metrics or traces.
    case otlp
    /// Anything else.
    case unknown
  }

  /// Reads the document in `range`; `nil` where it is no JSON object with a data stream.
  init?(_ bytes: [UInt8], _ range: Range<Int>) {
    var scanner = JSONScanner(bytes, range)
    var type: Range<Int>?, dataset: Range<Int>?, namespace: Range<Int>?, id: Range<Int>?, time: Range<Int>?
    let isRead = scanner.members { scanner, key in
      if scanner.spells(key, "@timestamp"), scanner.next == UInt8(ascii: "\"") {
        time = scanner.text()
        return time != nil
      }
      if scanner.spells(key, "data_stream"), scanner.next == UInt8(ascii: "{") {
        return scanner.members { scanner, key in
          guard scanner.next == UInt8(ascii: "\"") else { return scanner.skip() }
          let value = scanner.text()
          if scanner.spells(key, "type") { type = value }
          if scanner.spells(key, "dataset") { dataset = value }
          if scanner.spells(key, "namespace") { namespace = value }
          return value != nil
        }
      }
      if scanner.spells(key, "event"), scanner.next == UInt8(ascii: "{") {
        return scanner.members { scanner, key in
          guard scanner.spells(key, "id"), scanner.next == UInt8(ascii: "\"") else { return scanner.skip() }
          id = scanner.text()
          return id != nil
        }
      }
      return scanner.skip()
    }
    guard isRead, scanner.isAtEnd, let type, let dataset, let namespace else { return nil }
    self.type = type
    self.dataset = dataset
    self.namespace = namespace
    self.id = id.flatMap { $0.isEmpty ? nil : $0 }
    self.time = time
  }

  /// The form of the line in `range`.
  static func form(_ bytes: [UInt8], _ range: Range<Int>) -> Form {
    if DocumentHead(bytes, range) != nil { return .ecs }
    var scanner = JSONScanner(bytes, range)
    // A line has many records: the rest of it may be cut off here.
    var isOTLP = false
    _ = scanner.members { scanner, key in
      if scanner.spells(key, "resourceLogs") || scanner.spells(key, "resourceMetrics")
        || scanner.spells(key, "resourceSpans")
      {
        isOTLP = true
      }
      return scanner.skip()
    }
    return isOTLP ? .otlp : .unknown
  }

  /// Whether the bytes of `range` are one JSON object.
  static func isObject(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
    var scanner = JSONScanner(bytes, range)
    return scanner.next == UInt8(ascii: "{") && scanner.skip() && scanner.isAtEnd
  }
}

/// The form of the first line of a log file: what may be shipped where.
package enum LogForm: Equatable, Sendable {
  /// Documents of the Elastic Common Schema.
  case ecs
  /// OpenTelemetry's JSON.
  case otlp
  /// Neither.
  case unknown

  /// The form of `line`.
  package init(line: [UInt8]) {
    switch DocumentHead.form(line, 0..<line.count) {
    case .ecs: self = .ecs
    case .otlp: self = .otlp
    case .unknown: self = .unknown
    }
  }
}
