/// What a server does with messages by itself: send them back, or forward them.
extension ServerCore {
  /// A body as its sender wrote it.
  func plain(_ body: RawSpan, _ header: FrameHeader) -> [UInt8] {
    if header.compression == 1, let inflated = Deflate.inflated(body) { return inflated }
    return body.withUnsafeBytes { [UInt8]($0) }
  }

  /// Whether a message has room where the service will put it.
  func serviceHasRoom(_ body: [UInt8], _ place: Int) -> Bool {
    guard configuration.service == .forward else { return sessions[place].traffic.hasRoom(body.count, .normal) }
    guard let user = recipient(in: body) else { return true }
    return (users[user] ?? []).allSatisfy { sessions[Int($0)].traffic.hasRoom(body.count + 300, .normal) }
  }

  private func recipient(in body: [UInt8]) -> String? {
    guard let range = TLV.value(of: .recipient, in: body.span.bytes), range.count <= 256 else { return nil }
    return String(validating: body[range], as: UTF8.self)
  }

  /// Does with a message that came for the first time what the service says.
  mutating func serve(_ body: [UInt8], _ sequence: SequenceNumber, _ place: Int, at now: Moment) {
    switch configuration.service {
    case .deliver: break
    case .echo: _ = try? accept(.data, body, sequence.category ?? .normal, .normal, place, at: now)
    case .forward: forward(body, sequence, place, at: now)
    }
  }

  /// Sends a message on to all sessions of the user it names, with its sender's name as the server knows it. While none of
  /// them has a connection, it is kept for one that may come instead.
  private mutating func forward(_ body: [UInt8], _ sequence: SequenceNumber, _ place: Int, at now: Moment) {
    guard let user = recipient(in: body) else {
      undeliverable += 1
      return
    }
    var letter = Letterbox.Letter(
      body: [], category: sequence.category ?? .normal, origin: id(place), sequence: sequence, at: now)
    if let sender = sessions[place].user { TLV.append(.sender, sender.utf8, to: &letter.body) }
    // Nobody writes under another name.
    TLV.append(body, without: [.sender], to: &letter.body)
    let targets = users[user] ?? []
    for target in targets { hand(letter, to: Int(target), at: now) }
    guard targets.allSatisfy({ sessions[Int($0)].linkMask == 0 }) else { return }
    if !letterbox.put(letter, for: user, memory: configuration.memory), targets.isEmpty { undeliverable += 1 }
  }

  /// Sends a message to a session of its recipient's, and notes whom a receipt of it is for.
  private mutating func hand(_ letter: Letterbox.Letter, to place: Int, at now: Moment) {
    guard let id = try? accept(.data, letter.body, letter.category, .normal, place, at: now) else {
      undeliverable += 1
      return
    }
    origins.note(id, letter.origin, letter.sequence)
  }

  /// A session has introduced itself: it gets what came while nobody of its user's was there, unless it was one of those
  /// that had lost their connections and has that already.
  mutating func openLetters(_ place: Int, at now: Moment) {
    guard let user = sessions[place].user else { return }
    let letters = letterbox.take(user)
    if sessions[place].hasNewName { for letter in letters { hand(letter, to: place, at: now) } }
    sessions[place].hasNewName = false
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
