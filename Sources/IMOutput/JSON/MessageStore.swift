package import IMEngine
package import IMFields
import IMMetrics
package import IMOwners
package import IMWire

/// Everything seen of one message: its copies, its answers and what it holds.
package final class MessageRecord {
  // In an order that leaves no holes: there are many of them.

  /// The connection of the first copy.
  package let connection: ConnectionInfo
  /// The remarks on any of its copies, as `FrameFlagNames.mask` has them.
  package fileprivate(set) var flags: UInt32
  /// The type's name; `type_` and its value where the profile does not know it.
  package let type: String
  /// The session's number on the wire, or the name that its client gave; `nil` where neither is known.
  package fileprivate(set) var session: String?
  /// The number that the sender gave it; `nil` where it gave none.
  package let sequence: UInt64?
  /// Whether `session` is a number on the wire.
  package let sessionIsNumber: Bool
  /// The direction of the copies.
  package let direction: Direction
  /// What it is for.
  package let role: FrameRole
  private let packing: Packing
  /// Which of the run's captures brought the first copy, from 0.
  package let capture: UInt32
  /// Whether a copy after the first was made on purpose.
  package fileprivate(set) var isRetried = false
  /// The length in bytes of the first copy's body, as on the wire.
  package let bodyCount: Int
  /// The packet that brought the first copy.
  package let number: UInt64
  /// Where in its stream the first copy's header begins.
  package let streamOffset: UInt64
  private let place: UInt64
  /// The length in bytes of the first copy's frame, header included.
  package let byteCount: UInt32
  /// What every copy's checksum said, in the order of `copies`.
  package fileprivate(set) var checksums: ShortList<ChecksumStatus>
  /// Microseconds since the epoch of every copy.
  package fileprivate(set) var copies: ShortList<Int64>
  /// Microseconds since the epoch of every answer; empty without one.
  package fileprivate(set) var answers = ShortList<Int64>()
  /// The status that its answer gave; `nil` where there is none.
  package fileprivate(set) var status: StatusCode?
  /// The profile's name of it.
  package fileprivate(set) var statusName: String?
  /// The TLVs of the first copy; empty where its body was not walked.
  package let tlvs: [TLVRef]
  /// What `tlvs` point into; empty unless the store was asked to keep it.
  package fileprivate(set) var body: [UInt8] = []
  /// The named fields of the first copy that a filter asks for; empty unless the store was asked to keep them.
  package fileprivate(set) var fields: [NamedField] = []
  /// Whose the end of this host is of the connection; `nil` where that is not known.
  package fileprivate(set) var owner: SocketOwner?
  /// What `body` and `fields` hold.
  fileprivate var keptBytes = 0

  /// What the first copy tells.
  fileprivate init(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, _ plan: ProtocolPlan, name: String?,
    _ tlvs: [TLVRef], flags: UInt32, capture: UInt32, place: UInt64?
  ) {
    connection = info
    self.capture = capture
    self.place = place ?? .max
    byteCount = UInt32(clamping: frame.count)
    streamOffset = frame.streamOffset
    self.direction = direction
    let index = Int(frame.kind.pointee.index)
    type = index < plan.typeNames.count ? plan.typeNames[index] : "type_\(frame.type)"
    role = frame.kind.pointee.role
    sequence = frame.flags.contains(.sequence) ? frame.sequence : nil
    session = plan.hasSession ? String(frame.session) : name
    sessionIsNumber = plan.hasSession
    bodyCount = frame.bodyCount
    checksums = ShortList(frame.checksumStatus)
    copies = ShortList(frame.timestamp.microseconds)
    number = frame.number
    packing = Packing(frame, plan)
    self.tlvs = tlvs
    self.flags = flags
  }

  /// A copy, for another thread: `other` goes on to change. Without TLVs and body, of which only filters want to know.
  private init(copying other: MessageRecord) {
    connection = other.connection
    flags = other.flags
    type = other.type
    session = other.session
    sequence = other.sequence
    sessionIsNumber = other.sessionIsNumber
    direction = other.direction
    role = other.role
    packing = other.packing
    capture = other.capture
    isRetried = other.isRetried
    bodyCount = other.bodyCount
    number = other.number
    streamOffset = other.streamOffset
    place = other.place
    byteCount = other.byteCount
    checksums = other.checksums
    copies = other.copies
    answers = other.answers
    status = other.status
    statusName = other.statusName
    tlvs = []
    fields = other.fields
    owner = other.owner
  }

  /// What is known now, for another thread: the record itself goes on to change. Without TLVs and body.
  package func snapshot() -> MessageRecord { MessageRecord(copying: self) }

  /// Where in its capture the first copy's frame begins, as its bytes are when they are unpacked; `nil` where it does not stand there in one
  /// piece, or where that is not known.
  package var captureOffset: UInt64? { place == .max ? nil : place }

  // Of the lists, for other rooms, into which the compiler does not see from there.

  /// Copies that were kept one by one.
  package var copyCount: Int { copies.count }
  /// Answers that were kept one by one.
  package var answerCount: Int { answers.count }
  /// Microseconds since the epoch of the first answer; `nil` without one.
  package var firstAnswer: Int64? { answers.first }
  /// What the first copy's checksum said.
  package var firstChecksum: ChecksumStatus { checksums.first ?? .unchecked }

  /// `zlib` for a compressed body, `label-only` for one that only its header calls so, else `none`; `nil` where the protocol
  /// knows no compression.
  package var compression: StaticString? {
    switch packing {
    case .unknown: nil
    case .none: "none"
    case .label: "label-only"
    case .zlib: "zlib"
    }
  }

  private enum Packing: UInt8 {
    case unknown, none, label, zlib

    init(_ frame: Frame, _ plan: ProtocolPlan) {
      // By raw values: sets of another module's flags are made at run time.
      let flags = frame.flags.rawValue
      self =
        if !plan.pointer.pointee.compression.isPresent {
          .unknown
        } else if flags & (Frame.Flags.inflated.rawValue | Frame.Flags.inflateLimit.rawValue) != 0 {
          .zlib
        } else {
          flags & Frame.Flags.compressLabelOnly.rawValue != 0 ? .label : .none
        }
    }
  }
}

