/// Large messages: pieces that come and pieces that go.
extension ServerCore {
  /// The longest message that is taken in pieces.
  private var longestBody: Int {
    configuration.service == .forward
      ? min(configuration.mailboxes.bytes, configuration.largestBody) : configuration.largestBody
  }

  /// Whether a frame was a piece of a large message, which has been dealt with.
  mutating func arrivedPiece(
    _ header: FrameHeader, _ body: RawSpan, _ place: Int, on link: Int, at now: Moment
  ) -> Bool {
    let keepsBytes = configuration.service != .deliver || configuration.tellsMessages
    let before = sessions[place].traffic.transfers.incomingBytes
    guard
      let arrival = sessions[place].traffic.arrivedPiece(header, body, limit: longestBody, keepsBytes: keepsBytes)
    else { return false }
    if keepsBytes { incomingBytes += sessions[place].traffic.transfers.incomingBytes - before }
    switch arrival {
    case .waits: break
    case .taken:
      guard incomingBytes <= configuration.maximumIncomingTotal else {
        refuse(header.sequence, .mailboxFull, place, on: link, at: now)
        break
      }
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
    case .refused: refuse(header.sequence, .tooLarge, place, on: link, at: now)
    case .whole(let whole, let bytes):
      if whole.sequence != header.sequence { acknowledge(header.sequence, of: place, cameOn: link, at: now) }
      message(whole, bytes.span.bytes, place, on: link, at: now)
    }
    return true
  }

  /// Sends pieces of large messages: those that no connection carries any more, then new ones.
  mutating func pumpPieces(_ place: Int, at now: Moment) {
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
      guard let piece = sessions[place].traffic.dequeuePiece(links[link].window.pieceCount, at: now) else { return }
      if piece.isFirst { tell(piece.message, place, .sending) }
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

  private mutating func transmitPiece(_ entry: Int32, of place: Int, _ link: Int, _ bit: Int, at now: Moment) {
    let count = sessions[place].traffic.transmitPiece(
      entry, to: &links[link].output, bit: Self.bit(bit), time: unixTime(now), configuration.speech, at: now)
    links[link].window.sent(count, isPiece: true)
    writable(link)
  }

  /// A client that knows no pieces gets a large message in one frame, if one can carry it.
  private mutating func pumpWhole(_ place: Int, _ link: Int, _ bit: Int, at now: Moment) {
    while links[link].output.byteCount < sessions[place].traffic.strategy.bufferBytes,
      let first = sessions[place].traffic.transfers.outgoing.first
    {
      guard first.message.body.count <= FrameHeader.maximumBodyCount else {
        sessions[place].traffic.transfers.outgoing.removeFirst()
        undeliverable += 1
        continue
      }
      guard let entry = sessions[place].traffic.dequeueWhole(at: now) else { return }
      tell(first.message.id, place, .sending)
      transmit(entry, of: place, on: bit, at: now)
    }
  }

  /// A piece has its answer: the message, if that has it with it.
  mutating func acknowledgedPiece(_ entry: Int32, _ place: Int, at now: Moment) -> MessageID? {
    let piece = sessions[place].traffic.transfers.pieces[entry]
    let roundTrip = piece.transmissions == 1 ? now.nanoseconds(since: piece.firstSentAt) : nil
    answered(piece.body.count, piece.carriers, of: place, isPiece: true, after: roundTrip, at: now)
    sessions[place].traffic.transfers.pieces.remove(entry)
    guard let id = sessions[place].traffic.transfers.acknowledged(piece.sequence) else { return nil }
    for entry in sessions[place].traffic.transfers.remove(id) ?? [] {
      let rest = sessions[place].traffic.transfers.pieces[entry]
      answered(rest.body.count, rest.carriers, of: place, isPiece: true, after: nil, at: now)
      sessions[place].traffic.transfers.pieces.remove(entry)
    }
    return id
  }

  /// What connections carried of a session has its answer.
  mutating func answered(
    _ count: Int, _ carriers: UInt8, of place: Int, isPiece: Bool = false, after roundTrip: Int64?, at now: Moment
  ) {
    for bit in 0..<8 where carriers & sessions[place].linkMask & Self.bit(bit) != 0 {
      links[Int(sessions[place].links[bit])].window.acknowledged(
        count, isPiece: isPiece, after: roundTrip, at: now)
    }
  }
}
