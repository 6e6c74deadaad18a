import IMEndpoint
import IMOutput

/// Takes out what a server's core tells, and writes to the ledger what reached the application.
final class ServerWatcher {
  private let ledger: Ledger?
  private var inbox = Inbox()
  private var sessions: UInt64 = 0
  private let reporter: Reporter?
  private var log = SentLog()

  init(_ ledger: Ledger?, _ reporter: Reporter? = nil) {
    self.ledger = ledger
    self.reporter = reporter
  }

  func turn(_ core: inout ServerCore, _ now: Instant) {
    core.take(&inbox)
    for event in inbox.events {
      switch event {
      case .message(let message): delivered(message, core.wireID(of: message.session), now)
      case .progress(let id, let session, let state):
        // A session is known by its place, which no connection is numbered like.
        if let reporter { log.note(id, state, by: 1 << 24 | Int(session.place), reporter, at: now) }
      case .joined(_, let isNew): sessions += isNew ? 1 : 0
      default: break
      }
    }
  }

  private func delivered(_ message: ReceivedMessage, _ wireID: UInt16?, _ now: Instant) {
    ledger?.line("delivered", at: now) { lines in
      if let wireID { lines.exact("session", wireID) }
      lines.exact("place", message.session.place)
      lines.exact("generation", message.session.generation)
      lines.exact("sequence", message.sequence.rawValue)
    }
  }

  /// What was counted, as one JSON object.
  func summary(_ core: ServerCore) -> String {
    let metrics = core.metrics
    let counts: [(StaticString, UInt64)] = [
      ("sessions", sessions), ("connections", metrics.connectionSuccesses), ("messages", metrics.messagesReceived),
      ("duplicates_received", metrics.duplicatesReceived), ("sent", metrics.messagesSent),
      ("acknowledged", metrics.messagesAcknowledged), ("retransmitted", metrics.messagesRetried),
      ("undeliverable", core.undeliverable), ("parse_errors", metrics.parseErrors),
      ("bytes_read", metrics.bytesReceived), ("bytes_written", metrics.bytesSent),
    ]
    return JSONLines.text { $0.counts(counts) }
  }
}
