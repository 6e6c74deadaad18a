package import IMEngine
package import IMWire

/// One frame as one JSON object of at most a few hundred bytes: `imdump --format json`.
///
/// Fields: `ts` (microseconds since the epoch), `time` (the same as text, UTC), `number` (of the packet that completed it), `file` (the packet's, of several), `conn`, `client`, `server`, `dir`,
/// `profile`, `via` (the load balancer, where a PROXY header names the client), `carrier` (what the protocol travels in beside
/// TCP), `type`, `seq`, `session`, `len` (body bytes), `crc`, `copy`, `ack_of`, `status` and `status_name` (of an answer),
/// `rtt_us`, `read_us`, `tlv` (count), `gap_bytes` (missing in front of it), `flags`, `answered` (microseconds of answers that
/// came out before it), `elements` (see `amend(elements:body:_:showsValues:to:)`), `fields` (see `amend(fields:_:to:)`), `owner`
/// (see `amend(owner:to:)`). What is not known is not there.
package struct FrameJSONWriter: ~Copyable {
  private var plans: [ProtocolPlan]
  /// The quoted names of all types, 64 places for each plan, empty where the profile knows none; and whether frames carry
  /// their session's number, by plan. The plans themselves would be retained and released for every frame.
  private var types: [Piece] = []
  private var hasSession: [Bool] = []
  /// `","profile":"tjp"`, by plan.
  private var profiles: [Piece] = []
  /// `,"file":"..."`, by file where there are several.
  private let files: [Piece]
  /// `"conn":...,"client":...,"server":...` of the connection that was written last, where `isBare` is false of it.
  private var connection = ByteWriter(capacity: 256)
  private var connectionSerial: UInt32 = 0

  /// A writer for frames of `plans`; where packets come from several files, `files` are their names.
  package init(plans: [ProtocolPlan], files: [String] = []) {
    self.plans = plans
    self.files =
      files.count < 2
      ? []
      : files.map {
        var text = ByteWriter(capacity: 64)
        text.literal(",\"file\":")
        text.jsonString($0)
        return Piece(text.withBytes { String(decoding: $0, as: UTF8.self) })
      }
    reload(plans)
  }

  /// Takes names and the like from `plans` again.
  package mutating func reload(_ plans: [ProtocolPlan]) {
    self.plans = plans
    types = plans.flatMap { plan in
      (0..<64).map { Piece($0 < plan.typeNames.count ? "\"\(plan.typeNames[$0])\"" : "") }
    }
    hasSession = plans.map(\.hasSession)
    profiles = plans.map { Piece("\",\"profile\":\"\($0.name)\"") }
  }

  /// The most bytes of a line, without the connection's text, the type's name and what is written as a JSON string.
  private static var room: Int { 1_024 }

  /// Whether frames of the connection carry their session's number.
  @inline(__always)
  package func carriesSession(_ info: ConnectionInfo) -> Bool { hasSession[Int(info.plan)] }

  /// Appends one line. `session` is the session's name where its client gave one; `missing` counts the stream's bytes that
  /// are missing between the frame before and this one.
  package mutating func write(
    _ frame: Frame, _ note: FrameNote, _ info: ConnectionInfo, _ direction: Direction, session: String?,
    missing: UInt64 = 0, to out: inout ByteWriter
  ) {
    let name = types[Int(info.plan) &* 64 &+ Int(frame.kind.pointee.index & 63)]
    let profile = profiles[Int(info.plan)]
    let isBare = Self.isBare(info)
    if !isBare, info.serial != connectionSerial { describe(info) }
    let file = files.isEmpty ? nil : files[Int(PacketNumber.file(frame.number))]
    var pen = out.pen(
      room: Self.room &+ connection.count &+ profile.bytes.count &+ name.bytes.count &+ (file?.bytes.count ?? 0))
    pen.literal("{\"ts\":")
    pen.to = out.microseconds(frame.timestamp, pen.to)
    pen.literal(",\"time\":\"")
    out.instant(frame.timestamp, pen.to)
    pen.to += 27
    pen.literal("\",\"number\":")
    pen.number(PacketNumber.inFile(frame.number))
    if let file { pen.piece(file) }
    if isBare {
      // Connections take turns, so what was made of this one before would have to be fetched from far away.
      pen.literal(",\"conn\":")
      pen.number(UInt64(info.serial))
      pen.literal(",\"client\":\"")
      pen.v4(info.client)
      pen.literal("\",\"server\":\"")
      pen.v4(info.server)
      pen.piece(profile)
      connectionSerial = 0
    } else {
      connection.withBytes { pen.raw($0) }
    }
    if direction == .clientToServer {
      pen.literal(",\"dir\":\"c2s\",\"type\":")
    } else {
      pen.literal(",\"dir\":\"s2c\",\"type\":")
    }
    if !name.bytes.isEmpty {
      pen.piece(name)
    } else {
      pen.literal("\"type_")
      pen.number(frame.type)
      pen.literal("\"")
    }
    if frame.flags.rawValue & Frame.Flags.sequence.rawValue != 0 {
      pen.literal(",\"seq\":")
      pen.number(frame.sequence)
    }
    if carriesSession(info) {
      pen.literal(",\"session\":")
      pen.number(frame.session)
    } else if let session {
      out.take(pen)
      out.literal(",\"session\":")
      out.jsonString(String(session.prefix(64)))
      pen = out.pen(room: Self.room)
    }
    pen.literal(",\"len\":")
    pen.number(UInt64(truncatingIfNeeded: frame.bodyCount))
    switch frame.checksumStatus {
    case .be: pen.literal(",\"crc\":\"be\"")
    case .le: pen.literal(",\"crc\":\"le\"")
    case .bad: pen.literal(",\"crc\":\"bad\"")
    case .none: pen.literal(",\"crc\":\"none\"")
    case .unchecked: break
    }
    if note.copy > 0 {
      pen.literal(",\"copy\":")
      pen.number(UInt64(note.copy))
    }
    if let ackOf = note.ackOf {
      pen.literal(",\"ack_of\":")
      pen.number(ackOf)
    }
    if frame.tellsStatus {
      out.take(pen)
      status(of: frame, info, to: &out)
      pen = out.pen(room: Self.room)
    }
    if let roundTrip = note.roundTrip?.microseconds {
      pen.literal(",\"rtt_us\":")
      pen.to = Digits.signed(roundTrip, pen.to)
    }
    if note.isReceipt {
      out.take(pen)
      receipt(note, to: &out)
      pen = out.pen(room: Self.room)
    }
    if frame.tlvCount > 0 {
      pen.literal(",\"tlv\":")
      pen.number(UInt64(truncatingIfNeeded: frame.tlvCount))
    }
    if missing > 0 {
      pen.literal(",\"gap_bytes\":")
      pen.number(missing)
    }
    let remarks = FrameFlagNames.mask(frame, note)
    if remarks != 0 {
      out.take(pen)
      out.literal(",\"flags\":[")
      FrameFlagNames.write(remarks, to: &out)
      out.literal("]")
      pen = out.pen(room: Self.room)
    }
    pen.literal("}\n")
    out.take(pen)
  }

  /// Adds the times of answers that came out before their message to the line that was written last.
  package static func amend(answers: [Timestamp], to out: inout ByteWriter) {
    JSONLines.amend(&out) { lines in
      lines.openList("answered")
      for time in answers { lines.item(time.microseconds) }
      lines.closeList()
    }
  }

  /// What a receipt says of how many messages, if there are several, and after how long.
  @inline(never)
  private func receipt(_ note: FrameNote, to out: inout ByteWriter) {
    for level in MessageReceipt.Level.allCases {
      guard let latency = note.receiptLatency(level)?.microseconds else { continue }
      if note.receipts(level) > 1 {
        out.literal(level == .read ? ",\"read\":" : ",\"delivered\":")
        out.number(note.receipts(level))
      }
      out.literal(level == .read ? ",\"read_us\":" : ",\"delivered_us\":")
      out.number(latency)
    }
  }

  @inline(never)
  private func status(of frame: Frame, _ info: ConnectionInfo, to out: inout ByteWriter) {
    out.literal(",\"status\":")
    out.number(frame.status)
    guard let name = plans[Int(info.plan)].statusName(frame) else { return }
    out.literal(",\"status_name\":")
    out.jsonString(name)
  }

  /// Whether nothing is told of a connection but its ends, over IPv4, and its profile.
  @inline(__always)
  private static func isBare(_ info: ConnectionInfo) -> Bool {
    !info.client.address.isIPv6 && !info.server.address.isIPv6 && info.carriers.rawValue == 0
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
