/// Large messages: pieces that come and pieces that go.
extension ClientCore {
  // MARK: coming

  /// Finds what an earlier process had of large messages.
  mutating func restoreTransfers() {
    guard let bodies else { return }
    for (body, record) in bodies.records() {
      var (name, owner): (UInt64, [UInt8]) = (0, [])
      guard let transfer = IncomingTransfer(record: record, body: body, name: &name, owner: &owner),
        owner == configuration.identity.bytes
      else { continue }
      guard bodies.reader(of: body) != nil, partial.count < Transfers.mostIncoming else {
        bodies.remove(body)
        continue
      }
      partial[name] = transfer
    }
  }

  /// The server has forgotten the session: incomplete large messages are kept until it asks about them.
  mutating func setAside(_ place: Int) {
    for (name, transfer) in sessions[place].traffic.transfers.takeIncoming() {
      if partial.count >= Transfers.mostIncoming, let old = partial.min(by: { $0.value.byteCount < $1.value.byteCount })
      {
        partial[old.key] = nil
        if let body = old.value.stored?.body { bodies?.remove(body) }
      }
      partial[name] = transfer
    }
  }

  /// The server has withdrawn a large message: its sender gave it up before the server had all of it.
  mutating func withdrawn(_ name: UInt64, _ place: Int) {
    let waiting = partial.removeValue(forKey: name)
    let isKnown = sessions[place].traffic.transfers.knows(name) || waiting != nil
    if let body = sessions[place].traffic.transfers.drop(name) ?? waiting?.stored?.body { bodies?.remove(body) }
    if isKnown { tell(.withdrawn(name, sessions[place].id)) }
  }

  /// A piece of a large message has come.
  mutating func arrived(
    _ piece: IncomingTransfer.Piece, _ header: FrameHeader, _ body: RawSpan, _ place: Int, on link: Int, at now: Instant
  ) {
    let name = piece.name
    if !sessions[place].traffic.transfers.knows(name), let known = partial.removeValue(forKey: name) {
      if known.matches(piece) {
        sessions[place].traffic.transfers.adopt(name, known)
      } else if let old = known.stored?.body {
        bodies?.remove(old)
      }
    }
    if !sessions[place].traffic.transfers.knows(name), piece.offset == 0, hasTaken(body.extracting(piece.bytes)) {
      sessions[place].traffic.transfers.finish(name)
    }
    let limit = configuration.largestBody
    let arrival = sessions[place].traffic.arrived(
      header, piece, body, bodies.map { .content($0, body: name, limit: limit) } ?? .memory(limit: limit))
    // The answer comes before the acknowledgment.
    if piece.asks {
      writeControl(sessions[place].traffic.transfers.have(piece), of: place, on: link, at: now)
    }
    switch arrival {
    case .known:
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
      // It need not come again.
      handed.append((place, header.sequence))
    case .waits: note(name, place)
    case .taken:
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
      note(name, place)
    // What is longer than the application takes is acknowledged, or it would come again and again.
    case .refused: acknowledge(header.sequence, of: place, cameOn: link, at: now)
    case .whole(let whole, let message):
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
      if whole.sequence != header.sequence { acknowledge(whole.sequence, of: place, cameOn: link, at: now) }
      let isFirst = sessions[place].traffic.isFirst(whole.sequence)
      switch message {
      case .bytes(let bytes): if isFirst { arrived(whole, bytes.span.bytes, place, on: link, at: now) }
      case .stored(let stored):
        // Its record stays until the application has it: the next process would go on with it.
        guard isFirst, isAsSent(stored) else {
          bodies?.remove(stored.body)
          if isFirst { tell(.damagedContent(name, sessions[place].id)) }
          return
        }
        let content = StoredContent(body: stored.body, byteCount: stored.content.count)
        arrived(whole, stored.head.span.bytes, place, on: link, content, at: now)
      }
    }
  }

  /// Whether the message that begins so has come before, also to an earlier process.
  private func hasTaken(_ beginning: RawSpan) -> Bool {
    guard let (key, number) = Self.conversation(beginning) else { return false }
    return arrivals[key]?.seen.contains(number) ?? false
  }

  /// Notes what has come, for the next process and for the application.
  private mutating func note(_ name: UInt64, _ place: Int) {
    if let bodies,
      let known = sessions[place].traffic.transfers.record(name, owner: configuration.identity.bytes)
    {
      bodies.note(known.record, of: known.body)
    }
    if configuration.reportsTransfers, let progress = sessions[place].traffic.transfers.news(of: name) {
      tell(.receiving(name, sessions[place].id, progress))
    }
  }