/// Collects messages frame by frame until their fate is final.
package final class MessageStore {
  private let plans: [ProtocolPlan]
  private var records = NumberTable<MessageRecord>()
  private var names: [UInt32: String] = [:]
  private var statuses = StatusBook()

  /// Bodies longer than this are not kept.
  private static let maximumBody = 64 << 10
  /// At most so many copies and answers of one message are kept one by one.
  private static let maximumTimes = 1_000
  /// What a message costs in memory, without its body: 256 bytes, its place in the dictionary, and a few TLVs.
  package static let costPerMessage = 384
  /// Bytes of bodies and of named fields that are kept, and the most that may be.
  private var keptBytes = 0
  private let maximumKeptBytes: Int
  private let keepsBodies: Bool
  private let keepsElements: Bool
  /// Messages for whose body or fields there was no room.
  package private(set) var leftOut: UInt64 = 0

  /// A store for messages of `plans`. Bodies are kept only for filters that look into them, named fields where `note` is given
  /// some; of both at most `maximumKeptBytes` in all: a message for which there is no room has none, and is counted in `leftOut`.
  /// Without `keepsElements` messages have no TLVs.
  package init(
    plans: [ProtocolPlan], keepsBodies: Bool = false, keepsElements: Bool = true, maximumKeptBytes: Int = 32 << 20
  ) {
    self.keepsElements = keepsElements
    self.maximumKeptBytes = maximumKeptBytes
    self.plans = plans
    self.keepsBodies = keepsBodies
  }

  /// Notes the name of a session.
  package func named(_ session: UInt32, _ name: String) { names[session] = name }

  /// Notes a status that exchanges know by a number.
  package func met(_ status: StatusCode, place: UInt16) { statuses.met(status, place: place) }

  /// Forgets the name of a session that is forgotten.
  package func forgotten(_ session: UInt32) { names[session] = nil }

  /// Notes one frame: the first or another copy, or an answer; `isAfterGap` where it is the first behind missing bytes. `fields`,
  /// `owner`, `capture` and `place`, the frame's offset in it, are kept of a first copy.
  package func note(
    _ frame: Frame, _ note: FrameNote, _ info: ConnectionInfo, _ direction: Direction, _ body: RawSpan,
    _ tlvs: Span<TLVRef>, isAfterGap: Bool = false, fields: [NamedField] = [],
    owner: SocketOwner? = nil, capture: UInt32 = 0, place: UInt64? = nil
  ) {
    guard note.exchange != .max else { return }
    let flags = FrameFlagNames.mask(frame, note) | (isAfterGap ? FrameFlagNames.afterGap : 0)
    if note.copy == 1, !note.isAck {
      let record = MessageRecord(
        frame, info, direction, plans[Int(info.plan)], name: names.isEmpty ? nil : names[note.session],
        keepsElements ? tlvs.withUnsafeBufferPointer { Array($0) } : [], flags: flags, capture: capture, place: place)
      if keepsBodies || !fields.isEmpty { keep(body, fields, of: record) }
      record.owner = owner
      records[note.exchange] = record
      return
    }
    guard let record = records[note.exchange] else { return }
    let at = frame.timestamp.microseconds
    if note.isAck {
      if record.answers.count < Self.maximumTimes { record.answers.append(at) }
      return
    }
    if record.copies.count < Self.maximumTimes {
      record.copies.append(at)
      record.checksums.append(frame.checksumStatus)
    }
    record.flags |= flags
    if note.isRetry { record.isRetried = true }
  }

  @inline(never)
  private func keep(_ body: RawSpan, _ fields: [NamedField], of record: MessageRecord) {
    let byteCount = (keepsBodies ? body.byteCount : 0) + fields.reduce(0) { $0 + $1.byteCount }
    guard body.byteCount <= Self.maximumBody || !keepsBodies, keptBytes + byteCount <= maximumKeptBytes else {
      return leftOut += 1
    }
    keptBytes += byteCount
    record.keptBytes = byteCount
    record.fields = fields
    if keepsBodies { record.body = body.withUnsafeBytes { Array($0) } }
  }

  /// Notes answers that were seen before their message.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    for time in times { records[exchange]?.answers.append(time.microseconds) }
  }

  /// Takes what is known of an exchange that is over.
  package func take(_ exchange: Exchange) -> MessageRecord? {
    guard let record = records.remove(exchange.id) else { return nil }
    complete(record, exchange)
    keptBytes -= record.keptBytes
    return record
  }

  /// What is known of an exchange so far.
  package func look(_ exchange: Exchange) -> MessageRecord? {
    guard let record = records[exchange.id] else { return nil }
    complete(record, exchange)
    return record
  }

  /// Adds what is known only now.
  private func complete(_ record: MessageRecord, _ exchange: Exchange) {
    // A client may have named itself after its first message.
    if record.session == nil { record.session = names[exchange.session] }
    if let status = statuses[exchange.status] {
      record.status = status
      record.statusName = plans[Int(status.plan)].name(of: status)
    }
  }
}
