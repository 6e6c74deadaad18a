import IMWire

@testable import IMEngine

/// One frame as the engine told it, with a copy of its bytes.
struct SeenFrame: Equatable {
  var connection: UInt32
  var direction: Direction
  var bytes: [UInt8]
  var timestamp: Timestamp
  var number: UInt64
  var streamOffset: UInt64
  var type: UInt64
  var sequence: UInt64?
  var status: ChecksumStatus
  var flags: Frame.Flags
  /// The body as outputs see it: on the wire, or inflated.
  var body: [UInt8]
  /// Tag, depth and value of each TLV.
  var fields: [Field]
  var exchange: UInt32
  var copy: UInt16
  var ackOf: UInt64?
  var roundTrip: Int64?
  var isRetry: Bool
  var isDuplicate: Bool
  var isDupAck: Bool
  var isOrphan: Bool
  var session: UInt32
  var keepAlive: UInt64

  struct Field: Equatable {
    var tag: UInt32
    var depth: UInt16
    var value: [UInt8]
    var isList: Bool
  }
}

/// Keeps everything that an engine tells.
final class Recorder: EngineSink {
  private(set) var frames: [SeenFrame] = []
  private(set) var issues: [(issue: IMEngine.Issue, connection: UInt32)] = []
  /// What their connections were told to speak.
  private(set) var issuePlans: [UInt8] = []
  private(set) var opened: [(info: ConnectionInfo, at: Timestamp)] = []
  private(set) var reports: [ConnectionReport] = []
  private(set) var carriers: [(event: CarrierEvent, info: ConnectionInfo)] = []
  private(set) var resolved: [Exchange] = []
  private(set) var finished: [Exchange] = []
  /// Microseconds until messages were read.
  private(set) var reads: [Int64] = []
  private(set) var deliveries: [Int64] = []
  private(set) var names: [UInt32: String] = [:]
  /// Statuses by the number that exchanges know them by.
  private(set) var statuses: [UInt16: StatusCode] = [:]

  func met(_ status: StatusCode, place: UInt16) { statuses[place] = status }
  private(set) var adopted: [(exchange: UInt32, times: [Timestamp])] = []

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    let wire = bytes.withUnsafeBytes { [UInt8]($0[frame.start..<min($0.count, frame.start + frame.count)]) }
    let content = body.withUnsafeBytes { [UInt8]($0) }
    var fields: [SeenFrame.Field] = []
    for i in tlvs.indices {
      let t = tlvs[i]
      fields.append(
        SeenFrame.Field(
          tag: t.tag, depth: t.depth, value: [UInt8](content[Int(t.offset)..<Int(t.offset + t.count)]),
          isList: t.isList))
    }
    frames.append(
      SeenFrame(
        connection: connection.serial, direction: direction, bytes: wire, timestamp: frame.timestamp,
        number: frame.number, streamOffset: frame.streamOffset, type: frame.type,
        sequence: frame.flags.contains(.sequence) ? frame.sequence : nil, status: frame.checksumStatus,
        flags: frame.flags, body: content, fields: fields, exchange: note.exchange, copy: note.copy, ackOf: note.ackOf,
        roundTrip: note.roundTrip?.microseconds, isRetry: note.isRetry, isDuplicate: note.isDuplicate,
        isDupAck: note.isDupAck, isOrphan: note.isOrphan, session: note.session, keepAlive: frame.keepAlive))
  }

  func named(_ session: UInt32, _ name: String) { names[session] = name }
  func adopted(_ exchange: UInt32, _ times: [Timestamp]) { adopted.append((exchange, times)) }
  func issue(_ issue: IMEngine.Issue, _ connection: ConnectionInfo) {
    issues.append((issue, connection.serial))
    issuePlans.append(connection.plan)
  }
  func opened(_ connection: ConnectionInfo, _ at: Timestamp) { opened.append((connection, at)) }
  func carrier(_ event: CarrierEvent, _ connection: ConnectionInfo) { carriers.append((event, connection)) }
  func connection(_ report: ConnectionReport) { reports.append(report) }
  func receipt(_ receipt: MessageReceipt) {
    switch receipt.level {
    case .delivered: deliveries.append(receipt.latency.microseconds)
    case .read: reads.append(receipt.latency.microseconds)
    }
  }
  func resolved(_ exchange: borrowing Exchange) { resolved.append(copy exchange) }
  func finished(_ exchange: borrowing Exchange) { finished.append(copy exchange) }
}
