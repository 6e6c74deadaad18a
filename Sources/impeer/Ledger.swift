import IMEndpoint
import IMOutput
import IMWire

/// What one end did, line by line, as JSON: connections that it opened and closed, and every frame that its kernel took or
/// that its core read, with the place in the stream. It is what an observer's figures are held against.
final class Ledger {
  let file: LineFile
  /// What is added to a moment to have nanoseconds since 1970.
  private let epoch: Int64

  /// A ledger in a file made anew.
  init(_ path: String) throws(Complaint) {
    file = try LineFile(path)
    epoch = wallClockOffset()
  }

  /// Writes one line of `event` at `now`; `body` adds members.
  func line(_ event: StaticString, at now: Instant, _ body: (inout JSONLines) -> Void) {
    file.object { lines in
      lines.signed("ns", now.nanoseconds &+ epoch)
      lines.name("event", event)
      body(&lines)
    }
  }
}

/// The ledger's ear on the connections of one transport.
final class LedgerTap: WireTap {
  private struct Connection {
    var local: Endpoint?
    var remote: Endpoint
    var sent = FrameScanner()
    var read = FrameScanner()
  }

  private let ledger: Ledger
  private var connections: [ConnectionID: Connection] = [:]
  init(_ ledger: Ledger) { self.ledger = ledger }

  func opening(_ connection: ConnectionID, to remote: Endpoint, at now: Instant) {
    ledger.line("opening", at: now) { $0.endpoint("remote", remote) }
  }

  func opened(_ connection: ConnectionID, local: Endpoint?, remote: Endpoint, at now: Instant) {
    connections[connection] = Connection(local: local, remote: remote)
    ledger.line("open", at: now) { ends(local, remote, &$0) }
  }

  func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant) {
    let known = connections.removeValue(forKey: connection)
    ledger.line("close", at: now) { lines in
      if let known { ends(known.local, known.remote, &lines) }
      lines.name("reason", reason.word)
    }
  }

  func wrote(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) {
    guard let place = connections.index(forKey: connection) else { return }
    let (local, remote) = (connections.values[place].local, connections.values[place].remote)
    connections.values[place].sent.scan(bytes) { frame($0, "out", local, remote, now) }
  }

  func read(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) {
    guard let place = connections.index(forKey: connection) else { return }
    let (local, remote) = (connections.values[place].local, connections.values[place].remote)
    connections.values[place].read.scan(bytes) { frame($0, "in", local, remote, now) }
  }

  private func frame(
    _ found: FrameScanner.Found, _ direction: StaticString, _ local: Endpoint?, _ remote: Endpoint, _ now: Instant
  ) {
    let header = found.header
    ledger.line("frame", at: now) { lines in
      ends(local, remote, &lines)
      lines.name("direction", direction)
      lines.signed("offset", Int64(found.offset))
      lines.name("version", header.version.description)
      lines.exact("kind", header.kind.rawValue)
      lines.exact("sequence", header.sequence.rawValue)
      lines.exact("session", header.session)
      lines.exact("time", header.time)
      lines.signed("body", Int64(header.bodyCount))
      lines.name("crc", crc(found))
      // What an acknowledgment names: four bytes of body, or else its own number.
      if header.kind == .acknowledgment { lines.exact("acknowledges", found.named ?? header.sequence.rawValue) }
    }
  }

  private func crc(_ found: FrameScanner.Found) -> String {
    if found.header.bodyCount == 0 { return found.header.checksum == 0 ? "none" : "bad" }
    if found.header.checksum == found.checksum { return "good" }
    return found.header.checksum.byteSwapped == found.checksum ? "swapped" : "bad"
  }

  private func ends(_ local: Endpoint?, _ remote: Endpoint, _ lines: inout JSONLines) {
    if let local { lines.endpoint("local", local) }
    lines.endpoint("remote", remote)
  }
}

extension CloseReason {
  /// The reason in one word, as ledgers have it.
  var word: String {
    switch self {
    case .finished: "finished"
    case .reset: "reset"
    case .refused: "refused"
    case .timedOut: "timed_out"
    case .unreachable: "unreachable"
    case .secureChannel: "tls"
    case .requested: "requested"
    case .system(let code): "error_\(code)"
    }
  }
}
