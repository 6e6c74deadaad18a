/// Large messages: pieces that come and pieces that go.
extension ServerCore {
  /// The longest message that is taken in pieces.
  private var longestBody: Int {
    configuration.service == .forward
      ? min(configuration.mailboxes.bytes, configuration.largestBody) : configuration.largestBody
  }

  /// Bytes of large messages that may be here and are not whole.
  @inline(__always)
  var mostIncomingBytes: Int {
    bodies != nil && configuration.service == .forward
      ? max(configuration.mailboxes.total, configuration.maximumIncomingTotal) : configuration.maximumIncomingTotal
  }

  /// Whether what is kept of large messages counts.
  @inline(__always)
  var keepsTransfers: Bool { configuration.service != .deliver || configuration.tellsMessages }

  private mutating func keeping(_ piece: IncomingTransfer.Piece) -> IncomingTransfer.Keeping {
    guard keepsTransfers else { return .nothing }
    // What is compressed is short.
    guard configuration.service == .forward, piece.compression == 0, let bodies else {
      return .memory(limit: longestBody)
    }
    guard piece.size <= longestBody else { return .memory(limit: 0) }
    return .store(bodies, body: random.next())
  }

  /// Whether a frame was a piece of a large message, which has been dealt with.
  mutating func arrivedPiece(
    _ header: FrameHeader, _ body: RawSpan, _ place: Int, on link: Int, at now: Instant
  ) -> Bool {
    guard let piece = Traffic.piece(header, body, sessions[place].traffic.features) else { return false }
    if !sessions[place].traffic.transfers.knows(piece.name),
      let reason = begin(piece, body.extracting(piece.bytes), place, at: now)
    {
      undeliverable += 1
      withhold(body.extracting(piece.bytes).withUnsafeBytes { [UInt8]($0) }, of: Int(sessions[place].device))
      sessions[place].traffic.transfers.finish(piece.name, isRefused: true)
      refuse(header.sequence, reason, place, on: link, at: now)
      return true
    }
    if keepsTransfers, !hasRoom(for: piece.bytes.count, place) {
      let before = sessions[place].traffic.transfers.incomingBytes
      if let stored = sessions[place].traffic.transfers.drop(piece.name) { discard(stored, at: now) }
      incomingBytes += sessions[place].traffic.transfers.incomingBytes - before
      refuse(header.sequence, .mailboxFull, place, on: link, at: now)
      return true
    }
    let before = sessions[place].traffic.transfers.incomingBytes
    let stored = sessions[place].traffic.transfers.arriving(piece.name)?.body
    let arrival = sessions[place].traffic.arrived(header, piece, body, keeping(piece))
    if keepsTransfers { incomingBytes += sessions[place].traffic.transfers.incomingBytes - before }
    if piece.asks {
      // The answer comes before the acknowledgment.
      let number = sessions[place].traffic.counters.take(.control)
      writeControl(
        sessions[place].traffic.transfers.have(piece), sessions[place].traffic.wireID, number,
        sessions[place].traffic.version, on: link, at: now)
    }
    switch arrival {
    case .waits:
      note(piece.name, place)
      relay(piece, body, place, at: now)
    case .known: acknowledge(header.sequence, of: place, cameOn: link, at: now)
    case .taken:
      note(piece.name, place)
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
      relay(piece, body, place, at: now)
    case .refused:
      if let stored { withdraw(relay: stored, at: now) }
      let isLong = piece.size > longestBody
      refuse(header.sequence, isLong ? .tooLarge : .mailboxFull, place, on: link, at: now)
    case .whole(let whole, let message):
      if whole.sequence != header.sequence { acknowledge(header.sequence, of: place, cameOn: link, at: now) }
      switch message {
      case .bytes(let bytes): self.message(whole, bytes.span.bytes, place, on: link, at: now)
      case .stored(let stored):
        // What notes what has come is needed until the letter is kept.
        if configuration.isDurable { wholeBodies.append(stored.body) } else { bodies?.note(nil, of: stored.body) }
        self.message(whole, stored, place, on: link, at: now)
      }
    }
    return true
  }

