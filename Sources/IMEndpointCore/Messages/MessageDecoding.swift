/// Why a body is not a message.
public enum MessageError: Error, Hashable, Sendable {
  /// It is not a list of values.
  case values(TLVError)
  /// None of its values says what kind of message it is.
  case noContent
  /// A value has another length, or other bytes, than its tag wants.
  case badValue(Tag)
}

extension Message {
  /// Reads a message from the body of a frame, as it is after decompression. Unknown values are left out.
  public init(decoding body: RawSpan) throws(MessageError) {
    let elements: [TLVElement]
    do { elements = try TLV.elements(of: body) } catch { throw .values(error) }
    let values = Values(body: body, elements: elements)
    guard let content = try values.content() else { throw .noContent }
    self.init(
      content, to: try values.text(.recipient, depth: 0), from: try values.text(.sender, depth: 0),
      group: try values.text(.group, depth: 0))
  }

  /// Reads a message from the body of a frame.
  public init(decoding body: [UInt8]) throws(MessageError) { try self.init(decoding: body.span.bytes) }
}

/// The values of one body, by tag.
private struct Values: ~Escapable {
  let body: RawSpan
  let elements: [TLVElement]

  @_lifetime(copy body) init(body: RawSpan, elements: [TLVElement]) {
    self.body = body
    self.elements = elements
  }

  func range(_ tag: Tag, depth: Int) -> Range<Int>? { elements.first { $0.tag == tag && $0.depth == depth }?.value }

  func bytes(_ range: Range<Int>) -> [UInt8] {
    body.extracting(range).withUnsafeBytes { [UInt8]($0) }
  }

  func text(_ tag: Tag, depth: Int) throws(MessageError) -> String? {
    guard let range = range(tag, depth: depth) else { return nil }
    return try text(range, tag)
  }

  func text(_ range: Range<Int>, _ tag: Tag) throws(MessageError) -> String {
    guard let text = String(validating: bytes(range), as: UTF8.self) else { throw .badValue(tag) }
    return text
  }

  func number(_ tag: Tag, byteCount: Int) throws(MessageError) -> UInt64? {
    guard let range = range(tag, depth: 1) else { return nil }
    guard range.count == byteCount else { throw .badValue(tag) }
    return TLV.number(body, range)
  }

  func content() throws(MessageError) -> MessageContent? {
    for element in elements where element.depth == 0 {
      switch element.tag {
      case .text: return .text(try text(element.value, .text))
      case .image: return .image(try media(element.value))
      case .audio: return .audio(try media(element.value))
      case .video: return .video(try media(element.value))
      case .file: return .file(try media(element.value))
      case .fileTransfer:
        guard let byteCount = try number(.size, byteCount: 8) else { throw .badValue(.size) }
        return .fileOffer(name: try text(element.value, .fileTransfer), byteCount: byteCount)
      case .location:
        guard element.value.count == 8 else { throw .badValue(.location) }
        let place = TLV.number(body, element.value)
        return .location(
          .init(
            latitude: Int32(truncatingIfNeeded: place >> 32), longitude: Int32(truncatingIfNeeded: place),
            name: try text(.name, depth: 1)))
      case .custom: return .custom(bytes(element.value))
      case .typing:
        guard element.value.count == 1 else { throw .badValue(.typing) }
        return .typing(TLV.number(body, element.value) != 0)
      case .userStatus:
        guard let first = bytes(element.value).first, let status = MessageContent.UserStatus(rawValue: first) else {
          throw .badValue(.userStatus)
        }
        return .status(status, try text(element.value.dropFirst(), .userStatus))
      default: continue
      }
    }
    return nil
  }

  private func media(_ range: Range<Int>) throws(MessageError) -> MessageContent.Media {
    let pixels = try number(.dimensions, byteCount: 8)
    return MessageContent.Media(
      bytes(range), name: try text(.name, depth: 1), mediaType: try text(.mediaType, depth: 1),
      dimensions: pixels.map { .init(width: UInt32($0 >> 32), height: UInt32(truncatingIfNeeded: $0)) },
      duration: try number(.duration, byteCount: 4).map { UInt32(truncatingIfNeeded: $0) })
  }
}
