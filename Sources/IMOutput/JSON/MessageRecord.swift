package import IMEngine
package import IMFields
package import IMOwners
package import IMWire

/// What the first copy of a message tells: numbers alone, so that another thread takes it as it is.
package struct FirstCopy: Sendable, BitwiseCopyable {
  /// Its connection.
  package let connection: ConnectionInfo
  /// The packet that brought it.
  package let number: UInt64
  /// Where in its stream its header begins.
  package let streamOffset: UInt64
  private let sequenceNumber: UInt64
  /// The session's number on the wire; it counts only with `sessionIsNumber`.
  package let sessionNumber: UInt64
  private let place: UInt64
  /// The length in bytes of its body, as on the wire.
  package let bodyCount: Int
  /// The length in bytes of its frame, header included.
  package let byteCount: UInt32
  /// Which of the run's captures brought it, from 0.
  package let capture: UInt32
  /// The direction of the copies.
  package let direction: Direction
  /// What the message is for.
  package let role: FrameRole
  /// What its checksum said.
  package let checksum: ChecksumStatus
  private let packing: Packing
  private let hasSequence: Bool
  /// Whether sessions are numbers on the wire.
  package let sessionIsNumber: Bool

  /// What `frame` tells, a first copy; `place` is its offset in its capture: `capture`, or that which its packet's number names.
  package init(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, _ plan: ProtocolPlan, capture: UInt32,
    place: UInt64?
  ) {
    connection = info
    self.direction = direction
    self.capture = capture &+ PacketNumber.file(frame.number)
    self.place = place ?? .max
    number = PacketNumber.inFile(frame.number)
    streamOffset = frame.streamOffset
    // By raw values: sets of another module's flags are made at run time.
    hasSequence = frame.flags.rawValue & Frame.Flags.sequence.rawValue != 0
    sequenceNumber = frame.sequence
    sessionIsNumber = plan.hasSession
    sessionNumber = frame.session
    bodyCount = frame.bodyCount
    byteCount = UInt32(clamping: frame.count)
    role = frame.kind.pointee.role
    checksum = frame.checksumStatus
    packing = Packing(frame, plan)
  }

  /// The number that the sender gave the message; `nil` where it gave none.
  @inline(__always)
  package var sequence: UInt64? { hasSequence ? sequenceNumber : nil }

  /// Where in its capture its frame begins, as its bytes are when they are unpacked; `nil` where it does not stand there in one piece, or
  /// where that is not known.
  @inline(__always)
  package var captureOffset: UInt64? { place == .max ? nil : place }

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

  private enum Packing: UInt8, BitwiseCopyable {
    case unknown, none, label, zlib

    init(_ frame: Frame, _ plan: ProtocolPlan) {
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

/// Everything seen of one message: its copies, its answers and what it holds.
///
/// A store keeps one for each message whose fate is not final, and uses those of messages that are over for others.
package final class MessageRecord {
  // In an order that leaves no holes: there are many of them.

  /// What the first copy tells.
  @exclusivity(unchecked) package internal(set) var first: FirstCopy
  /// The type's name; `type_` and its value where the profile does not know it.
  @exclusivity(unchecked) package internal(set) var type = ""
  /// The name that the session's client gave; `nil` where it is not known, or sessions are numbers.
  @exclusivity(unchecked) package internal(set) var sessionName: String?
  /// Microseconds since the epoch of every copy.
  @exclusivity(unchecked) package internal(set) var copies = ShortList<Int64>()
  /// Microseconds since the epoch of every answer; empty without one.
  @exclusivity(unchecked) package internal(set) var answers = ShortList<Int64>()
  /// The status that its answer gave; `nil` where there is none.
  @exclusivity(unchecked) package internal(set) var status: StatusCode?
  /// The profile's name of it.
  @exclusivity(unchecked) package internal(set) var statusName: String?
  /// What every copy's checksum said, in the order of `copies`.
  @exclusivity(unchecked) package internal(set) var checksums = ShortList<ChecksumStatus>()
  /// The TLVs of the first copy; empty where its body was not walked.
  @exclusivity(unchecked) package internal(set) var tlvs: [TLVRef] = []
  /// What `tlvs` point into; empty unless the store was asked to keep it.
  @exclusivity(unchecked) package internal(set) var body: [UInt8] = []
  /// The named fields of the first copy that a filter asks for; empty unless the store was asked to keep them.
  @exclusivity(unchecked) package internal(set) var fields: [NamedField] = []
  /// Whose the end of this host is of the connection; `nil` where that is not known.
  @exclusivity(unchecked) package internal(set) var owner: SocketOwner?
  /// What is shown of it besides its line; `nil` unless the store was given it.
  @exclusivity(unchecked) package internal(set) var details: MessageDetails?
  /// What `body`, `fields` and `details` hold.
  @exclusivity(unchecked) var keptBytes = 0
  /// The remarks on any of its copies, as `FrameFlagNames.mask` has them.
  @exclusivity(unchecked) package internal(set) var flags: UInt32 = 0
  /// From the first copy to the first receipt that says that it was delivered, or read; `nil` without one.
  @exclusivity(unchecked) package internal(set) var deliveredAfter: Nanoseconds?, readAfter: Nanoseconds?

  init(_ first: FirstCopy) { self.first = first }

  /// Forgets what the record was of before, for the message that `first` is a copy of.
  func begin(
    _ first: FirstCopy, _ frame: Frame, _ plan: ProtocolPlan, name: String?, flags: UInt32
  ) {
    let kind = Int(frame.kind.pointee.index)
    self.first = first
    type = kind < plan.typeNames.count ? plan.typeNames[kind] : "type_\(frame.type)"
    sessionName = first.sessionIsNumber ? nil : name
    copies = ShortList(frame.timestamp.microseconds)
    checksums = ShortList(first.checksum)
    answers = ShortList()
    (status, statusName) = (nil, nil)
    (tlvs, body, fields) = ([], [], [])
    details = nil
    owner = nil
    keptBytes = 0
    (deliveredAfter, readAfter) = (nil, nil)
    self.flags = flags
  }

  /// The connection of the first copy.
  package var connection: ConnectionInfo { first.connection }
  /// What receipts say of it, and after how long.
  var receipts: [(name: StaticString, after: Nanoseconds)] {
    [deliveredAfter.map { ("delivered", $0) }, readAfter.map { ("read", $0) }].compactMap { $0 }
  }
  /// The session's number on the wire, or the name that its client gave; `nil` where neither is known.
  package var session: String? { first.sessionIsNumber ? String(first.sessionNumber) : sessionName }
  /// Whether `session` is a number on the wire.
  package var sessionIsNumber: Bool { first.sessionIsNumber }
  /// The number that the sender gave it; `nil` where it gave none.
  package var sequence: UInt64? { first.sequence }
  /// The direction of the copies.
  package var direction: Direction { first.direction }
  /// What it is for.
  package var role: FrameRole { first.role }
  /// Which of the run's captures brought the first copy, from 0.
  package var capture: UInt32 { first.capture }
  /// The length in bytes of the first copy's body, as on the wire.
  package var bodyCount: Int { first.bodyCount }
  /// The packet that brought the first copy.
  package var number: UInt64 { first.number }
  /// Where in its stream the first copy's header begins.
  package var streamOffset: UInt64 { first.streamOffset }
  /// `FirstCopy.compression`.
  package var compression: StaticString? { first.compression }

  /// What most rows of a store take of it. For other rooms, from where each property would be guarded on its own.
  package struct Facts {
    /// The property of the same name.
    package let first: FirstCopy, status: StatusCode?, sessionName: String?, flags: UInt32
    /// Whether it has details.
    package let hasDetails: Bool
  }

  /// What most rows of a store take of it.
  package var facts: Facts {
    Facts(first: first, status: status, sessionName: sessionName, flags: flags, hasDetails: details != nil)
  }

  // Of the lists, for other rooms, into which the compiler does not see from there.

  /// Copies that were kept one by one.
  package var copyCount: Int { copies.count }
  /// Answers that were kept one by one.
  package var answerCount: Int { answers.count }
  /// Microseconds since the epoch of the first answer; `nil` without one.
  package var firstAnswer: Int64? { answers.first }
}
