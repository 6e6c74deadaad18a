extension Message {
  /// The message as the body of a frame: a list of values. What is known about media stands in a nested list.
  public var encoded: [UInt8] {
    var body: [UInt8] = []
    if let sender { TLV.append(.sender, sender.utf8, to: &body) }
    if let recipient { TLV.append(.recipient, recipient.utf8, to: &body) }
    if let group { TLV.append(.group, group.utf8, to: &body) }
    content.append(to: &body)
    return body
  }
}

extension Message {
  /// A message around content of so many bytes, which its media value holds: what is before the content, ending with the head of its
  /// value, and what is after it. Whom it is for and where it comes from is said first: a server needs that first.
  func around(_ byteCount: Int, origin: MessageOrigin?) -> (head: [UInt8], tail: [UInt8]) {
    var head: [UInt8] = []
    if let recipient { TLV.append(.recipient, recipient.utf8, to: &head) }
    if let group { TLV.append(.group, group.utf8, to: &head) }
    if let origin { TLV.append(.origin, origin.outgoing, to: &head) }
    let (tag, media): (Tag, MessageContent.Media) =
      switch content {
      case .image(let media): (.image, media)
      case .audio(let media): (.audio, media)
      case .video(let media): (.video, media)
      case .file(let media): (.file, media)
      default: (.file, MessageContent.Media([]))
      }
    TLV.append(head: tag, count: byteCount, to: &head)
    var tail: [UInt8] = []
    media.appendAttributes(to: &tail)
    return (head, tail)
  }
}

extension MessageContent {
  fileprivate func append(to body: inout [UInt8]) {
    switch self {
    case .text(let text): TLV.append(.text, text.utf8, to: &body)
    case .image(let media): media.append(.image, to: &body)
    case .audio(let media): media.append(.audio, to: &body)
    case .video(let media): media.append(.video, to: &body)
    case .file(let media): media.append(.file, to: &body)
    case .fileOffer(let name, let byteCount):
      TLV.append(.fileTransfer, name.utf8, to: &body)
      TLV.appendNested(to: &body) { TLV.append(.size, TLV.bigEndian(byteCount), to: &$0) }
    case .location(let place):
      TLV.append(.location, TLV.bigEndian(place.latitude) + TLV.bigEndian(place.longitude), to: &body)
      if let name = place.name {
        TLV.appendNested(to: &body) { TLV.append(.name, name.utf8, to: &$0) }
      }
    case .custom(let bytes): TLV.append(.custom, bytes, to: &body)
    case .typing(let isTyping): TLV.append(.typing, [isTyping ? 1 : 0], to: &body)
    case .status(let status, let words): TLV.append(.userStatus, [status.rawValue] + words.utf8, to: &body)
    }
  }
}

extension MessageContent.Media {
  fileprivate func append(_ tag: Tag, to body: inout [UInt8]) {
    TLV.append(tag, bytes, to: &body)
    appendAttributes(to: &body)
  }

  fileprivate func appendAttributes(to body: inout [UInt8]) {
    guard name != nil || mediaType != nil || dimensions != nil || duration != nil else { return }
    TLV.appendNested(to: &body) {
      if let name { TLV.append(.name, name.utf8, to: &$0) }
      if let mediaType { TLV.append(.mediaType, mediaType.utf8, to: &$0) }
      if let dimensions {
        TLV.append(.dimensions, TLV.bigEndian(dimensions.width) + TLV.bigEndian(dimensions.height), to: &$0)
      }
      if let duration { TLV.append(.duration, TLV.bigEndian(duration), to: &$0) }
    }
  }
}
