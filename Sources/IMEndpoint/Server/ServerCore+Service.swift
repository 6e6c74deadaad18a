/// What a server does with messages by itself: send them back, or forward them.
extension ServerCore {
  /// Whether a message has room where the service will put it.
  func serviceHasRoom(_ body: RawSpan, _ header: FrameHeader, _ place: Int) -> Bool {
    // A compressed body may become longer; a little above the limit is no harm, so its size as it came is looked at.
    guard configuration.service == .forward else { return hasRoom(place, byteCount: body.byteCount) }
    guard header.compression == 0, let user = recipient(in: body) else { return true }
    return (users[user] ?? []).allSatisfy { hasRoom(Int($0), byteCount: body.byteCount + 64) }
  }

  private func recipient(in body: RawSpan) -> String? {
    guard let range = TLV.value(of: .recipient, in: body), range.count <= 256 else { return nil }
    return body.extracting(range).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
  }

  /// Does with a message that came for the first time what the service says.
  mutating func serve(_ message: ReceivedMessage, _ place: Int, at now: Moment) {
    switch configuration.service {
    case .deliver: break
    case .echo:
      let body = [UInt8](inbox.body(of: message))
      _ = try? accept(.data, body, message.sequence.category ?? .normal, .normal, place, at: now)
    case .forward: forward(message, place, at: now)
    }
  }

  /// Sends a message on to all sessions of the user it names, with its sender's name as the server knows it.
  private mutating func forward(_ message: ReceivedMessage, _ place: Int, at now: Moment) {
    let body = [UInt8](inbox.body(of: message))
    guard let user = recipient(in: body.span.bytes) else { return }
    guard let targets = users[user], !targets.isEmpty else {
      undeliverable += 1
      return
    }
    var forwarded: [UInt8] = []
    if let sender = sessions[place].user { TLV.append(.sender, sender.utf8, to: &forwarded) }
    forwarded += Self.without(.sender, body)
    for target in targets {
      guard
        let id = try? accept(.data, forwarded, message.sequence.category ?? .normal, .normal, Int(target), at: now)
      else {
        undeliverable += 1
        continue
      }
      origins.note(id, message.session, message.sequence)
    }
  }

  /// A body without one value of its outermost list: nobody writes under another name.
  private static func without(_ tag: Tag, _ body: [UInt8]) -> [UInt8] {
    guard let range = TLV.value(of: tag, in: body.span.bytes) else { return body }
    var rest = body
    rest.removeSubrange(range.lowerBound - TLV.headCount..<range.upperBound)
    return without(tag, rest)
  }

  /// A client has read a message.
  /// - Returns: whether the receipt is to be acknowledged.
  mutating func receipt(_ header: FrameHeader, _ body: RawSpan, _ place: Int, at now: Moment) -> Bool {
    guard sessions[place].traffic.isFirst(header.sequence) else {
      metrics.duplicatesReceived += 1
      return true
    }
    guard let range = TLV.value(of: .readReceipt, in: body), range.count == 4 else { return true }
    let sequence = SequenceNumber(rawValue: UInt32(truncatingIfNeeded: TLV.number(body, range)))
    tell(.read(id(place), sequence))
    var message = sessions[place].traffic.reads.take(sequence)
    if message == nil, let entry = sessions[place].traffic.pending.find(sequence) {
      // The receipt has overtaken the acknowledgment, which took another connection.
      message = sessions[place].traffic.pending[entry].id
      sessions[place].traffic.pending.remove(entry)
      metrics.messagesAcknowledged += 1
    }
    guard let message, message.rawValue != 0 else { return true }
    tell(message, place, .read)
    if let origin = origins.origin(of: message), let sender = self.place(of: origin.session) {
      try? sendReceipt(origin.sequence, sender, at: now)
    }
    return true
  }
}
