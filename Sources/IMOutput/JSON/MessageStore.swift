package import IMEngine
package import IMWire

/// Everything seen of one message: its copies, its answers and what it holds.
package struct MessageRecord {
  /// The connection of the first copy.
  package var connection: ConnectionInfo
  /// The direction of the copies.
  package var direction: Direction
  /// The type's name; `type_` and its value where the profile does not know it.
  package var type: String
  /// What it is for.
  package var role: FrameRole
  /// The number that the sender gave it; `nil` where it gave none.
  package var sequence: UInt64?
  /// The session's number on the wire, or the name that its client gave; `nil` where neither is known.
  package var session: String?
  /// Whether `session` is a number on the wire.
  package var sessionIsNumber: Bool
  /// The length in bytes of the first copy's body, as on the wire.
  package var bodyCount: Int
  /// What every copy's checksum said, in the order of `copies`.
  package var checksums: [ChecksumStatus]
  /// Microseconds since the epoch of every copy.
  package var copies: [Int64]
  /// Microseconds since the epoch of every answer; empty without one.
  package var answers: [Int64] = []
  /// The packet that brought the first copy.
  package var number: UInt64
  /// `zlib` for a compressed body, `label-only` for one that only its header calls so, else `none`; `nil` where the protocol
  /// knows no compression.
  package var compression: StaticString?
  /// The TLVs of the first copy; empty where its body was not walked.
  package var tlvs: [TLVRef]
  /// The remarks on any of its copies, as `FrameFlagNames.mask` has them.
  package var flags: UInt32
  /// Whether a copy after the first was made on purpose.
  package var isRetried = false
  /// What `tlvs` point into; empty unless the store was asked to keep it.
  package var body: [UInt8] = []
}

/// Collects messages frame by frame until their fate is final.
package final class MessageStore {
  private let plans: [ProtocolPlan]
  private var records: [UInt32: MessageRecord] = [:]
  private var names: [UInt32: String] = [:]

  /// Bodies longer than this are not kept.
  private static let maximumBody = 64 << 10
  /// At most so many copies and answers of one message are kept one by one.
  private static let maximumTimes = 1_000
  /// What a message costs in memory, without its body.
  package static let costPerMessage = 640
  /// Bytes of bodies that are kept, and the most that may be.
  private var bodyBytes = 0
  private let maximumBodyBytes: Int
  private let keepsBodies: Bool

  /// A store for messages of `plans`. Bodies are kept only for filters that look into them.
  /// of them at most `maximumBodyBytes` in all: a message for whose body there is no room has none.
  package init(plans: [ProtocolPlan], keepsBodies: Bool = false, maximumBodyBytes: Int = 32 << 20) {
    self.maximumBodyBytes = maximumBodyBytes
    self.plans = plans
    self.keepsBodies = keepsBodies
  }

  /// Notes the name of a session.
  package func named(_ session: UInt32, _ name: String) { names[session] = name }

  /// Forgets the name of a session that is forgotten.
  package func forgotten(_ session: UInt32) { names[session] = nil }

  /// The name that a session's client gave, if any.
  package func name(_ session: UInt32) -> String? { names[session] }

  /// Notes one frame: the first or another copy, or an answer; `isAfterGap` where it is the first behind missing bytes.
  package func note(
    _ frame: Frame, _ note: FrameNote, _ info: ConnectionInfo, _ direction: Direction, _ body: RawSpan,
    _ tlvs: Span<TLVRef>, isAfterGap: Bool = false
  ) {
    guard note.exchange != .max else { return }
    let at = frame.timestamp.microseconds
    if note.isAck {
      if records[note.exchange]?.answers.count ?? .max < Self.maximumTimes {
        records[note.exchange]?.answers.append(at)
      }
      return
    }
    let flags = FrameFlagNames.mask(frame, note) | (isAfterGap ? FrameFlagNames.afterGap : 0)
    if note.copy == 1 {
      let plan = plans[Int(info.plan)]
      let index = Int(frame.kind.pointee.index)
      var references: [TLVRef] = []
      references.reserveCapacity(tlvs.count)
      for i in tlvs.indices { references.append(tlvs[i]) }
      records[note.exchange] = MessageRecord(
        connection: info, direction: direction,
        type: index < plan.typeNames.count ? plan.typeNames[index] : "type_\(frame.type)",
        role: frame.kind.pointee.role, sequence: frame.flags.contains(.sequence) ? frame.sequence : nil,
        session: plan.hasSession ? String(frame.session) : names[note.session], sessionIsNumber: plan.hasSession,
        bodyCount: frame.bodyCount, checksums: [frame.checksumStatus], copies: [at], number: frame.number,
        compression: plan.pointer.pointee.compression.isPresent ? Self.compression(frame) : nil,
        tlvs: references, flags: flags)
      if keepsBodies, body.byteCount <= Self.maximumBody, bodyBytes + body.byteCount <= maximumBodyBytes {
        bodyBytes += body.byteCount
        records[note.exchange]?.body = body.withUnsafeBytes { Array($0) }
      }
    } else {
      if records[note.exchange]?.copies.count ?? .max < Self.maximumTimes {
        records[note.exchange]?.copies.append(at)
        records[note.exchange]?.checksums.append(frame.checksumStatus)
      }
      records[note.exchange]?.flags |= flags
      if note.isRetry { records[note.exchange]?.isRetried = true }
    }
  }

  private static func compression(_ frame: Frame) -> StaticString {
    // By raw values: sets of another module's flags are made at run time.
    let flags = frame.flags.rawValue
    if flags & (Frame.Flags.inflated.rawValue | Frame.Flags.inflateLimit.rawValue) != 0 { return "zlib" }
    return flags & Frame.Flags.compressLabelOnly.rawValue != 0 ? "label-only" : "none"
  }

  /// Notes answers that were seen before their message.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    records[exchange]?.answers.append(contentsOf: times.map(\.microseconds))
  }

  /// Takes what is known of an exchange that is over.
  package func take(_ exchange: Exchange) -> MessageRecord? {
    guard let record = records.removeValue(forKey: exchange.id) else { return nil }
    bodyBytes -= record.body.count
    return record
  }
}
