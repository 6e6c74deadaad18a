import CYAML

/// The events that libyaml finds in a text, one at a time, each with its place.
struct YAMLEvents: ~Copyable {
  /// One event: its strings are copied out of libyaml's, which are freed before it is handed on.
  struct Event {
    enum Kind {
      case streamStart, streamEnd, documentStart, documentEnd
      case scalar(String)
      case sequenceStart, mappingStart
      /// The end of the sequence or mapping that began last.
      case collectionEnd
      /// An alias, or a value with an anchor, which is for aliases.
      case shared
    }

    var kind: Kind
    var mark: YAMLMark
  }

  /// What is no YAML, and where; the place is `nil` where memory ran out.
  struct Failure: Error {
    var problem: String
    var mark: YAMLMark?
  }

  /// On the heap, because libyaml keeps pointers into it.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let text: UnsafeBufferPointer<UInt8>

  /// Begins at the start of `text`, which is taken for UTF-8 and has to outlive this.
  init(_ text: UnsafeBufferPointer<UInt8>) {
    // libyaml would count the byte order mark as a column, and find the second line indented less than the first.
    let text = text.starts(with: [0xEF, 0xBB, 0xBF]) ? text.extracting(3...) : text
    self.text = text
    parser = .allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    // Where memory has run out, the parser holds the error, and `next` tells it.
    _ = yaml_parser_initialize(parser)
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    // libyaml insists on an address, of which a text without bytes may have none.
    let start = text.baseAddress ?? UnsafeRawPointer(parser).assumingMemoryBound(to: UInt8.self)
    yaml_parser_set_input_string(parser, start, text.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
  }

  /// The next event. Behind the stream's end comes nothing but its end, behind a failure nothing but that failure.
  mutating func next() throws(Failure) -> Event {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1, parser.pointee.error == YAML_NO_ERROR else { throw failure() }
    defer { yaml_event_delete(&event) }
    return Event(kind: Self.kind(event), mark: YAMLMark(event.start_mark))
  }

  private static func kind(_ event: borrowing yaml_event_t) -> Event.Kind {
    switch event.type {
    case YAML_STREAM_START_EVENT: return .streamStart
    case YAML_DOCUMENT_START_EVENT: return .documentStart
    case YAML_DOCUMENT_END_EVENT: return .documentEnd
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      guard scalar.anchor == nil else { return .shared }
      return .scalar(String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self))
    case YAML_SEQUENCE_START_EVENT: return event.data.sequence_start.anchor == nil ? .sequenceStart : .shared
    case YAML_MAPPING_START_EVENT: return event.data.mapping_start.anchor == nil ? .mappingStart : .shared
    case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT: return .collectionEnd
    case YAML_ALIAS_EVENT: return .shared
    default: return .streamEnd
    }
  }

  // MARK: Failures

  /// What libyaml did not like.
  private func failure() -> Failure {
    let problem = parser.pointee.problem.map { String(cString: $0) } ?? "it cannot be read"
    switch parser.pointee.error {
    case YAML_READER_ERROR: return Failure(problem: problem, mark: mark(at: parser.pointee.problem_offset))
    case YAML_SCANNER_ERROR, YAML_PARSER_ERROR:
      return Failure(problem: problem, mark: YAMLMark(parser.pointee.problem_mark))
    default: return Failure(problem: "there is not enough memory to read it", mark: nil)
    }
  }

  /// The place of the byte at `offset`, which is all that libyaml's reader says; lines end as they do for its scanner.
  private func mark(at offset: Int) -> YAMLMark {
    var mark = YAMLMark(line: 1, column: 1)
    var previous: Unicode.Scalar = " "
    for scalar in String(decoding: text.prefix(offset), as: UTF8.self).unicodeScalars {
      switch scalar {
      case "\n" where previous == "\r": break
      case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": mark = YAMLMark(line: mark.line + 1, column: 1)
      default: mark.column += 1
      }
      previous = scalar
    }
    return mark
  }
}

extension YAMLMark {
  fileprivate init(_ mark: yaml_mark_t) {
    self.init(line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1)
  }
}
