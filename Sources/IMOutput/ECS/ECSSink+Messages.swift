package import IMEngine
import IMMetrics
package import IMWire

extension ECSSink {
  /// Settled exchanges whose frame has not come yet; it is the next one, so few are ever needed.
  private static let maximumEarly = 8
  /// Types that name the client.
  private static let naming: FrameKind.Flags = [.opensSession, .assignsIdentity]
  /// With more connections than these the texts of their documents, some 1.5 KB each, are not kept.
  private static let maximumTexts = 16_384

  /// Counts a frame, and takes note of whose exchange it begins.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    tick(frame.timestamp)
    guard Int(connection.plan) < hasSession.count else { return }
    let record = connections.record(connection)
    lastRecord = record
    if record.endpoint == nil { attach(record) }
    if !record.orphans.isEmpty {
      releaseOrphans(record, before: frame.timestamp.advanced(by: -Self.orphanPatience))
    }
    if !frame.kind.pointee.flags.isDisjoint(with: Self.naming) || hasSession[Int(connection.plan)] {
      learnSession(frame, record, bytes)
    }
    if let endpoint = record.endpoint {
      periods.at(endpoint).pointee.frame(frame, note, direction)
      if frame.kind.pointee.role == .heartbeat, note.copy == 1 {
        record.beat(at: frame.timestamp, &periods.at(endpoint).pointee.heartbeats)
        if record.keepAlive > 0 { periods.at(endpoint).pointee.heartbeats.expect(seconds: record.keepAlive) }
      }
    }
    if note.copy == 1 {
      begin(note.exchange, frame, record, tlvs)
    } else if note.isRetry, options.messageLog != .off {
      facts.retried(note.exchange)
    }
  }

  /// Counts an exchange whose fate was decided, and writes its document.
  package func settled(_ exchange: borrowing Exchange) {
    tick(max(exchange.lastAt, exchange.ackedAt))
    guard let entry = exchanges.settle(exchange.id), let record = connections.record(serial: entry.owner) else {
      if early.count >= Self.maximumEarly { early.removeFirst() }
      early.append(copy exchange)
      return
    }
    settle(copy exchange, entry, record)
  }

  /// Answers that were held for orphans have found their message, which stood behind a hole.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    lastRecord?.orphans.removeAll { times.contains($0.timestamp) }
  }

  // MARK: Parts

  private func begin(
    _ exchange: UInt32, _ frame: borrowing Frame, _ record: ConnectionRecord, _ tlvs: Span<TLVRef>
  ) {
    let isLogged = isInLog(record)
    exchanges.add(exchange, owner: record.info.serial, isLogged: isLogged)
    if isLogged { facts.keep(exchange, frame, tlvs) }
    guard let place = early.firstIndex(where: { $0.id == exchange }) else { return }
    let settled = early.remove(at: place)
    if let entry = exchanges.settle(exchange) { settle(settled, entry, record) }
  }

  private func settle(_ exchange: Exchange, _ entry: ExchangeBook.Entry, _ record: ConnectionRecord) {
    let role = roles[exchange.plan, exchange.kind]
    if role == .message { record.messages.settled(exchange) }
    if role != .heartbeat, let roundTrip = exchange.roundTrip {
      record.roundTrips.record(microseconds: roundTrip)
    }
    if let endpoint = record.endpoint { periods.settled(exchange, endpoint: endpoint) }
    tellTrouble(exchange, role, record)
    if entry.isLogged {
      let kept = facts.take(exchange.id)
      guard isWorthADocument(exchange) else { return }
      let keepsTexts = connections.count <= Self.maximumTexts
      write(.message) { writer, lines in writer.message(exchange, kept, record, keepsTexts: keepsTexts, &lines) }
    } else if options.messageLog != .off {
      output.sampledOut += 1
    }
  }

  private func isWorthADocument(_ exchange: Exchange) -> Bool {
    guard options.messageLog == .errors else { return true }
    return exchange.fate != .acked && exchange.fate != .unacknowledged || exchange.flags.contains(.late)
  }

  /// Whether messages of the connection's session belong to the log.
  private func isInLog(_ record: ConnectionRecord) -> Bool {
    switch options.messageLog {
    case .off: false
    case .errors, .all: true
    case .sample(let n): SessionSample.hash(record) % UInt64(n) == 0
    }
  }

  private func learnSession(_ frame: borrowing Frame, _ record: ConnectionRecord, _ bytes: RawSpan) {
    if hasSession[Int(record.info.plan)] { record.session = .number(frame.session) }
    guard !frame.kind.pointee.flags.isDisjoint(with: Self.naming) else { return }
    if frame.keepAlive > 0 { record.keepAlive = frame.keepAlive }
    let start = frame.start + frame.identityOffset
    let count = min(frame.identityCount, JSONLines.maximumText)
    guard count > 0, start >= 0, start + count <= bytes.byteCount else { return }
    let hides = hidesIdentity[Int(record.info.plan)]
    let name = bytes.withUnsafeBytes { bytes in
      let name = bytes[start..<start + count]
      return hides ? options.identities.text(name) : String(decoding: name, as: UTF8.self)
    }
    record.nameIsHash = hides
    record.userName = name
    if case .number = record.session { return }
    record.session = .name(name)
  }
}
