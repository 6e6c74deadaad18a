public import IMWire

/// Frames that come in, and what the transport says.
extension ServerCore {
  /// See `EndpointCore`.
  public mutating func parsed(in nanoseconds: Int64, leaving waiting: Int) {
    metrics.parsed(in: nanoseconds, leaving: waiting)
  }

  /// See `EndpointCore`.
  public mutating func setWallClock(unixSeconds: Int64, at now: Instant) {
    unixOffset = unixSeconds &- now.nanoseconds / 1_000_000_000
    startedAt = startedAt ?? now
  }

  /// See `EndpointCore`.
  public mutating func accepted(from remote: Endpoint, at now: Instant) -> ConnectionID? {
    let link: Int
    if let free = freeLinks.popLast() {
      link = Int(free)
      let generation = links[link].generation
      let peer = ServerPeer.connection(ConnectionID(place: free.magnitude, generation: generation))
      links[link] = ServerLink(remote: remote, openedAt: now, heardAt: now, peer: peer)
      links[link].generation = generation
    } else {
      link = links.count
      let peer = ServerPeer.connection(ConnectionID(place: UInt32(link), generation: 0))
      links.append(ServerLink(remote: remote, openedAt: now, heardAt: now, peer: peer))
    }
    links[link].phase = .open
    openLinks += 1
    metrics.connectionSuccesses += 1
    armLink(link, by: now.advanced(by: configuration.handshakeTimeout))
    return connection(link)
  }

  /// See `EndpointCore`.
  public mutating func opened(_ connection: ConnectionID, local: Endpoint?, at now: Instant) {}
  /// See `EndpointCore`.
  public mutating func measured(_ facts: TransportFacts, on connection: ConnectionID, at now: Instant) {}
  /// See `EndpointCore`.
  public mutating func pathChanged(to path: NetworkPath, at now: Instant) {}

  @inline(__always)
  private func link(_ id: ConnectionID) -> Int? {
    let place = Int(id.place)
    guard place < links.count, links[place].generation == id.generation, links[place].phase != .free else { return nil }
    return place
  }

