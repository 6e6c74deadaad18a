/// Frames that come in.
extension ClientCore {
  /// See `EndpointCore`.
  public mutating func parsed(in nanoseconds: Int64, leaving waiting: Int) {
    metrics.parsed(in: nanoseconds, leaving: waiting)
  }

  /// Reads the frames of a connection.
  mutating func read(_ bytes: RawSpan, on link: Int, at now: Instant) -> Intake {
    var offset = 0
    while true {
      switch FrameReader.read(bytes, at: offset, accepting: configuration.speech.version.major) {
      case .needs(let wanted):
        return Intake(consumed: offset, wanted: wanted)
      case .broken(let error):
        broken(error, on: link, at: now)
        return Intake(consumed: bytes.byteCount, wanted: FrameHeader.byteCount)
      case .frame(let header, let isIntact):
        let start = offset + FrameHeader.byteCount
        offset = start + Int(header.bodyCount)
        metrics.received(header.kind)
        if isIntact {
          links[link].damagedFrames = 0
          read(header, bytes.extracting(start..<offset), on: link, at: now)
        } else if damaged(header, on: link, at: now) {
          return Intake(consumed: bytes.byteCount, wanted: FrameHeader.byteCount)
        }
        // What a frame said may have ended the connection.
        if links[link].phase != .open { return Intake(consumed: bytes.byteCount, wanted: FrameHeader.byteCount) }
      }
    }
  }

  /// A frame with a wrong checksum is left out: its sender will send it again. Three in a row end the connection.
  private mutating func damaged(_ header: FrameHeader, on link: Int, at now: Instant) -> Bool {
    metrics.parseErrors += 1
    tell(.damaged(find(header.session).map { sessions[$0].id }, connection(link)))
    links[link].damagedFrames += 1
    guard links[link].damagedFrames >= 3 else { return false }
    metrics.parserResets += 1
    abort(link)
    lostOpen(.protocolError, at: now)
    return true
  }

  private mutating func broken(_ error: FrameError, on link: Int, at now: Instant) {
    metrics.parseErrors += 1
    metrics.parserResets += 1
    tell(.notFrames(connection(link)))
    abort(link)
    if case .version(let major) = error {
      let refusal = HandshakeRefusal(.version, version: ProtocolVersion(major, 0))
      for place in sessions.indices where sessions[place].isWanted { refused(place, refusal, at: now) }
      lostOpen(.version, at: now)
    } else {
      lostOpen(.protocolError, at: now)
    }
  }

  /// The session with this number.
  @inline(__always)
  private func find(_ wireID: UInt16) -> Int? {
    if sessions.count == 1, sessions[0].traffic.wireID == wireID { return 0 }
    return sessions.indices.first { sessions[$0].traffic.wireID == wireID }
  }

