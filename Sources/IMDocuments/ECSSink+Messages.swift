package import IMEngine
import IMMetrics
import IMOTLP
import IMOutput
import IMOwners
package import IMWire

extension ECSSink {
  /// Settled exchanges whose frame has not come yet; it is the next one, so few are ever needed.
  private static let maximumEarly = 8
  /// With more connections than these the texts of their documents, some 300 bytes each, are not kept.
  private static let maximumTexts = 65_536

  /// Counts a frame, and takes note of whose exchange it begins.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    tick(frame.timestamp)
    let plan = Int(connection.plan)
    guard plan < hasSession.count else { return }
    let record = connections.record(connection)
    last = (connection.serial, frame.sequence)
    if record.pointee.endpoint == nil {
      attach(record)
      // The end of a short connection is soon gone.
      _ = options.owners?.owner(of: connection.serial, client: connection.peer, server: connection.server)
    }
    if !record.pointee.orphans.isEmpty {
      releaseOrphans(record, before: frame.timestamp.advanced(by: -Self.orphanPatience))
    }
    if hasSession[plan] { record.pointee.take(session: frame.session) }
    if frame.kind.pointee.flags.rawValue & naming != 0 { learnSession(frame, record, bytes) }
    if let endpoint = record.pointee.endpoint {
      periods.at(endpoint).pointee.frame(frame, note, direction, beat: beat, promised: record.pointee.keepAlive)
    }
    beat = nil
    var fields: LoggedFields.Text?
    if mayLogFields[plan] {
      fields = loggedFields(frame, note.copy == 1 && isInLog(record), connection, direction, bytes, body)
    }
    if note.copy == 1 {
      let position = record.pointee.position(at: frame.streamOffset, direction)
      begin(note.exchange, at: position, frame, record, tlvs, fields)
    } else if note.isFurtherCopy, options.messageLog != .off {
      facts.retried(note.exchange)
    }
  }

  /// Keeps what the engine measured of a heartbeat: its frame is told next.
  package func heartbeat(after interval: Nanoseconds, change: Nanoseconds?, endpoint: UInt32) {
    beat = (interval, change)
  }

  /// Counts an exchange whose fate was decided, and writes its document.
  package func resolved(_ exchange: borrowing Exchange) {
    tick(max(exchange.lastAt, exchange.ackedAt))
    // What is needed of it lies far apart, and has not been touched for long: all is asked for at once.
    facts.prefetch(exchange.id)
    connections.prefetch(serial: exchange.connection)
    guard let entry = exchanges.resolve(exchange.id), let record = connections.record(serial: entry.owner) else {
      if early.count >= Self.maximumEarly { early.removeFirst() }
      early.append(copy exchange)
      return
    }
    resolve(copy exchange, entry, record)
  }

  /// Takes note of a status.
  package func met(_ status: StatusCode, place: UInt16) { statuses.met(status, place: place) }

  /// Answers that were held for orphans have found their message, which stood behind a hole or came late. They may have come
  /// on other connections of its session, and several in one packet.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    guard let record = connections.record(serial: last.serial), !orphaned.isEmpty else { return }
    let others = orphaned.sorted().compactMap { connections.record(serial: $0) }.filter {
      $0.pointee.info.serial != last.serial && $0.pointee.info.plan == record.pointee.info.plan
        && $0.pointee.session == record.pointee.session
    }
    for time in times {
      for holder in [record] + others {
        let place = holder.pointee.orphans.firstIndex { orphan in
          guard orphan.timestamp == time, case .orphanAck(_, let names) = orphan.details else { return false }
          return names == nil || names == last.sequence
        }
        guard let place else { continue }
        forgetOrphans(place..<place + 1, holder)
        break
      }
    }
  }

  // MARK: Parts

  private func begin(
    _ exchange: UInt32, at position: StreamPosition, _ frame: borrowing Frame, _ record: ConnectionRegistry.Record,
    _ tlvs: Span<TLVRef>, _ fields: LoggedFields.Text?
  ) {
    let isLogged = isInLog(record)
    exchanges.add(exchange, owner: record.pointee.info.serial, at: position, isLogged: isLogged)
    if isLogged { facts.keep(exchange, frame, tlvs, fields) }
    guard !early.isEmpty, let place = early.firstIndex(where: { $0.id == exchange }) else { return }
    let resolved = early.remove(at: place)
    if let entry = exchanges.resolve(exchange) { resolve(resolved, entry, record) }
  }

  private func resolve(_ exchange: Exchange, _ entry: ExchangeRegistry.Entry, _ record: ConnectionRegistry.Record) {
    record.pointee.texts?.prefetch()
    let role = roles[exchange.plan, exchange.kind]
    let resolution = Resolution(exchange, endpoint: .max)
    // Heartbeats and control frames count where they were not simply answered.
    let isQuiet = resolution.isPlain || exchange.fate == .unacknowledged || exchange.fate == .pending
    if role == .message || !isQuiet { record.pointee.isActive = true }
    var roundTrip: Nanoseconds?
    if case .heartbeat = role {} else { roundTrip = exchange.roundTrip }
    if let roundTrip { record.pointee.roundTrips.record(roundTrip, exchange.direction) }
    if let endpoint = record.pointee.endpoint {
      periods.resolved(resolution, id: exchange.id, role: role, endpoint: endpoint, roundTrip: roundTrip)
    }
    if let otlp {
      if let roundTrip, let endpoint = record.pointee.endpoint {
        otlp.metrics.record(roundTrip.microseconds, exchange.direction, server: endpoint)
      }
      trace(exchange, entry, record, otlp)
    }
    if !resolution.isPlain { tellTrouble(exchange, role, entry.position.offset, record) }
    if entry.isLogged {
      let kept = facts.take(exchange.id)
      defer { if mayLogFields[Int(exchange.plan)], let kept { facts.forgetFields(kept) } }
      guard isWorthADocument(exchange, record) else { return }
      guard chooses?(exchange) ?? true else { return }
      let keepsTexts = connections.count <= Self.maximumTexts
      let status = statuses[exchange.status]
      let isLogged = log(.message) { otlp, now in
        otlp.message(
          exchange, at: entry.position, status, kept, record, keepsTexts: keepsTexts, decidedAt: now)
      }
      if isLogged { return }
      let isWritten = buffers.write(.message) {
        writer.message(exchange, at: entry.position, status, kept, record, keepsTexts: keepsTexts, &$0)
      }
      if isWritten { output.written += 1 }
    } else if options.messageLog != .off {
      output.sampledOut += 1
    }
  }

  /// Writes the span of an exchange, if it is one of those that were chosen.
  private func trace(
    _ exchange: Exchange, _ entry: ExchangeRegistry.Entry, _ record: ConnectionRegistry.Record, _ otlp: OTLPWriter
  ) {
    guard otlp.options.signals.contains(.traces), !exchange.flags.contains(.late), exchange.fate != .unacknowledged
    else {
      return
    }
    switch otlp.options.spans {
    case .errors: guard exchange.fate.isFailure else { return }
    case .sample(let n): guard SessionSample.hash(record) % UInt64(n) == 0 else { return }
    case .all: break
    }
    otlp.span(
      exchange, at: entry.position, statuses[exchange.status], nil, record,
      keepsTexts: connections.count <= Self.maximumTexts,
      decidedAt: clock.now ?? exchange.lastAt)
    output.written += 1
  }

  /// Whether the log takes a message, now that its fate is known. One that a sample leaves out is counted.
  private func isWorthADocument(_ exchange: Exchange, _ record: ConnectionRegistry.Record) -> Bool {
    let log = options.messageLog
    guard log.takesByOutcome, !log.takes(exchange), !log.takesSession(SessionSample.hash(record)) else { return true }
    if log.sampledPart != nil { output.sampledOut += 1 }
    return false
  }

  /// Whether messages of the connection's session may belong to the log.
  private func isInLog(_ record: ConnectionRegistry.Record) -> Bool {
    options.messageLog.takesByOutcome || options.messageLog.takesSession(SessionSample.hash(record))
  }

  @inline(never)
  private func learnSession(_ frame: borrowing Frame, _ record: ConnectionRegistry.Record, _ bytes: RawSpan) {
    if frame.keepAlive > 0 { record.pointee.keepAlive = frame.keepAlive }
    let start = frame.start + frame.identityOffset
    let count = min(frame.identityCount, JSONLines.maximumText)
    guard count > 0, start >= 0, start + count <= bytes.byteCount else { return }
    let hides = hidesIdentity[Int(record.pointee.info.plan)]
    let name = bytes.withUnsafeBytes { bytes in
      let name = bytes[start..<start + count]
      return hides ? options.identities.text(name) : String(decoding: name, as: UTF8.self)
    }
    record.pointee.take(name: name, isHash: hides)
  }
}