  /// See `EndpointCore`.
  public mutating func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant) {
    guard let link = link(connection) else { return }
    if links[link].phase == .open { metrics.disconnects += 1 }
    release(link, at: now)
  }

  /// See `EndpointCore`.
  public mutating func received(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) -> Intake {
    let intake = read(bytes, on: connection, at: now)
    if !informed.isEmpty { inform(at: now) }
    serveLine(Self.servedWithARead, at: now)
    return intake
  }

  private mutating func read(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) -> Intake {
    let all = Intake(consumed: bytes.byteCount, wanted: FrameHeader.byteCount)
    guard let link = link(connection), links[link].phase == .open else { return all }
    links[link].heardAt = now
    var offset = 0
    reading: while true {
      switch FrameReader.read(bytes, at: offset, accepting: configuration.speech.version.major) {
      case .needs(let wanted):
        metrics.bytesReceived += UInt64(offset)
        // Who has not introduced itself does not fill memory with the beginning of a long frame.
        if !links[link].isIntroduced, offset == 0, wanted > Self.longestFirstFrame {
          giveUp(link, at: now)
          return all
        }
        if links[link].output.byteCount > configuration.maximumWaitingBytes {
          giveUp(link, at: now)
          return all
        }
        if !links[link].isIntroduced, offset > 0, authenticates == nil || !links[link].sessions.isEmpty {
          links[link].isIntroduced = true
        }
        for place in links[link].sessions
        where !sessions[Int(place)].traffic.queues.isEmpty
          || !sessions[Int(place)].traffic.transfers.isEmpty
        {
          pump(Int(place), at: now)
        }
        return Intake(consumed: offset, wanted: wanted)
      case .broken(let error):
        broken(error, on: link, at: now)
        break reading
      case .frame(let header, let isIntact):
        let start = offset + FrameHeader.byteCount
        offset = start + Int(header.bodyCount)
        metrics.received(header.kind)
        links[link].frames += 1
        if isIntact {
          links[link].damagedFrames = 0
          if !isFaulty(link) { read(header, bytes.extracting(start..<offset), on: link, at: now) }
        } else if damaged(header, on: link, at: now) {
          break reading
        }
        if links[link].phase != .open || links[link].generation != connection.generation { break reading }
      }
    }
    metrics.bytesReceived += UInt64(bytes.byteCount)
    return all
  }

  /// Whether a fault keeps the server from answering, or ends the connection.
  private mutating func isFaulty(_ link: Int) -> Bool {
    if let most = configuration.faults.closesAfter, links[link].frames > most {
      close(link)
      return true
    }
    if let most = configuration.faults.silentAfter, links[link].frames > most { return true }
    return false
  }

  /// The longest frame that a connection may begin with, in bytes: a handshake has a few hundred.
  private static var longestFirstFrame: Int { 65_536 }

  /// See `EndpointCore`: who is connected and has said nothing makes room; then those whose sessions carried no message,
  /// the ones that were silent longest first.
  public mutating func descriptorsRanOut(at now: Instant) {
    var idle: [Int] = []
    for link in links.indices where links[link].phase == .open && !links[link].isIntroduced { idle.append(link) }
    if idle.isEmpty {
      for link in links.indices where links[link].phase == .open {
        if links[link].sessions.allSatisfy({ !sessions[Int($0)].isUsed }) { idle.append(link) }
      }
    }
    idle.sort { links[$0].heardAt < links[$1].heardAt }
    for link in idle.prefix(max(16, idle.count / 2)) { giveUp(link, at: now) }
  }

  mutating func close(_ link: Int) {
    guard links[link].phase == .open else { return }
    links[link].phase = .closing
    commands.append(.close(connection(link)))
  }

  private mutating func damaged(_ header: FrameHeader, on link: Int, at now: Instant) -> Bool {
    metrics.parseErrors += 1
    tell(.damaged(find(header.session, on: link).map { id($0) }, connection(link)))
    links[link].damagedFrames += 1
    guard links[link].damagedFrames >= 3 else { return false }
    metrics.parserResets += 1
    giveUp(link, at: now)
    return true
  }

  mutating func giveUp(_ link: Int, at now: Instant) {
    metrics.disconnects += 1
    commands.append(.abort(connection(link)))
    release(link, at: now)
  }

  private mutating func broken(_ error: FrameError, on link: Int, at now: Instant) {
    metrics.parseErrors += 1
    metrics.parserResets += 1
    tell(.notFrames(connection(link)))
    if case .version(let major) = error {
      // In a version the other end can read: which one this is and why there will be no more.
      var version = configuration.speech.version
      let refusal = HandshakeResponse.refused(HandshakeRefusal(.version, version: version))
      version.major = major
      writeControl(refusal.encoded, 0, SequenceNumber(.control, 0), version, on: link, at: now)
    }
    close(link)
  }

  private mutating func read(_ header: FrameHeader, _ body: RawSpan, on link: Int, at now: Instant) {
    if header.kind == .control, let request = HandshakeRequest(decoding: body) {
      answer(request, header, on: link, at: now)
      return
    }
    // Where clients have to prove who they are, only a handshake makes a session.
    guard
      let place = find(header.session, on: link)
        ?? (authenticates == nil ? join(header.session, nil, on: link, at: now) : nil)
    else { return }
    links[link].lastSession = Int32(place)
    switch header.kind {
    case .acknowledgment:
      let named =
        body.byteCount == 4
        ? SequenceNumber(rawValue: UInt32(truncatingIfNeeded: TLV.number(body, 0..<4))) : header.sequence
      acknowledged(named, place, at: now)
    case .heartbeat:
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
    case .control:
      acknowledge(header.sequence, of: place, cameOn: link, at: now)
      if let range = TLV.value(of: .membership, in: body) { membership(body, range, place, on: link, at: now) }
      if let range = TLV.value(of: .transferHave, in: body), let having = Transfers.having(body, range) {
        sessions[place].traffic.transfers.has(having.name, having.ranges)
        pump(place, at: now)
      }
      if TLV.value(of: .leave, in: body) != nil { leave(place, link, isForGood: true, at: now) }
    case .receipt:
      // Earlier versions compressed long ones.
      let inflated = header.compression == 1 ? Deflate.inflated(body) : nil
      let isTaken =
        inflated.map { receipt(header, $0.span.bytes, place, at: now) } ?? receipt(header, body, place, at: now)
      if isTaken { acknowledge(header.sequence, of: place, cameOn: link, at: now) }
    default:
      if arrivedPiece(header, body, place, on: link, at: now) { break }
      message(header, body, place, on: link, at: now)
    }
  }

  /// A message has come. Of a `large` one that is in the store, `body` is what the server looks at.
  mutating func message(
    _ header: FrameHeader, _ body: RawSpan, _ place: Int, on link: Int, _ large: LargeContent? = nil, at now: Instant
  ) {
    var content: [UInt8] = []
    if configuration.service != .deliver {
      if sessions[place].traffic.hasCome(header.sequence) {
        answer(header.sequence, of: place, cameOn: link, at: now)
        metrics.duplicatesReceived += 1
        return
      }
      content = plain(body, header)
      // What cannot be taken is not acknowledged. Where it may be later, its sender waits, as it would for a network.
      let count = large.map { content.count + $0.parts.reduce(0) { $0 + $1.count } } ?? content.count
      switch admission(of: content, count, place) {
      case .taken: break
      case .noRoom: return
      case .refused(let reason):
        undeliverable += 1
        withhold(content, of: Int(sessions[place].device))
        return refuse(header.sequence, reason, place, on: link, at: now)
      }
    }
    answer(header.sequence, of: place, cameOn: link, at: now)
    guard sessions[place].traffic.isFirst(header.sequence) else {
      metrics.duplicatesReceived += 1
      return
    }
    metrics.messagesReceived += 1
    sessions[place].isUsed = true
    metrics.payloadBytes += UInt64(large?.reader.byteCount ?? body.byteCount)
    guard configuration.tellsMessages || configuration.service != .deliver else { return }
    if configuration.service != .deliver { serve(content, header, place, large, at: now) }
    guard configuration.tellsMessages else { return }
    tell(.message(inbox.add(header, body, session: id(place), connection: connection(link))))
  }

  // MARK: acknowledgments

  /// Acknowledges a message, once it is kept where something keeps it.
  private mutating func answer(_ sequence: SequenceNumber, of place: Int, cameOn link: Int, at now: Instant) {
    guard configuration.isDurable, configuration.service == .forward else {
      return acknowledge(sequence, of: place, cameOn: link, at: now)
    }
    unstored.append((id(place), sequence, connection(link)))
  }

  /// Acknowledges a frame on the connection it came on and on others of its session: one of them may be stalled.
  mutating func acknowledge(_ sequence: SequenceNumber, of place: Int, cameOn link: Int?, at now: Instant) {
    if let delay = configuration.faults.acknowledgmentDelay, !delayed.isFull {
      delayed.append(id(place), sequence, at: now.advanced(by: delay))
    } else {
      writeAcknowledgments(sequence, of: place, cameOn: link, at: now)
    }
  }

  mutating func writeAcknowledgments(_ sequence: SequenceNumber, of place: Int, cameOn link: Int?, at now: Instant) {
    let header = sessions[place].traffic.acknowledgment(of: sequence, time: unixTime(now))
    var left = configuration.acknowledgmentConnections
    if let link {
      write(header, on: link)
      left -= 1
      if sessions[place].linkMask & (sessions[place].linkMask &- 1) == 0 { return }
    }
    // The others by when they were last heard: those that work first.
    var rest = sessions[place].linkMask
    while left > 0, rest != 0 {
      var best: (bit: Int, heard: Instant)?
      for bit in 0..<8 where rest & Self.bit(bit) != 0 {
        let heard = links[Int(sessions[place].links[bit])].heardAt
        if best == nil || heard > best?.heard ?? heard { best = (bit, heard) }
      }
      guard let best else { return }
      rest &= ~Self.bit(best.bit)
      let other = Int(sessions[place].links[best.bit])
      // A connection that takes nothing is stalled: what is written there would only pile up.
      if other == link || links[other].output.byteCount > 65_536 { continue }
      write(header, on: other)
      left -= 1
    }
  }

  /// Writes a frame without a body, as the faults have it.
  private mutating func write(_ header: FrameHeader, on link: Int) {
    var header = header
    spoil(&header)
    for _ in 0...max(0, min(8, configuration.faults.repeatsAcknowledgments)) { links[link].output.append(header, []) }
    writable(link)
  }

  private mutating func spoil(_ header: inout FrameHeader) {
    guard let every = configuration.faults.damagesEvery, every > 0 else { return }
    framesWritten += 1
    if framesWritten % every == 0 { header.checksum ^= 0x5555_5555 }
  }

  private mutating func acknowledged(_ sequence: SequenceNumber, _ place: Int, at now: Instant) {
    guard let entry = sessions[place].traffic.pending.find(sequence) else {
      if let piece = sessions[place].traffic.transfers.pieces.find(sequence) {
        if let id = acknowledgedPiece(piece, place, at: now) { accepted(id, sequence, place, at: now) }
        return
      }
      metrics.duplicateAcknowledgments += 1
      return
    }
    let pending = sessions[place].traffic.pending[entry]
    if pending.transmissions == 1 { metrics.roundTrip = now.nanoseconds(since: pending.firstSentAt) }
    if ClientCore.isHeldBack(pending) {
      let roundTrip = pending.transmissions == 1 ? now.nanoseconds(since: pending.firstSentAt) : nil
      answered(pending.body.count, pending.carriers, of: place, after: roundTrip, at: now)
    }
    sessions[place].traffic.pending.remove(entry)
    if pending.kind == .receipt { receiptsAcknowledged(pending.body, Int(sessions[place].device)) }
    if pending.kind == .data { accepted(pending.id, sequence, place, at: now) }
  }

  /// A client has acknowledged a message.
  private mutating func accepted(_ id: MessageID, _ sequence: SequenceNumber, _ place: Int, at now: Instant) {
    metrics.messagesAcknowledged += 1
    sessions[place].traffic.reads.note(sequence, id)
    tell(id, place, .accepted)
    let device = Int(sessions[place].device)
    // A client that knows no levels says nothing more.
    if !sessions[place].traffic.features.contains(.levels) { took(id, device, at: now) }
    enqueue(device)
  }

  // MARK: handshakes

  private mutating func answer(_ request: HandshakeRequest, _ header: FrameHeader, on link: Int, at now: Instant) {
    let own = configuration.speech.version
    let sequence = header.sequence.next
    var reason = configuration.faults.refusal
    if request.version.major != own.major { reason = .version }
    if reason == nil, !mayCome(request, on: link) {
      refuse(header, .unwelcome, on: link, at: now)
      if links[link].sessions.isEmpty { close(link) }
      return
    }
    guard reason == nil, let place = join(header.session, request, on: link, at: now) else {
      return refuse(header, reason ?? .full, on: link, at: now)
    }
    if let unsettled = request.unsettled {
      for (count, carriers) in sessions[place].traffic.settle(unsettled) {
        answered(count, carriers, of: place, isPiece: true, after: nil, at: now)
      }
    }
    var offered = configuration.speech.features
    if configuration.isDurable { offered.insert(.durable) } else { offered.remove(.durable) }
    let common = request.features.intersection(offered)
    let version = min(request.version, own)
    sessions[place].traffic.features = common
    sessions[place].traffic.version = version
    let numbers = request.identity == nil ? nil : sessions[place].traffic.unsettled()
    let response = HandshakeResponse.agreed(own, common, numbers)
    writeControl(response.encoded, header.session, sequence, version, on: link, at: now)
    acknowledge(header.sequence, of: place, cameOn: link, at: now)
    if !sessions[place].hasHandshake {
      sessions[place].hasHandshake = true
      tell(.handshake(id(place), .agreed(version, common)))
    }
    resendOrphans(place, at: now)
    sendPendingReceipts(place, at: now)
    pump(place, at: now)
  }

  /// Whether the application lets a client in.
  private func mayCome(_ request: HandshakeRequest, on link: Int) -> Bool {
    guard let authenticates else { return true }
    return authenticates(
      Credentials(
        user: request.user, identity: request.identity, token: request.token, remote: links[link].remote))
  }

  private mutating func refuse(
    _ header: FrameHeader, _ reason: HandshakeRefusal.Reason, on link: Int, at now: Instant
  ) {
    handshakesRefused += 1
    let refusal = HandshakeResponse.refused(HandshakeRefusal(reason, version: configuration.speech.version))
    writeControl(refusal.encoded, header.session, header.sequence.next, header.version, on: link, at: now)
  }

  mutating func writeControl(
    _ body: [UInt8], _ session: UInt16, _ sequence: SequenceNumber, _ version: ProtocolVersion, on link: Int,
    at now: Instant
  ) {
    var header = FrameHeader(control: body, sequence, version: version, time: unixTime(now), session: session)
    spoil(&header)
    links[link].output.append(header, body)
    metrics.controlSent += 1
    writable(link)
  }

  // MARK: commands

  /// See `EndpointCore`.
  public mutating func nextCommand() -> TransportCommand? { commands.next() }

  /// See `EndpointCore`.
  public mutating func drain(_ connection: ConnectionID, at now: Instant, _ write: (OutgoingPieces) -> Int) -> Bool {
    guard let link = link(connection) else { return true }
    while true {
      let written = links[link].output.drain(write)
      metrics.bytesSent += UInt64(written)
      waitingBytes += links[link].output.byteCount - links[link].waiting
      links[link].waiting = links[link].output.byteCount
      guard links[link].output.isEmpty else {
        if written > 0 || links[link].stalledSince == nil { links[link].stalledSince = now }
        return false
      }
      links[link].stalledSince = nil
      // Only those whose connection this is: each write costs the same, however many wait.
      for place in links[link].sessions {
        let device = Int(sessions[Int(place)].device)
        if waitingBytes <= configuration.maximumWaitingTotal {
          feed(device, at: now)
        } else {
          enqueue(device)
          lineAt = lineAt ?? now.advanced(by: .milliseconds(100))
        }
        if !sessions[Int(place)].traffic.queues.isEmpty || !sessions[Int(place)].traffic.transfers.isEmpty {
          pump(Int(place), at: now)
        }
      }
      if links[link].output.isEmpty { break }
    }
    links[link].isWriting = false
    return true
  }
}