  private mutating func read(_ header: FrameHeader, _ body: RawSpan, on link: Int, at now: Instant) {
    guard let place = find(header.session) else {
      // A server that cannot read this version names no session: it means the connection.
      if header.kind == .control, case .refused(let refusal)? = HandshakeResponse(decoding: body) {
        for place in sessions.indices where sessions[place].isWanted { refused(place, refusal, at: now) }
        steer(at: now)
      }
      return
    }
    switch header.kind {
    case .acknowledgment:
      let named =
        body.byteCount == 4
        ? SequenceNumber(rawValue: UInt32(truncatingIfNeeded: TLV.number(body, 0..<4))) : header.sequence
      acknowledged(named, in: place, on: link, at: now)
    case .heartbeat:
      // An answer in the form of the question, or a question of the server's own.
      if sessions[place].traffic.pending.find(header.sequence) != nil {
        acknowledged(header.sequence, in: place, on: link, at: now)
      } else {
        acknowledge(header.sequence, of: place, cameOn: link, at: now)
      }
    case .control:
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
      if let response = HandshakeResponse(decoding: body) { answered(place, response, at: now) }
      if let range = TLV.value(of: .refused, in: body), range.count == 10 {
        turnedAway(body, range, place, on: link, at: now)
      }
      if let range = TLV.value(of: .transferHave, in: body), let having = Transfers.having(body, range) {
        sessions[place].traffic.transfers.has(having.name, having.ranges)
      }
      if let range = TLV.value(of: .withdrawn, in: body), range.count == 8 {
        withdrawn(TLV.number(body, range), place)
      }
      if let range = TLV.value(of: .membership, in: body), range.count > 2,
        TLV.number(body, range.lowerBound..<range.lowerBound + 1) == Membership.list.rawValue
      {
        membersCame(body, range, in: place)
      }
    case .receipt:
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
      guard sessions[place].traffic.isFirst(header.sequence) else {
        metrics.duplicatesReceived += 1
        return
      }
      // Earlier versions compressed long ones.
      if header.compression == 1, let inflated = Deflate.inflated(body) {
        receipts(inflated.span.bytes, in: place, at: now)
      } else {
        receipts(body, in: place, at: now)
      }
    default:
      if let piece = Traffic.piece(header, body, sessions[place].traffic.features) {
        return arrived(piece, header, body, place, on: link, at: now)
      }
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
      guard sessions[place].traffic.isFirst(header.sequence) else {
        metrics.duplicatesReceived += 1
        return
      }
      arrived(header, body, place, on: link, at: now)
    }
  }

  private mutating func receipts(_ body: RawSpan, in place: Int, at now: Instant) {
    if let range = TLV.value(of: .delivered, in: body) {
      for start in stride(from: range.lowerBound, to: range.upperBound - 3, by: 4) {
        let number = UInt32(truncatingIfNeeded: TLV.number(body, start..<start + 4))
        wasDelivered(SequenceNumber(rawValue: number), in: place, at: now)
      }
    }
    if let range = TLV.value(of: .readReceipt, in: body), range.count == 4 {
      let number = UInt32(truncatingIfNeeded: TLV.number(body, range))
      wasRead(SequenceNumber(rawValue: number), in: place, at: now)
    }
    if let range = TLV.value(of: .namedReceipts, in: body) {
      for entry in NamedReceipts.decoded(body, range) { came(entry, in: place, at: now) }
    }
  }

  private static var copyLimit: Int { 65_536 }

  /// Acknowledges a frame on the connection it came on, and on others that stand: one of them may be stalled.
  mutating func acknowledge(_ sequence: SequenceNumber, of place: Int, cameOn link: Int, at now: Instant) {
    let time = unixTime(now)
    sessions[place].traffic.acknowledge(sequence, to: &links[link].output, time: time, configuration.speech)
    writable(link)
    guard openMask & (openMask &- 1) != 0 else { return }
    var left = (racing?.acknowledgmentConnections ?? 1) - 1
    for other in 0..<8 where left > 0 && other != link && openMask & Self.bit(other) != 0 {
      // A connection that takes nothing is stalled: what is written there would only pile up.
      if links[other].output.byteCount > Self.copyLimit { continue }
      sessions[place].traffic.acknowledge(sequence, to: &links[other].output, time: time, configuration.speech)
      writable(other)
      left -= 1
    }
  }

  // MARK: answers

  private mutating func acknowledged(_ sequence: SequenceNumber, in place: Int, on link: Int, at now: Instant) {
    budget.acknowledged()
    guard let entry = sessions[place].traffic.pending.find(sequence) else {
      if let piece = sessions[place].traffic.transfers.pieces.find(sequence) {
        return acknowledgedPiece(piece, in: place, at: now)
      }
      if sequence.category != .control { metrics.duplicateAcknowledgments += 1 }
      return
    }
    let pending = sessions[place].traffic.pending[entry]
    if pending.kind == .heartbeat { metrics.heartbeatsAnswered += 1 }
    if pending.transmissions == 1 {
      let roundTrip = now.nanoseconds(since: pending.firstSentAt)
      roundTrips.add(roundTrip, at: now)
      if pending.kind == .heartbeat {
        metrics.heartbeatRoundTrip = roundTrip
        let silent = pending.firstSentAt.nanoseconds(since: pending.acceptedAt)
        heartbeat.answered(after: roundTrip, silent: silent, at: now, &random)
        tellQuality()
      } else {
        metrics.roundTrip = roundTrip
        judge(roundTrip, at: now)
      }
    }
    release(pending, heardOn: link, at: now)
    sessions[place].traffic.pending.remove(entry)
    guard pending.kind == .data else { return }
    metrics.messagesAcknowledged += 1
    sessions[place].traffic.reads.note(sequence, pending.id)
    if MessageMachine.next(pending.state, .acknowledge) != nil { tell(pending.id, sessions[place].id, .accepted) }
  }

