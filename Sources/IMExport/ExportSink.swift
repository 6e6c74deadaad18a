import IMEngine
import IMOutput
import IMRun
import IMWire

/// Learns which connections hold what is to be exported: those of the chosen messages and of their sessions, which may go on
/// on others.
final class ExportSink: EngineSink {
  /// A connection of the capture.
  struct Connection {
    let serial: UInt32
    let ends: EndpointPair
    /// The end on the client's side.
    let client: Endpoint
    let firstSeen: Timestamp
    let lastSeen: Timestamp
    /// Up to here it opens: TCP's handshake, and the protocol's own as far as no message comes in front of its end.
    let opening: Timestamp
    /// The sequence numbers of its streams' first bytes, the client's first; `nil` for a stream without bytes.
    let firstSequences: (UInt32?, UInt32?)
  }

  /// What is kept of a connection and of what was on it, in bytes, at most.
  static let costPerConnection = 256

  private var connections: [Connection] = []
  /// Connections of which there was no room to take note; they are not exported.
  private(set) var leftOut: UInt64 = 0
  /// Whether TLS was decrypted: an engine that reports stream chunks does not decrypt, so that it decodes other messages.
  private(set) var hasDecrypted = false
  private var serialsOfSession: [UInt32: Set<UInt32>] = [:]
  private var lastSession: [UInt32: UInt32] = [:]
  private var firstMessage: [UInt32: Timestamp] = [:]

  /// What the engine has to tell for that.
  var needs: EngineOptions.Needs {
    followsSessions || findsOpenings ? [.frames, .connections, .lateReports] : [.connections, .lateReports]
  }

  private let keepsUndecoded: Bool
  private let followsSessions: Bool, findsOpenings: Bool
  private let maximumCount: Int

  /// A sink that takes at most `memory` bytes. `keepsUndecoded`: whether connections that no profile decodes may be wanted;
  /// `followsSessions`: whether `serials(ofSession:)` will be asked for, and `findsOpenings`: whether `Connection.opening` will.
  init(keepsUndecoded: Bool, followsSessions: Bool, findsOpenings: Bool, memory: Int) {
    self.keepsUndecoded = keepsUndecoded
    self.followsSessions = followsSessions
    self.findsOpenings = findsOpenings
    maximumCount = max(1_024, memory / Self.costPerConnection)
  }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    guard followsSessions || findsOpenings else { return }
    let serial = connection.serial
    guard max(lastSession.count, serialsOfSession.count, firstMessage.count) < maximumCount else { return }
    if followsSessions, note.session != .max, lastSession[serial] != note.session {
      lastSession[serial] = note.session
      serialsOfSession[note.session, default: []].insert(serial)
    }
    if findsOpenings, frame.kind.pointee.role == .message, firstMessage[serial] == nil {
      firstMessage[serial] = frame.timestamp
    }
  }

  func connection(_ report: ConnectionReport) {
    if report.info.carriers.contains(.tls) { hasDecrypted = true }
    guard report.isFinal, keepsUndecoded || report.figures != nil else { return }
    guard connections.count < maximumCount else {
      leftOut += 1
      return
    }
    let serial = report.info.serial
    let established = report.establishedAt ?? report.firstSeen
    // What comes with the first message is no part of the opening; TCP's handshake always is.
    let opening = firstMessage[serial].map { max(established, $0.advanced(by: -1)) } ?? report.lastSeen
    connections.append(
      Connection(
        serial: serial, ends: EndpointPair(report.info.peer, report.info.server), client: report.info.peer,
        firstSeen: report.firstSeen,
        lastSeen: max(report.lastSeen, report.closedAt ?? report.lastSeen), opening: opening,
        firstSequences: (
          report.streamBytes[0] > 0 ? report.firstSequences[0] : nil,
          report.streamBytes[1] > 0 ? report.firstSequences[1] : nil
        )))
  }

  /// The connections, which are not kept here any longer.
  func takeConnections() -> [Connection] {
    defer { connections = [] }
    return connections
  }

  /// The connections on which a session was.
  func serials(ofSession session: UInt32) -> Set<UInt32> { serialsOfSession[session] ?? [] }
}
