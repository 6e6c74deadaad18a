package import IMEngine
package import IMFields
import IMMetrics
package import IMOwners
package import IMWire

/// Collects messages frame by frame until their fate is final.
package final class MessageStore {
  private let plans: [ProtocolPlan]
  /// Records of messages whose fate is not final. They are counted by hand: to look one up touches nothing but it.
  @exclusivity(unchecked) private var records = NumberTable<Unmanaged<MessageRecord>>()
  /// Records that nobody uses, for the next messages.
  @exclusivity(unchecked) private var spare: [MessageRecord] = []
  private static let maximumSpare = 4_096
  @exclusivity(unchecked) private var names: [UInt32: String] = [:]
  @exclusivity(unchecked) private var statuses = StatusRegistry()
  /// The names of `statuses`, by their numbers, from 1.
  @exclusivity(unchecked) private var statusNames: [String?] = [nil]

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

  deinit { records.forEach { $0.release() } }

  /// Notes the name of a session.
  package func named(_ session: UInt32, _ name: String) { names[session] = name }

  /// Notes a status that exchanges know by a number.
  package func met(_ status: StatusCode, place: UInt16) {
    statuses.met(status, place: place)
    if Int(place) == statusNames.count { statusNames.append(plans[Int(status.plan)].name(of: status)) }
  }

  /// Forgets the name of a session that is forgotten.
  package func forgotten(_ session: UInt32) { names[session] = nil }

  /// Notes one frame: the first or another copy, or an answer; `isAfterGap` where it is the first after missing bytes. `fields`, `details`,
  /// `owner`, `capture` and `place`, the frame's offset in it, are kept of a first copy.
  package func note(
    _ frame: Frame, _ note: FrameNote, _ info: ConnectionInfo, _ direction: Direction, _ body: RawSpan,
    _ tlvs: Span<TLVRef>, isAfterGap: Bool = false, fields: [NamedField] = [], details: MessageDetails? = nil,
    owner: SocketOwner? = nil, capture: UInt32 = 0, place: UInt64? = nil
  ) {
    guard note.exchange != .max else { return }
    let flags = FrameFlagNames.mask(frame, note) | (isAfterGap ? FrameFlagNames.afterGap : 0)
    if note.copy == 1, !note.isAck {
      let plan = plans[Int(info.plan)]
      let first = FirstCopy(frame, info, direction, plan, capture: capture, place: place)
      let record = spare.popLast() ?? MessageRecord(first)
      record.begin(
        first, frame, plan, name: names.isEmpty ? nil : names[note.session], flags: flags)
      if keepsElements, !tlvs.isEmpty { record.tlvs = tlvs.withUnsafeBufferPointer { Array($0) } }
      if keepsBodies || !fields.isEmpty || details != nil { keep(body, fields, details, of: record) }
      record.owner = owner
      records[note.exchange]?.release()
      records[note.exchange] = Unmanaged.passRetained(record)
      return
    }
    guard let record = records[note.exchange] else { return }
    record._withUnsafeGuaranteedRef { add(frame, note, flags, to: $0) }
  }

  /// Notes another copy of a message, or an answer.
  private func add(_ frame: Frame, _ note: FrameNote, _ flags: UInt32, to record: MessageRecord) {
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
  }

  @inline(never)
  private func keep(_ body: RawSpan, _ fields: [NamedField], _ details: MessageDetails?, of record: MessageRecord) {
    let byteCount = (keepsBodies ? body.byteCount : 0) + fields.reduce(details?.byteCount ?? 0) { $0 + $1.byteCount }
    guard body.byteCount <= Self.maximumBody || !keepsBodies, keptBytes + byteCount <= maximumKeptBytes else {
      return leftOut += 1
    }
    keptBytes += byteCount
    record.keptBytes = byteCount
    record.fields = fields
    record.details = details
    if keepsBodies { record.body = body.withUnsafeBytes { Array($0) } }
  }

  /// Notes answers that were seen before their message.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    guard let record = records[exchange]?.takeUnretainedValue() else { return }
    for time in times { record.answers.append(time.microseconds) }
  }

  /// Notes the first receipt of its level of a message.
  package func receipt(_ receipt: MessageReceipt) {
    guard let record = records[receipt.exchange]?.takeUnretainedValue() else { return }
    switch receipt.level {
    case .delivered: record.deliveredAfter = receipt.latency
    case .read: record.readAfter = receipt.latency
    }
  }

  /// Takes what is known of an exchange that is over.
  package func take(_ exchange: Exchange) -> MessageRecord? {
    guard let record = records.remove(exchange.id)?.takeRetainedValue() else { return nil }
    complete(record, exchange)
    keptBytes -= record.keptBytes
    return record
  }

  /// Takes a record back that `take` gave; one that somebody else keeps stays as it is.
  package func recycle(_ record: consuming MessageRecord) {
    guard spare.count < Self.maximumSpare, isKnownUniquelyReferenced(&record) else { return }
    spare.append(record)
  }

  /// What is known of an exchange so far.
  package func look(_ exchange: Exchange) -> MessageRecord? {
    guard let record = records[exchange.id]?.takeUnretainedValue() else { return nil }
    complete(record, exchange)
    return record
  }

  /// Adds what is known only now.
  private func complete(_ record: MessageRecord, _ exchange: Exchange) {
    // A client may have named itself after its first message.
    if !names.isEmpty, !record.first.sessionIsNumber, record.sessionName == nil {
      record.sessionName = names[exchange.session]
    }
    guard exchange.status > 0, let status = statuses[exchange.status] else { return }
    record.status = status
    record.statusName = Int(exchange.status) < statusNames.count ? statusNames[Int(exchange.status)] : nil
  }
}
