package import IMEngine
package import IMWire

/// One frame as one JSON object of at most a few hundred bytes: `imdump --format json`.
///
/// Fields: `ts` (microseconds since the epoch), `conn`, `client`, `server`, `dir`, `profile`, `via` (the load balancer, where
/// a PROXY header names the client), `carrier` (what the protocol travels in beside TCP), `type`, `seq`, `session`,
/// `len` (body bytes), `crc`, `copy`, `ack_of`, `status` and `status_name` (of an answer), `rtt_us`, `read_us`, `tlv` (count), `gap_bytes` (missing in front of it), `flags`,
/// `answered` (microseconds of answers that came out before it), `elements` (see `amend(elements:body:_:showsValues:to:)`). What is not known is not there.
package struct FrameJSONWriter: ~Copyable {
  private var plans: [ProtocolPlan]
  /// The quoted names of all types, 64 places for each plan, empty where the profile knows none; and whether frames carry
  /// their session's number, by plan. The plans themselves would be retained and released for every frame.
  private var types: [Piece] = []
  private var hasSession: [Bool] = []
  /// `"conn":...,"client":...,"server":...` of the connection that was written last.
  private var connection = ByteWriter(capacity: 256)
  private var connectionSerial: UInt32 = 0

  /// A writer for frames of `plans`.
  package init(plans: [ProtocolPlan]) {
    self.plans = plans
    reload(plans)
  }

  /// Takes names and the like from `plans` again.
  package mutating func reload(_ plans: [ProtocolPlan]) {
    self.plans = plans
    types = plans.flatMap { plan in
      (0..<64).map { Piece($0 < plan.typeNames.count ? "\"\(plan.typeNames[$0])\"" : "") }
    }
    hasSession = plans.map(\.hasSession)
  }

  /// Whether frames of the connection carry their session's number.
  @inline(__always)
  package func carriesSession(_ info: ConnectionInfo) -> Bool { hasSession[Int(info.plan)] }

  /// Appends one line. `session` is the session's name where its client gave one; `missing` counts the stream's bytes that
  /// are missing between the frame before and this one.
  package mutating func write(
    _ frame: Frame, _ note: FrameNote, _ info: ConnectionInfo, _ direction: Direction, session: String?,
    missing: UInt64 = 0, to out: inout ByteWriter
  ) {
    out.literal("{\"ts\":")
    out.microseconds(frame.timestamp)
    if info.serial != connectionSerial { describe(info) }
    connection.withBytes { out.raw($0) }
    if direction == .clientToServer {
      out.literal(",\"dir\":\"c2s\",\"type\":")
    } else {
      out.literal(",\"dir\":\"s2c\",\"type\":")
    }
    let name = types[Int(info.plan) &* 64 &+ Int(frame.kind.pointee.index & 63)].bytes
    if !name.isEmpty {
      out.raw(name)
    } else {
      out.literal("\"type_")
      out.number(frame.type)
      out.literal("\"")
    }
    if frame.flags.rawValue & Frame.Flags.sequence.rawValue != 0 {
      out.literal(",\"seq\":")
      out.number(frame.sequence)
    }
    if carriesSession(info) {
      out.literal(",\"session\":")
      out.number(frame.session)
    } else if let session {
      out.literal(",\"session\":")
      out.jsonString(String(session.prefix(64)))
    }
    out.literal(",\"len\":")
    out.number(UInt64(truncatingIfNeeded: frame.bodyCount))
    switch frame.checksumStatus {
    case .be: out.literal(",\"crc\":\"be\"")
    case .le: out.literal(",\"crc\":\"le\"")
    case .bad: out.literal(",\"crc\":\"bad\"")
    case .none: out.literal(",\"crc\":\"none\"")
    case .unchecked: break
    }
    if note.copy > 0 {
      out.literal(",\"copy\":")
      out.number(note.copy)
    }
    if let ackOf = note.ackOf {
      out.literal(",\"ack_of\":")
      out.number(ackOf)
    }
    if frame.tellsStatus { status(of: frame, info, to: &out) }
    if let roundTrip = note.roundTrip {
      out.literal(",\"rtt_us\":")
      out.number(roundTrip)
    }
    if let latency = note.readLatency {
      out.literal(",\"read_us\":")
      out.number(latency)
    }
    if frame.tlvCount > 0 {
      out.literal(",\"tlv\":")
      out.number(UInt64(truncatingIfNeeded: frame.tlvCount))
    }
    if missing > 0 {
      out.literal(",\"gap_bytes\":")
      out.number(missing)
    }
    let names = FrameFlagNames.mask(frame, note)
    if names != 0 {
      out.literal(",\"flags\":[")
      FrameFlagNames.write(names, to: &out)
      out.literal("]")
    }
    out.literal("}\n")
  }

  /// Adds the times of answers that came out before their message to the line that was written last.
  package static func amend(answers: [Timestamp], to out: inout ByteWriter) {
    // The brace and the line feed.
    out.truncate(to: out.count - 2)
    out.literal(",\"answered\":[")
    for (i, time) in answers.enumerated() {
      if i > 0 { out.literal(",") }
      out.number(time.microseconds)
    }
    out.literal("]}\n")
  }

  @inline(never)
  private func status(of frame: Frame, _ info: ConnectionInfo, to out: inout ByteWriter) {
    out.literal(",\"status\":")
    out.number(frame.status)
    guard let name = plans[Int(info.plan)].statusName(frame) else { return }
    out.literal(",\"status_name\":")
    out.jsonString(name)
  }

  @inline(never)
  private mutating func describe(_ info: ConnectionInfo) {
    connectionSerial = info.serial
    connection.removeAll()
    connection.literal(",\"conn\":")
    connection.number(info.serial)
    connection.literal(",\"client\":\"")
    connection.endpoint(info.client)
    connection.literal("\",\"server\":\"")
    connection.endpoint(info.server)
    connection.literal("\",\"profile\":\"")
    connection.text(plans[Int(info.plan)].name)
    connection.literal("\"")
    connection.carriers(info)
  }
}