  /// Whether a store has what its sender read.
  private func isAsSent(_ stored: IncomingTransfer.Stored) -> Bool {
    guard let reader = bodies?.reader(of: stored.body), reader.byteCount == stored.content.count else { return false }
    let head = stored.head
    guard reader.hasDigest, let range = TLV.value(of: .digest, in: head.span.bytes), range.count == 32 else {
      return true
    }
    return reader.digest() == Array(head[range])
  }

  // MARK: going

  /// Takes a message whose file, image, sound or film `content` reads, when its turn comes: at most 4 GiB. The bytes in the message
  /// itself are left out. With a store, `file` says where another process finds them.
  @discardableResult
  public mutating func send(
    _ message: Message, content: any BodyReader, file: StoredFile? = nil, priority: Priority = .normal,
    in session: SessionID, at now: Instant
  ) throws(SendError) -> MessageID {
    guard let place = place(of: session) else { throw .noSession }
    let name = message.group ?? message.recipient
    let conversation = Conversation(
      name: name ?? "", isGroup: message.group != nil, lane: MessageOrigin.lane(message.content.category, priority))
    let origin = MessageOrigin(
      device: configuration.identity, number: numbers.upcoming(conversation), milliseconds: unixMilliseconds(now))
    let (head, tail) = message.around(content.byteCount, origin: name == nil ? nil : origin)
    let transfer = sessions[place].traffic.transfers.takeName()
    let id = try send(
      head, content, tail, category: message.category, priority: priority, name: transfer, asks: false, place, at: now)
    guard name != nil else { return id }
    numbers.take(conversation)
    note(sent: origin.number, in: conversation, id, session)
    guard configuration.isKept, var file else { return id }
    (file.transfer, file.headCount) = (transfer, head.count)
    kept[id] = KeptMessage(conversation: conversation.name, isGroup: conversation.isGroup, number: origin.number)
    operations.append(
      .sent(
        StoredMessage(
          conversation: conversation.name, isGroup: conversation.isGroup, number: origin.number,
          category: message.category, priority: priority, body: head + tail, file: file)))
    return id
  }

  private mutating func note(sent number: UInt64, in conversation: Conversation, _ id: MessageID, _ session: SessionID)
  {
    sentNames.note(
      MessageName(conversation: conversation.name, isGroup: conversation.isGroup, number: number), id, session)
  }

  /// Takes a message of its parts: what is before its content, the content, and what is after it.
  mutating func send(
    _ head: [UInt8], _ content: any BodyReader, _ tail: [UInt8], category: SequenceCategory, priority: Priority,
    name: UInt64, asks: Bool, _ place: Int, at now: Instant
  ) throws(SendError) -> MessageID {
    var source = BodySource(head)
    source.append(content, 0..<content.byteCount)
    source.append(tail)
    if content.hasDigest {
      var digest: [UInt8] = []
      TLV.append(head: .digest, count: 32, to: &digest)
      source.append(digest)
      source.append(digestOf: content)
    }
    let id = MessageID(rawValue: nextMessage)
    let message = QueuedMessage(
      id: id, kind: .data, category: category, priority: priority, body: [], acceptedAt: now)
    try sessions[place].traffic.accept(message, source, name: name, asks: asks)
    nextMessage += 1
    metrics.messagesSent += 1
    tell(id, sessions[place].id, .created)
    if openMask != 0 { pump(at: now) }
    return id
  }

  /// A message of an earlier process, whose content is read again from its file, if that is the same as it was.
  mutating func resend(
    _ message: StoredMessage, _ file: StoredFile, _ content: (any BodyReader)?, _ place: Int, at now: Instant
  ) -> MessageID? {
    guard let content, content.byteCount == file.byteCount, file.headCount <= message.body.count else { return nil }
    return try? send(
      Array(message.body[..<file.headCount]), content, Array(message.body[file.headCount...]),
      category: message.category, priority: message.priority, name: file.transfer, asks: true, place, at: now)
  }

