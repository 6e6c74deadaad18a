package import IMWire

/// How long a message's number means that message.
package enum NumberLife: UInt8, Sendable, BitwiseCopyable {
  /// As long as its session, on whatever connection: the same number with the same content is a copy.
  case session
  /// As long as its connection; on another one, only a frame that is marked as sent again is a copy.
  case marked
  /// As long as its connection.
  case connection
}

/// Everything the decoder must know of a protocol, compiled from a profile: plain numbers behind one pointer.
package struct Plan: BitwiseCopyable {
  /// How a header gives the body's length.
  package enum LengthRule: UInt8, Sendable, BitwiseCopyable {
    /// A number in the header, to which `lengthAdd` is added.
    case field
    /// A variable-length integer at `lengthOffset`, seven bits a byte, least significant first, at most four bytes.
    case varint
  }
  /// How a frame's checksum is verified.
  package enum ChecksumRule: UInt8, Sendable, BitwiseCopyable {
    /// The protocol has none.
    case none
    /// CRC-32 of the body as it is on the wire; 0 for an empty body.
    case crc32
    /// What `PlanFraming.checksum` says, if anything, and numbers that are to be written anew; see `openGeneral`.
    case general
  }

  /// The bits of the header's first eight bytes, big endian, that are always the same; 0 without a magic number.
  package var magicMask: UInt64 = 0
  /// What those bits are; anything else is no frame.
  package var magic: UInt64 = 0
  /// The part of `magicMask` that is the magic number; the rest is the version.
  package var signatureMask: UInt64 = 0
  /// Bits of proof that the magic gives.
  package var magicEvidence: UInt8 = 0
  /// Bits of proof that a right checksum gives: its width; 0 without one.
  package var checksumEvidence: UInt8 = 0
  /// How the header gives the body's length.
  package var lengthRule = LengthRule.field
  /// How the checksum is verified.
  package var checksumRule = ChecksumRule.none
  /// Whether a checksum in the other byte order counts as right.
  package var checksumEitherOrder = false
  /// Bytes of a header with a `field` length, or the least a `varint` header has.
  package var headerCount = 0
  /// Where a `varint` length begins, from the header's first byte.
  package var lengthOffset = 0
  /// What is added to a `field` length to give the body's: minus the header's where the length counts the whole frame.
  package var lengthAdd = 0
  /// The longest body, in bytes; a longer one is no frame.
  package var maximumBody = 16 << 20
  /// The length, in bytes; absent with a `varint` length.
  package var length = Field()
  /// The frame's type.
  package var type = Field()
  /// The sequence number; absent where headers have none, though a type's steps may load one from its body.
  package var sequence = Field()
  /// The session's number; where it is absent, the client names the session once, or the connection is the session.
  package var session = Field()
  /// The checksum.
  package var checksum = Field()
  /// The sender's clock; a copy with another time is a retry.
  package var time = Field()
  /// How the body is compressed; see `zlibValue`.
  package var compression = Field()
  /// How the body is encrypted; see `encryptedFrom`.
  package var encryption = Field()
  /// Bits of the eight bytes at `plainOffset`, as they are loaded, that are all 0 in a frame whose body is neither
  /// compressed nor encrypted; other bits leave the question open.
  package var plainMask: UInt64 = 0
  /// Where those bytes begin, from the header's first.
  package var plainOffset: Int32 = 0
  /// The flag of a frame that is sent again: anything but 0.
  package var duplicate = Field()
  /// A number that a message keeps when its sender sends it again, also to another server; absent where there is none.
  package var endToEnd = Field()
  /// The value of `compression` that says zlib.
  package var zlibValue: UInt64 = 1
  /// The values of `encryption` from this one on mean that the body cannot be read.
  package var encryptedFrom: UInt64 = .max
  /// An acknowledgment whose body has this many bytes names its message there; others by their own number.
  package var ackBodyCount = -1
  /// The message's number in such a body, from the body's first byte.
  package var ackBody = Field()
  /// What an acknowledgment's number is more than its message's; `.max` where only some types' are, see `KindExtra.plus`.
  package var ackPlus: UInt64 = 0

  /// The tag, in the body's own TLV list, by which a frame of the handshake's type asks, and that of the answer; `.max`
  /// where each such frame asks, and where only an acknowledgment answers.
  package var handshakeRequest: UInt32 = .max, handshakeAnswer: UInt32 = .max
  /// How long that answer may take, in nanoseconds.
  package var handshakeLimit = Nanoseconds.seconds(10)

  /// The tag, in the body's own TLV list, whose value is the number of the message that a receipt says was read; the
  /// number is big endian. `.max` where there is none.
  package var receiptTag: UInt32 = .max
  /// The tag that says in the same way which messages the receiver's application has; `.max` where there is none.
  package var deliveryTag: UInt32 = .max
  /// Bytes of each number of a receipt, where a value may have several, one after the other; 0 where it is one number of up to
  /// eight bytes.
  package var receiptSize: UInt8 = 0

  /// Sequence numbers count: a number used again with the same content is a copy. Else they are identifiers, free again
  /// after the answer.
  package var sequenceCounts = true
  /// How long a number means its message.
  package var numberLife = NumberLife.session
  /// Whether a server numbers what it sends to all its clients with one counter: then the numbers that one of them does not
  /// get say nothing.
  package var serverSharesCounter = false
  /// The bits of a sequence number that count; those above are its category.
  package var counterBits = 32
  /// The counter goes to 0 instead of reaching this.
  package var counterWrap: UInt64 = 1 << 32

  /// Multiplier of the hash from a type's value to its place in `kinds`.
  package var kindMultiplier: UInt64 = 0
  /// How far the product moves right to give the place.
  package var kindShift: UInt8 = 58
  /// How TLV lists are laid out.
  package var tlv = TLVPlan()
  /// The status in the header; absent where a body has it, or none has.
  package var status = Field()
  /// The statuses that accept, the first and the last.
  package var acceptedStatus: (first: UInt64, last: UInt64) = (0, 0)
  /// The tags whose value is the status, big endian: the first that stands in a body counts, in whatever list; `.max`
  /// where there is none.
  package var statusTags: (UInt32, UInt32) = (.max, .max)
  /// The tag in the body's own TLV list whose value is the client's name; `.max` where there is none.
  package var identityTag: UInt32 = .max
  /// The tag whose value is the seconds between heartbeats; `.max` where there is none.
  package var keepAliveTag: UInt32 = .max

  /// How often heartbeats come where a profile fixes it, in nanoseconds, and how many thousandths of that, or of what a
  /// message tells, the client may be silent; 0 where that is not said.
  package var heartbeatInterval = Nanoseconds.zero, heartbeatFactor: UInt32 = 0
  /// Whether clients' names are not to be shown.
  package var hidesIdentity = false
  /// Whether the protocol has a variant beside this plan: see `ProtocolPlan.variant`.
  package var hasVariant = false

  /// Bits of proof that a type which is known gives; 0 where its field is too small to prove anything, or where magic
  /// number or checksum do.
  package var typeEvidence: UInt8 = 0
  /// Bits of the header's first eight bytes, big endian, that are the same in every frame of a known type.
  package var commonMask: UInt64 = 0
  /// What those bits are.
  package var common: UInt64 = 0
  /// Bits of proof that choose this profile for a connection, where no port hints at it.
  package var chooseEvidence: UInt16 = 40
  /// Bits of proof that find a frame again after a loss.
  package var confirmEvidence: UInt16 = 32

  /// The tables: types, the steps of all of them, what holds for a type that is not known. `ProtocolPlan` puts them in.
  var kinds = NoTables.kinds
  var steps = NoTables.steps
  var unknownKind = NoTables.kinds
  /// Tags whose value is a TLV list again, where there is more than one: sorted.
  var nestedTags = NoTables.tags
  var nestedCount = 0
  /// The forms of values by tag, sorted, where the tag tells it.
  var forms = NoTables.forms
  var formCount = 0
  /// Places of the table of types; behind them stand the same types as pieces, of whose bodies nothing is known.
  var kindCount = 0
  /// How many types the profile knows.
  var kindTotal = 0
  /// Another status that accepts; `.max` where there is none.
  package var acceptedToo: UInt64 = .max
  /// Delimiters, trailers, and headers of several layouts.
  package var framing = PlanFraming()
  /// The bytes that a header may begin with, one bit each; it matters where there is no magic number.
  var firstBytes: InlineArray<4, UInt64> = InlineArray(repeating: .max)
  /// What the general reader needs beyond that; `nil` in plans that are read without it.
  var general: UnsafePointer<GeneralPlan>?

  /// No frame of any protocol.
  package init() {}

  /// Resets the layout of frames, except for the kind of framing and the trailer.
  package mutating func forgetLayout() { takeLayout(of: Plan()) }

  /// Copies the layout of frames from `other`: header, length and fields.
  mutating func takeLayout(of other: Plan) {
    (magicMask, magic, signatureMask) = (other.magicMask, other.magic, other.signatureMask)
    (headerCount, lengthRule, length) = (other.headerCount, other.lengthRule, other.length)
    (lengthOffset, lengthAdd, maximumBody) = (other.lengthOffset, other.lengthAdd, other.maximumBody)
    (type, sequence, session, status, time) = (other.type, other.sequence, other.session, other.status, other.time)
    framing.lengthCountsHeader = other.framing.lengthCountsHeader
  }

  /// What stands for tables that are still to be made: one element of each, for all plans.
  private enum NoTables {
    nonisolated(unsafe) static let kinds = one(FrameKind())
    nonisolated(unsafe) static let steps = one(PlanStep(.end))
    nonisolated(unsafe) static let tags = one(UInt32.max)
    nonisolated(unsafe) static let forms = one(TLVForm(tag: .max, kind: .bytes))

    private static func one<Element: BitwiseCopyable>(_ element: Element) -> UnsafePointer<Element> {
      let place = UnsafeMutablePointer<Element>.allocate(capacity: 1)
      place.initialize(to: element)
      return UnsafePointer(place)
    }
  }

  /// Whether a header may begin with `byte`.
  @inline(__always)
  func mayBegin(with byte: UInt8) -> Bool {
    firstBytes[Int(byte &>> 6)] &>> UInt64(byte & 63) & 1 == 1
  }
}