  /// Whether so many bytes more of messages that are not whole may be here, of all clients and of this one.
  private func hasRoom(for count: Int, _ place: Int) -> Bool {
    guard incomingBytes + count <= mostIncomingBytes else { return false }
    guard configuration.service == .forward else { return true }
    let own = sessions[place].traffic.transfers.incomingBytes + devices[Int(sessions[place].device)].stored
    return own + count <= max(configuration.mailboxes.sender, longestBody)
  }

  /// The first piece of a transfer that this session does not know: what was there before goes on.
  /// - Returns: why the message cannot be taken, where its first bytes say as much.
  private mutating func begin(
    _ piece: IncomingTransfer.Piece, _ beginning: RawSpan, _ place: Int, at now: Instant
  ) -> FailureReason? {
    let device = Int(sessions[place].device)
    if let known = devices[device].partial.removeValue(forKey: piece.name) {
      if known.matches(piece) {
        sessions[place].traffic.transfers.adopt(piece.name, known)
        return nil
      }
      drop(known, at: now)
    }
    guard configuration.service == .forward, piece.compression == 0, piece.offset == 0 else { return nil }
    // Values before the content, which is longer than the piece.
    let head = beginning.withUnsafeBytes { [UInt8]($0) }
    guard let target = target(of: head) else { return nil }
    if hasCome(head, target, from: device) {
      sessions[place].traffic.transfers.finish(piece.name)
      return nil
    }
    guard piece.size <= longestBody - Self.addedBytes else { return .tooLarge }
    return refusal(of: piece.size + Self.addedBytes, for: target, from: device)
  }

  /// Notes what has come, for the next process.
  private mutating func note(_ name: UInt64, _ place: Int) {
    guard let bodies, configuration.isDurable,
      case .client(let key) = devices[Int(sessions[place].device)].peer,
      let known = sessions[place].traffic.transfers.record(name, owner: key.bytes)
    else { return }
    bodies.note(known.record, of: known.body)
  }

  /// Forgets a message that is not whole.
  private mutating func drop(_ transfer: IncomingTransfer, at now: Instant) {
    incomingBytes -= transfer.byteCount
    if let body = transfer.stored?.body { discard(body, at: now) }
  }

  /// Removes the body of a message that will not become a letter.
  private mutating func discard(_ body: UInt64, at now: Instant) {
    withdraw(relay: body, at: now)
    bodies?.remove(body)
  }

  /// Keeps what a session that is forgotten had of large messages: its client may go on in another one.
  mutating func keepPartial(of place: Int, at now: Instant) {
    guard keepsTransfers else { return }
    let device = Int(sessions[place].device)
    for (name, transfer) in sessions[place].traffic.transfers.takeStored() {
      if devices[device].partial.count >= Transfers.mostIncoming,
        let old = devices[device].partial.min(by: { $0.value.byteCount < $1.value.byteCount })
      {
        devices[device].partial[old.key] = nil
        drop(old.value, at: now)
      }
      devices[device].partial[name] = transfer
    }
    incomingBytes -= sessions[place].traffic.transfers.incomingBytes
  }

  /// Forgets what a device that is forgotten has sent of large messages.
  mutating func dropPartial(of device: Int, at now: Instant) {
    let all = devices[device].partial
    devices[device].partial = [:]
    for transfer in all.values { drop(transfer, at: now) }
  }

  /// Finds what an earlier process had of large messages.
  mutating func restorePartial(at now: Instant) {
    guard let bodies else { return }
    for (body, record) in bodies.records() {
      var (name, owner): (UInt64, [UInt8]) = (0, [])
      // A letter has it by now, or its bytes are gone.
      guard bodyUses[body] == nil, bodies.reader(of: body) != nil,
        let transfer = IncomingTransfer(record: record, body: body, name: &name, owner: &owner)
      else {
        bodies.note(nil, of: body)
        continue
      }
      let device = self.device(of: .client(DeviceKey(owner)), claiming: nil)
      if devices[device].detachedAt == nil {
        devices[device].detachedAt = now
        armDevice(device, by: now.advanced(by: configuration.memory))
      }
      devices[device].partial[name] = transfer
      incomingBytes += transfer.byteCount
    }
  }