  /// Sends pieces of large messages: those that no connection carries any more, then new ones, as far as the path carries
  /// them without a queue, and only while nothing else waits to be written.
  mutating func pumpPieces(_ place: Int, on link: Int, at now: Instant) {
    switch sessions[place].handshake.phase {
    case .agreed where sessions[place].traffic.features.contains(.transfers): break
    case .agreed, .unanswered: return pumpWhole(place, on: link, at: now)
    // Whether the other end knows pieces is not known yet.
    case .none, .asked, .refused: return
    }
    let session = sessions[place].id
    while links[link].output.isEmpty, links[link].window.takesPieces {
      if let orphan = orphanedPiece(place) {
        metrics.messagesRetried += 1
        transmitPiece(orphan, of: place, on: link, at: now)
        continue
      }
      let piece = sessions[place].traffic.dequeuePiece(links[link].window.pieceCount, at: now)
      for id in sessions[place].traffic.transfers.takeUnreadable() { unreadable(id, place) }
      guard let piece else { return }
      if piece.isFirst { tell(piece.message, session, .sending) }
      transmitPiece(piece.place, of: place, on: link, at: now)
      if piece.isLast { tell(piece.message, session, .sent) }
    }
  }

  private mutating func unreadable(_ id: MessageID, _ place: Int) {
    withdrawPieces(sessions[place].traffic.transfers.remove(id) ?? [], of: place)
    failed(id, place, because: .unreadable)
  }

  /// The piece that waits longest for its answer and that no connection carries.
  private func orphanedPiece(_ place: Int) -> Int32? {
    var entry = sessions[place].traffic.transfers.pieces.first
    for _ in 0..<min(64, sessions[place].traffic.transfers.pieces.count) where entry >= 0 {
      if sessions[place].traffic.transfers.pieces[entry].carriers & openMask == 0 { return entry }
      entry = sessions[place].traffic.transfers.pieces.after(entry)
    }
    return nil
  }

  private mutating func transmitPiece(_ entry: Int32, of place: Int, on link: Int, at now: Instant) {
    let bit = Self.bit(link)
    if sessions[place].announced & bit == 0 { announce(place, on: link, at: now) }
    let count = sessions[place].traffic.transmitPiece(
      entry, to: &links[link].output, bit: bit, time: unixTime(now), configuration.speech, at: now)
    links[link].window.sent(count, isPiece: true)
    if links[link].pieces == 0 { links[link].pieceAt = now }
    links[link].pieces += 1
    writable(link)
  }

  /// The other end knows no pieces: a large message goes in one frame, when nothing else waits.
  private mutating func pumpWhole(_ place: Int, on link: Int, at now: Instant) {
    while links[link].output.byteCount < sessions[place].traffic.strategy.bufferBytes,
      sessions[place].traffic.queues.isEmpty, let whole = sessions[place].traffic.dequeueWhole(at: now)
    {
      switch whole {
      case .tooLarge(let id): failed(id, place, because: .tooLarge)
      case .message(let entry):
        tell(sessions[place].traffic.pending[entry].id, sessions[place].id, .sending)
        transmit(entry, of: place, on: link, at: now)
      }
    }
  }

  /// Takes the pieces at these places out: they are not waited for any more.
  mutating func withdrawPieces(_ entries: [Int32], of place: Int) {
    for entry in entries {
      let piece = sessions[place].traffic.transfers.pieces[entry]
      released(piece.body.count, piece.carriers)
      sessions[place].traffic.transfers.pieces.remove(entry)
    }
  }

  /// Connections do not carry a piece any more.
  mutating func released(_ count: Int, _ carriers: UInt8) {
    for link in 0..<8 where carriers & Self.bit(link) != 0 {
      links[link].window.released(count, isPiece: true)
      links[link].pieces = max(0, links[link].pieces - 1)
    }
  }

  /// A piece of a large message is there; with the last one the message.
  mutating func acknowledgedPiece(_ entry: Int32, in place: Int, at now: Instant) {
    let piece = sessions[place].traffic.transfers.pieces[entry]
    let roundTrip = piece.transmissions == 1 ? now.nanoseconds(since: piece.firstSentAt) : nil
    for link in 0..<8 where piece.carriers & Self.bit(link) != 0 {
      links[link].window.acknowledged(piece.body.count, isPiece: true, after: roundTrip, at: now)
      links[link].pieces = max(0, links[link].pieces - 1)
    }
    sessions[place].traffic.transfers.pieces.remove(entry)
    let answer = sessions[place].traffic.transfers.acknowledged(piece.sequence, piece.body.count)
    guard let answer else { return }
    if configuration.reportsTransfers { tell(.sending(answer.message, sessions[place].id, answer.progress)) }
    guard answer.isWhole else { return }
    withdrawPieces(sessions[place].traffic.transfers.remove(answer.message) ?? [], of: place)
    metrics.messagesAcknowledged += 1
    sessions[place].traffic.reads.note(piece.sequence, answer.message)
    tell(answer.message, sessions[place].id, .accepted)
  }
}