extension UnsafePointer<Plan> {
  /// What a type's value means.
  @inline(__always)
  func kind(_ value: UInt64) -> UnsafePointer<FrameKind> {
    let place =
      pointee.kinds + Int(truncatingIfNeeded: (value &* pointee.kindMultiplier) &>> UInt64(pointee.kindShift))
    return place.pointee.value == value ? place : pointee.unknownKind
  }

  /// Whether bodies are weighed as a whole, because neither a magic number nor a checksum proves a frame.
  var weighsBodies: Bool { pointee.typeEvidence > 0 }

  /// The number that stands `count` before `sequence` in its counter; `count` is less than where the counter wraps.
  func number(before sequence: UInt64, by count: UInt64) -> UInt64 {
    let mask: UInt64 = (1 << UInt64(pointee.counterBits)) &- 1
    let counter = sequence & mask
    let earlier = counter >= count ? counter &- count : counter &+ pointee.counterWrap &- count
    return sequence & ~mask | earlier & mask
  }

  /// The number that follows `sequence` in its counter.
  func number(after sequence: UInt64) -> UInt64 {
    let mask: UInt64 = (1 << UInt64(pointee.counterBits)) &- 1
    let next = (sequence & mask) &+ 1
    return sequence & ~mask | (next == pointee.counterWrap ? 0 : next & mask)
  }