  // MARK: in the store

  /// A large message is whole, and in the store.
  private mutating func message(
    _ header: FrameHeader, _ stored: IncomingTransfer.Stored, _ place: Int, on link: Int, at now: Instant
  ) {
    guard let reader = bodies?.reader(of: stored.body), reader.byteCount == stored.content.count,
      let (head, parts) = Self.read(reader)
    else { return reject(header.sequence, .tooLarge, stored.body, place, on: link, at: now) }
    guard !isContradicted(stored.body, parts) else {
      return reject(header.sequence, .other, stored.body, place, on: link, at: now)
    }
    // Until a letter uses it.
    bodyUses[stored.body] = 1
    message(
      header, head.span.bytes, place, on: link, LargeContent(body: stored.body, reader: reader, parts: parts), at: now)
    // Still here if the message was refused, or is a duplicate.
    withdraw(relay: stored.body, at: now)
    release(stored.body)
  }

  /// Refuses a large message that is whole.
  private mutating func reject(
    _ sequence: SequenceNumber, _ reason: FailureReason, _ body: UInt64, _ place: Int, on link: Int, at now: Instant
  ) {
    discard(body, at: now)
    undeliverable += 1
    refuse(sequence, reason, place, on: link, at: now)
  }

  /// A message in the store, while it is taken in.
  struct LargeContent {
    var body: UInt64
    var reader: any BodyReader
    /// What goes on to its recipients, beside what the server adds.
    var parts: [Range<Int>]
  }