  /// A recipient's application has taken a message.
  private mutating func wasDelivered(_ sequence: SequenceNumber, in place: Int, at now: Instant) {
    if let entry = sessions[place].traffic.pending.find(sequence) {
      // The receipt has overtaken the acknowledgment, and says more.
      let pending = sessions[place].traffic.pending[entry]
      guard pending.kind == .data else { return }
      release(pending, heardOn: 8, at: now)
      sessions[place].traffic.pending.remove(entry)
      metrics.messagesAcknowledged += 1
      sessions[place].traffic.reads.note(sequence, pending.id)
      tell(pending.id, sessions[place].id, .delivered)
    } else if let id = sessions[place].traffic.reads.message(sequence) {
      tell(id, sessions[place].id, .delivered)
    }
  }

  /// Something became of a message, which is called by its name: its session was forgotten, or it is of an earlier process.
  private mutating func came(_ entry: NamedReceipts.Entry, in place: Int, at now: Instant) {
    guard let (id, session) = sentNames.find(entry.name), let own = self.place(of: session) else {
      tell(.earlier(inbox.add(entry, session: sessions[place].id)))
      return
    }
    if let waiting = sessions[own].traffic.pending.find(id) {
      release(sessions[own].traffic.pending[waiting], heardOn: 8, at: now)
      sessions[own].traffic.pending.remove(waiting)
      metrics.messagesAcknowledged += 1
    }
    tell(id, session, entry.isRead ? .read : .delivered)
  }

  /// The server says that a message will not arrive.
  private mutating func turnedAway(_ body: RawSpan, _ range: Range<Int>, _ place: Int, on link: Int, at now: Instant) {
    let sequence = SequenceNumber(
      rawValue: UInt32(truncatingIfNeeded: TLV.number(body, range.lowerBound..<range.lowerBound + 4)))
    let number = UInt16(truncatingIfNeeded: TLV.number(body, range.lowerBound + 4..<range.lowerBound + 6))
    let reason = FailureReason(rawValue: number) ?? .other
    if let entry = sessions[place].traffic.pending.find(sequence) {
      let pending = sessions[place].traffic.pending[entry]
      guard pending.kind == .data else { return }
      budget.acknowledged()
      release(pending, heardOn: link, at: now)
      sessions[place].traffic.pending.remove(entry)
      failed(pending.id, place, because: reason)
    } else if let owner = sessions[place].traffic.transfers.owner(of: sequence) {
      withdrawPieces(sessions[place].traffic.transfers.remove(owner.message) ?? [], of: place)
      failed(owner.message, place, because: reason)
    } else if let id = sessions[place].traffic.reads.take(sequence) {
      failed(id, place, because: reason)
    }
  }

  /// Connections that carried a frame have one less to wait for.
  private mutating func release(_ pending: PendingTable.Entry, heardOn link: Int, at now: Instant) {
    var carriers = pending.carriers
    let isHeldBack = Self.isHeldBack(pending)
    let roundTrip = pending.transmissions == 1 ? now.nanoseconds(since: pending.firstSentAt) : nil
    while carriers != 0 {
      let place = carriers.trailingZeroBitCount
      carriers &= carriers &- 1
      if isHeldBack { links[place].window.acknowledged(pending.body.count, after: roundTrip, at: now) }
      links[place].outstanding = max(0, links[place].outstanding - 1)
      if place == link { links[place].waitingSince = now }
    }
  }