  /// What the number of an acknowledgment of that type is more than its message's.
  @inline(__always)
  func ackPlus(of kind: UnsafePointer<FrameKind>) -> UInt64 {
    guard let extras = pointee.general?.pointee.extras else { return pointee.ackPlus }
    let own = extras[Int(kind.pointee.index)].plus
    return own != 0 ? own : pointee.ackPlus == .max ? 0 : pointee.ackPlus
  }

  /// Whether `status` in an answer of type `kind` refuses what it answers.
  @inline(never)
  func refuses(_ status: UInt64, _ kind: UnsafePointer<FrameKind>) -> Bool {
    guard kind.pointee.acceptedLast == .max else {
      return status < UInt64(kind.pointee.acceptedFirst) || status > UInt64(kind.pointee.acceptedLast)
    }
    return (status < pointee.acceptedStatus.first || status > pointee.acceptedStatus.last)
      && status != pointee.acceptedToo
  }

  /// Whether the value of `tag` is a TLV list again.
  func isNested(_ tag: UInt32) -> Bool {
    var low = 0
    var high = pointee.nestedCount
    while low < high {
      let middle = (low &+ high) &>> 1
      if pointee.nestedTags[middle] < tag { low = middle &+ 1 } else { high = middle }
    }
    return low < pointee.nestedCount ? pointee.nestedTags[low] == tag : tag == pointee.tlv.nestedTag
  }
}