  /// The values of a message that the server looks at, and where the others are; `nil` where there are too many.
  static func read(_ reader: any BodyReader) -> (head: [UInt8], parts: [Range<Int>])? {
    let own: Set<Tag> = [.sender, .origin, .missing, .withheld, .recipient, .group]
    var (head, parts, offset): ([UInt8], [Range<Int>], Int) = ([], [], 0)
    func keep(_ end: Int) {
      if let last = parts.last, last.upperBound == offset {
        parts[parts.count - 1] = last.lowerBound..<end
      } else {
        parts.append(offset..<end)
      }
    }
    for _ in 0..<1_024 {
      guard offset + TLV.headCount <= reader.byteCount, let bytes = reader.read(at: offset, count: TLV.headCount) else {
        break
      }
      let tag = Tag(rawValue: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
      let end = offset + TLV.headCount + Int(bytes[2...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
      guard end <= reader.byteCount else { break }
      if own.contains(tag) {
        guard end - offset <= 4_096, head.count <= 65_536,
          let value = reader.read(at: offset, count: end - offset)
        else { return nil }
        head += value
      } else {
        keep(end)
      }
      offset = end
    }
    // What follows is no value, and goes on as it is.
    if offset < reader.byteCount { keep(reader.byteCount) }
    return parts.count <= 256 ? (head, parts) : nil
  }

  /// One letter less uses a body in the store.
  mutating func release(_ body: UInt64) {
    guard let uses = bodyUses[body] else { return }
    bodyUses[body] = uses > 1 ? uses - 1 : nil
    guard uses <= 1 else { return }
    // A letter that the store still has must find its body.
    if configuration.isDurable { unusedBodies.append(body) } else { bodies?.remove(body) }
  }

  /// Sends pieces of large messages: those that no connection carries any more, then new ones.
  mutating func pumpPieces(_ place: Int, at now: Instant) {
    guard let bit = bestBit(place) else { return }
    let link = Int(sessions[place].links[bit])
    guard sessions[place].traffic.features.contains(.transfers) else {
      return pumpWhole(place, link, bit, at: now)
    }
    while links[link].output.isEmpty, links[link].window.takesPieces {
      if let orphan = orphanedPiece(place) {
        metrics.messagesRetried += 1
        transmitPiece(orphan, of: place, link, bit, at: now)
        continue
      }
      let piece = sessions[place].traffic.dequeuePiece(links[link].window.pieceCount, at: now)
      for id in sessions[place].traffic.transfers.takeUnreadable() { dropPieces(of: id, place, at: now) }
      guard let piece else { return }
      if piece.isFirst, piece.message.rawValue < Self.firstRelay { tell(piece.message, place, .sending) }
      transmitPiece(piece.place, of: place, link, bit, at: now)
      if piece.isLast { tell(piece.message, place, .sent) }
    }
  }

  private func orphanedPiece(_ place: Int) -> Int32? {
    var entry = sessions[place].traffic.transfers.pieces.first
    for _ in 0..<min(64, sessions[place].traffic.transfers.pieces.count) where entry >= 0 {
      if sessions[place].traffic.transfers.pieces[entry].carriers & sessions[place].linkMask == 0 { return entry }
      entry = sessions[place].traffic.transfers.pieces.after(entry)
    }
    return nil
  }

  private mutating func transmitPiece(_ entry: Int32, of place: Int, _ link: Int, _ bit: Int, at now: Instant) {
    let count = sessions[place].traffic.transmitPiece(
      entry, to: &links[link].output, bit: Self.bit(bit), time: unixTime(now), configuration.speech, at: now)
    links[link].window.sent(count, isPiece: true)
    writable(link)
  }

  /// A client that knows no pieces gets a large message in one frame, if one can carry it.
  private mutating func pumpWhole(_ place: Int, _ link: Int, _ bit: Int, at now: Instant) {
    while links[link].output.byteCount < sessions[place].traffic.strategy.bufferBytes,
      let whole = sessions[place].traffic.dequeueWhole(at: now)
    {
      switch whole {
      case .tooLarge: undeliverable += 1
      case .message(let entry):
        tell(sessions[place].traffic.pending[entry].id, place, .sending)
        transmit(entry, of: place, on: bit, at: now)
      }
    }
  }

  /// A piece has its answer: the message, if that has it with it.
  mutating func acknowledgedPiece(_ entry: Int32, _ place: Int, at now: Instant) -> MessageID? {
    let piece = sessions[place].traffic.transfers.pieces[entry]
    let roundTrip = piece.transmissions == 1 ? now.nanoseconds(since: piece.firstSentAt) : nil
    answered(piece.body.count, piece.carriers, of: place, isPiece: true, after: roundTrip, at: now)
    sessions[place].traffic.transfers.pieces.remove(entry)
    guard let answer = sessions[place].traffic.transfers.acknowledged(piece.sequence, piece.body.count), answer.isWhole
    else { return nil }
    removePieces(of: answer.message, place, at: now)
    return answer.message
  }

  /// A disk that cannot be read has cost a message its bytes.
  private mutating func dropPieces(of id: MessageID, _ place: Int, at now: Instant) {
    undeliverable += 1
    removePieces(of: id, place, at: now)
  }

  mutating func removePieces(of id: MessageID, _ place: Int, at now: Instant) {
    for entry in sessions[place].traffic.transfers.remove(id) ?? [] {
      let rest = sessions[place].traffic.transfers.pieces[entry]
      answered(rest.body.count, rest.carriers, of: place, isPiece: true, after: nil, at: now)
      sessions[place].traffic.transfers.pieces.remove(entry)
    }
  }

  /// What connections carried of a session has its answer.
  mutating func answered(
    _ count: Int, _ carriers: UInt8, of place: Int, isPiece: Bool = false, after roundTrip: Int64?, at now: Instant
  ) {
    for bit in 0..<8 where carriers & sessions[place].linkMask & Self.bit(bit) != 0 {
      links[Int(sessions[place].links[bit])].window.acknowledged(
        count, isPiece: isPiece, after: roundTrip, at: now)
    }
  }
}