  private mutating func wasRead(_ sequence: SequenceNumber, in place: Int, at now: Instant) {
    tell(.read(sessions[place].id, sequence))
    // A receipt may come before the acknowledgment: both are answers.
    if let entry = sessions[place].traffic.pending.find(sequence) {
      let pending = sessions[place].traffic.pending[entry]
      guard pending.kind == .data, MessageMachine.next(pending.state, .receipt) != nil else { return }
      release(pending, heardOn: 8, at: now)
      sessions[place].traffic.pending.remove(entry)
      metrics.messagesAcknowledged += 1
      tell(pending.id, sessions[place].id, .read)
    } else if let id = sessions[place].traffic.reads.take(sequence) {
      tell(id, sessions[place].id, .read)
    }
  }

  private mutating func answered(_ place: Int, _ response: HandshakeResponse, at now: Instant) {
    switch response {
    case .refused(let refusal):
      refused(place, refusal, at: now)
      steer(at: now)
    case .agreed(let version, let features, let unsettled):
      guard version.major == configuration.speech.version.major else {
        refused(place, HandshakeRefusal(.version, version: version), at: now)
        steer(at: now)
        return
      }
      if let unsettled {
        let epoch = sessions[place].traffic.otherEpoch
        for (count, carriers) in sessions[place].traffic.settle(unsettled) {
          released(count, carriers)
        }
        if epoch != nil, epoch != sessions[place].traffic.otherEpoch { setAside(place) }
      }
      let wasAsked = sessions[place].handshake.phase
      sessions[place].handshake.phase = .agreed(at: now)
      sessions[place].handshake.lostAt = nil
      let both = min(version, configuration.speech.version)
      let common = features.intersection(configuration.speech.features)
      sessions[place].traffic.version = both
      sessions[place].traffic.features = common
      if case .agreed = wasAsked { return }
      tell(.handshake(sessions[place].id, .agreed(both, common)))
    }
  }

  /// The other end does not want this session: it ends alone, and others go on.
  private mutating func refused(_ place: Int, _ refusal: HandshakeRefusal, at now: Instant) {
    guard sessions[place].handshake.phase != .refused else { return }
    sessions[place].handshake.phase = .refused
    sessions[place].isWanted = false
    // Nothing of it goes out on any connection, nor is waited for there.
    sessions[place].announced = 0
    var entry = sessions[place].traffic.pending.first
    while entry >= 0 {
      release(sessions[place].traffic.pending[entry], heardOn: 8, at: now)
      entry = sessions[place].traffic.pending.after(entry)
    }
    sessions[place].traffic.pending.dropCarriers(0xff)
    sessions[place].traffic.transfers.pieces.dropCarriers(0xff)
    tell(.handshake(sessions[place].id, .refused(refusal)))
    move(place, .forceDisconnect, refusal.reason == .version ? .version : .rejected, at: now)
  }

  // MARK: quality

  /// A message's round trip says as much about the network as a heartbeat's; one in half a second is enough.
  private mutating func judge(_ roundTrip: Int64, at now: Instant) {
    guard now.nanoseconds(since: qualityAt) >= 500_000_000 else { return }
    qualityAt = now
    heartbeat.sampled(roundTrip)
    tellQuality()
  }

  mutating func tellQuality() {
    let quality = heartbeat.quality
    guard quality != lastQuality else { return }
    lastQuality = quality
    tell(.quality(quality))
  }
}

extension Inbox {
  /// Takes the body of a message as it is on the wire: what it inflates to takes no memory before it is asked for.
  mutating func add(_ header: FrameHeader, _ body: RawSpan, session: SessionID, connection: ConnectionID)
    -> ReceivedMessage
  {
    let offset = bytes.count
    body.withUnsafeBytes { bytes.append(contentsOf: $0) }
    return ReceivedMessage(
      session: session, sequence: header.sequence, connection: connection, time: header.time, offset: offset,
      byteCount: body.byteCount, isCompressed: header.compression == 1, origin: nil, isLate: false, stored: nil,
      isEncrypted: header.encryption > 1)
  }
}
