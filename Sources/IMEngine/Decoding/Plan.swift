/// A number in a header: one eight-byte load, a byte swap, a shift and a mask, whatever its width and place.
///
/// The load may reach past the header; every buffer has slack behind it.
package struct Field: Sendable, BitwiseCopyable {
  /// Bits that count after the shift; 0 where the protocol has no such field.
  package var mask: UInt64 = 0
  /// Where the load begins, from the header's first byte.
  package var offset: Int32 = 0
  /// How far the loaded number moves right.
  package var shift: UInt8 = 0
  /// Whether the least significant byte comes first.
  package var littleEndian = false

  /// The absent field; it reads as 0.
  package init() {}

  /// A field of `byteCount` (1 to 8) bytes at `offset`, of which the `bits` bits from `lowBit` on count (all by default).
  package init(offset: Int, byteCount: Int, littleEndian: Bool = false, lowBit: Int = 0, bits: Int? = nil) {
    let width = bits ?? byteCount * 8 - lowBit
    mask = width >= 64 ? .max : (1 << UInt64(width)) - 1
    self.offset = Int32(truncatingIfNeeded: offset)
    self.littleEndian = littleEndian
    shift = UInt8(truncatingIfNeeded: (littleEndian ? 0 : 64 - byteCount * 8) + lowBit)
  }

  /// Whether the protocol has this field.
  package var isPresent: Bool { mask != 0 }

  /// Whether it is the same part of a header as `other`, read in the same way.
  package func isSame(_ other: Field) -> Bool {
    mask == other.mask && offset == other.offset && shift == other.shift && littleEndian == other.littleEndian
  }

  /// The field's bits in the eight bytes that `read` loads, as the machine holds them.
  var rawMask: UInt64 {
    let bits = mask << UInt64(shift)
    return littleEndian ? UInt64(littleEndian: bits) : UInt64(bigEndian: bits)
  }

  @inline(__always)
  func read(_ bytes: borrowing Bytes, _ base: Int) -> UInt64 {
    value(bytes.load(base &+ Int(offset), as: UInt64.self))
  }

  /// The number in the eight bytes that were loaded, as the machine holds them.
  @inline(__always)
  func value(_ raw: UInt64) -> UInt64 {
    ((littleEndian ? UInt64(littleEndian: raw) : UInt64(bigEndian: raw)) &>> UInt64(shift)) & mask
  }
}

/// What a frame is for, whatever its protocol calls it.
package enum FrameRole: UInt8, Sendable, BitwiseCopyable {
  /// Something a user or an application said.
  case message
  /// An answer that names what it acknowledges.
  case acknowledgment
  /// A sign of life.
  case heartbeat
  /// Opening, subscribing, closing.
  case control
  /// That a message was read.
  case receipt
  /// Anything else, and types that the profile does not know.
  case other
}

/// What one frame type means and how it is checked.
package struct FrameKind: Sendable, BitwiseCopyable {
  /// Facts that are true or not.
  package struct Flags: OptionSet, Sendable, BitwiseCopyable {
    /// One bit for each.
    package let rawValue: UInt16
    /// The flags whose bits are set in `rawValue`.
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    /// The body is not a TLV list.
    package static let noTLV = Flags(rawValue: 1)
    /// The receiver answers it.
    package static let expectsAck = Flags(rawValue: 2)
    /// It draws a number from its sender's counter.
    package static let numbered = Flags(rawValue: 4)
    /// The same type with the same number in the other direction is its answer.
    package static let echoed = Flags(rawValue: 8)
    /// It carries no number: an answer belongs to the oldest open one.
    package static let unnumbered = Flags(rawValue: 16)
    /// Only clients send it.
    package static let fromClient = Flags(rawValue: 32)
    /// Only servers send it.
    package static let fromServer = Flags(rawValue: 64)
    /// As an answer, a status that is not one of those that accept refuses; see `Plan.acceptedStatus`.
    package static let refusing = Flags(rawValue: 128)
    /// It names the client; the session begins with it.
    package static let opensSession = Flags(rawValue: 256)
    /// The protocol's handshake is made of it; see `Plan.handshakeRequest`.
    package static let handshake = Flags(rawValue: 512)
    /// It says that a message was read; see `Plan.receiptTag`.
    package static let receipt = Flags(rawValue: 1_024)
    /// Its identity is the client's name; the session stays the connection's own. Together with `opensSession`.
    package static let namesSession = Flags(rawValue: 2_048)
    /// Among its steps are `string`, `bytes` or `tlv`.
    package static let hasOtherSteps = Flags(rawValue: 4_096)
    /// It tells which variant of the protocol its connection speaks: the one whose steps fit it.
    package static let tellsVariant = Flags(rawValue: 8_192)
    /// An acknowledgment answers its message and all before it that are still open.
    package static let cumulative = Flags(rawValue: 16_384)
    /// The identity in it, where there is one, is the name that the server gave the client.
    package static let assignsIdentity = Flags(rawValue: 32_768)
    /// What is looked at by its tags.
    static let tagged: Flags = [.handshake, .receipt, .tellsVariant]
  }

  /// The type's value on the wire.
  package var value: UInt64 = .max
  /// The index in the profile's list of types.
  package var index: UInt8 = Self.unknownIndex
  /// The index that all types share which the profile does not know.
  package static let unknownIndex: UInt8 = 63
  /// What it is for.
  package var role = FrameRole.other
  /// How it is sent, answered and read.
  package var flags: Flags = []
  /// How many bits of proof a header of this type gives that it is one: fixed bits and lengths.
  package var evidence: UInt8 = 0
  /// The least status that accepts, where `acceptedLast` is not `.max`.
  package var acceptedFirst: UInt16 = 0
  /// The types, by index, that this one answers.
  package var answers: UInt64 = 0
  /// The body's least length in bytes; a shorter one is no frame.
  package var minimumBody: UInt32 = 0
  /// The body's greatest length in bytes; a longer one is no frame.
  package var maximumBody: UInt32 = .max
  /// Whether the variant of the protocol knows no such type: no body fits it.
  package var isAbsent: Bool { minimumBody > maximumBody }
  /// Bits of the header's first eight bytes (big endian) that this type fixes.
  package var headMask: UInt64 = 0
  /// What those bits are; anything else is no frame.
  package var headValue: UInt64 = 0
  /// The first of the steps that read its body, in the plan's list.
  package var firstStep: UInt16 = 0
  /// How many steps there are; 0 where nothing is read.
  package var stepCount: UInt16 = 0
  /// Which list of names its statuses have; see `ProtocolPlan.statusNames`.
  package var statusList: UInt8 = 0
  /// The greatest status that accepts; `.max` where `Plan.acceptedStatus` says so for all types.
  package var acceptedLast: UInt32 = .max
  /// How long an answer may take, in nanoseconds.
  package var timeout: Int64 = 6_000_000_000

  /// A type that nothing is known of.
  package init() {}
}

/// How long a message's number means that message.
package enum NumberLife: UInt8, Sendable, BitwiseCopyable {
  /// As long as its session, on whatever connection: the same number with the same content is a copy.
  case session
  /// As long as its connection; on another one, only a frame that is marked as sent again is a copy.
  case marked
  /// As long as its connection.
  case connection
}

/// One step of the small program that reads a body which is not a TLV list from its first byte.
package struct PlanStep: Sendable, BitwiseCopyable {
  /// What a step does.
  package enum Operation: UInt8, Sendable, BitwiseCopyable {
    /// Moves `count` bytes on.
    case skip
    /// Loads `count` bytes, big endian, into `register`.
    case load
    /// Reads a length of `count` bytes, then so many bytes of text, which `register` names.
    case text
    /// The next `count` bytes are `a` (masked by `b`); anything else is not this type, unless the next step is another
    /// `expect`: of several in a row, the first that fits counts.
    case expect
    /// Jumps `count` steps when the header's first eight bytes, or with `register` `bits` what was loaded there, masked by
    /// `a`, are `b`.
    case unless
    /// Moves behind a zero byte that stands among the next `count` bytes; what is in front of it is text, which
    /// `register` names.
    case string
    /// Reads a length of `count` bytes, and moves so many bytes on.
    case bytes
    /// The body may end here.
    case end
    /// Loads the header's status; see `Plan.status`.
    case status
    /// The rest of the body is a TLV list.
    case tlv
    /// Jumps where `unless` does not.
    case when
    /// The next `count` bytes are not `a`; they are not passed over.
    case refuse
    /// A length of `count` bytes (0: a varint), then a TLV list of so many bytes.
    case list
    /// Statuses of `count` bytes up to the body's end, one at least: the first that refuses counts, else the first.
    case each
    /// The body ends here.
    case close
  }
  /// What it does.
  package var operation: Operation
  /// Where a `load` or a `text` puts what it reads; `none` drops it.
  package var register: Frame.Register
  /// Bytes, or for `unless` steps, as the operation says.
  package var count: UInt16
  /// The bytes to `expect` or to `refuse`, as a big-endian number; the mask of `unless` and `when`; a `text`'s least length; how the
  /// number of a `load` is written: 0, or one of these two.
  package var a: UInt64
  /// The mask of `expect`; the value of `unless` and `when`.
  package var b: UInt64
  /// Least significant byte first.
  package static let littleEndian: UInt64 = 1
  /// Decimal digits, two a byte.
  package static let bcd: UInt64 = 2

  /// A step of its parts.
  package init(
    _ operation: Operation, register: Frame.Register = .none, count: Int = 0, a: UInt64 = 0, b: UInt64 = 0
  ) {
    self.operation = operation
    self.register = register
    self.count = UInt16(clamping: count)
    self.a = a
    self.b = b
  }
}

/// How a TLV list is laid out: a header of at most eight bytes with tag and length, then the value.
package struct TLVPlan: Sendable, BitwiseCopyable {
  /// The layouts that have a walk of their own.
  package enum Shape: UInt8, Sendable, BitwiseCopyable {
    /// No TLV list.
    case none
    /// Tag of two and length of four bytes, big endian, value only.
    case tag2Length4
    /// Any other.
    case general
    /// A tag alone: it tells the form of what follows; see `TLVForm`.
    case formed
  }
  /// The walk that fits; `none` where bodies are not TLV lists.
  package var shape = Shape.none
  /// The tag, from the TLV's first byte.
  package var tag = Field()
  /// The length in bytes, from the TLV's first byte; it stands behind the tag. Where tags tell the form of their value, from
  /// the value's first byte: it stands in front of texts and bytes only.
  package var length = Field()
  /// Bytes of tag and length together.
  package var headerCount: Int32 = 0
  /// Whether the length counts the header.
  package var lengthCountsHeader = false
  /// The bits of a TLV's header that make it longer by `optionalCount` bytes, when one of them is set.
  package var optional = Field()
  /// Bytes that an optional part of the header has.
  package var optionalCount: Int32 = 0
  /// What the length of a TLV is rounded up to, less one: 0 without padding, 3 for multiples of four bytes.
  package var paddingMask: Int32 = 0
  /// Whether a tag may stand in a list more than once.
  package var mayRepeat = false
  /// The tag whose value is a TLV list again; `.max` where there is none, or more than one: `Plan.nestedTags`.
  package var nestedTag: UInt32 = .max
  /// Lists deeper than this are noted; the walk goes on to `TLVWalker.maximumDepth`.
  package var maximumDepth: Int32 = 4

  /// No TLV list.
  package init() {}
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
  package var headerCount: Int32 = 0
  /// Where a `varint` length begins, from the header's first byte.
  package var lengthOffset: Int32 = 0
  /// What is added to a `field` length to give the body's: minus the header's where the length counts the whole frame.
  package var lengthAdd: Int32 = 0
  /// The longest body, in bytes; a longer one is no frame.
  package var maximumBody: Int32 = 16 << 20
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
  /// The value of `compression` that says zlib.
  package var zlibValue: UInt64 = 1
  /// The values of `encryption` from this one on mean that the body cannot be read.
  package var encryptedFrom: UInt64 = .max
  /// An acknowledgment whose body has this many bytes names its message there; others by their own number.
  package var ackBodyCount: Int32 = -1
  /// The message's number in such a body, from the body's first byte.
  package var ackBody = Field()
  /// What an acknowledgment's number is more than its message's.
  package var ackPlus: UInt64 = 0

  /// The tag, in the body's own TLV list, by which a frame of the handshake's type asks, and that of the answer; `.max`
  /// where each such frame asks, and where only an acknowledgment answers.
  package var handshakeRequest: UInt32 = .max, handshakeAnswer: UInt32 = .max
  /// How long that answer may take, in nanoseconds.
  package var handshakeLimit: Int64 = 10_000_000_000

  /// The tag, in the body's own TLV list, whose value is the number of the message that a receipt says was read; the
  /// number is big endian.
  package var receiptTag: UInt32 = .max

  /// Sequence numbers count: a number used again with the same content is a copy. Else they are identifiers, free again
  /// after the answer.
  package var sequenceCounts = true
  /// How long a number means its message.
  package var numberLife = NumberLife.session
  /// Whether a server numbers what it sends to all its clients with one counter: then the numbers that one of them does not
  /// get say nothing.
  package var serverSharesCounter = false
  /// The bits of a sequence number that count; those above are its category.
  package var counterBits: UInt8 = 32
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
  package var heartbeatInterval: Int64 = 0, heartbeatFactor: UInt32 = 0
  /// Whether clients' names are not to be shown.
  package var hidesIdentity = false
  /// Whether the protocol has a variant beside this plan: see `ProtocolPlan.variant`.
  var hasVariant = false

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

  var kinds: UnsafePointer<FrameKind>
  var steps: UnsafePointer<PlanStep>
  var unknownKind: UnsafePointer<FrameKind>
  /// Tags whose value is a TLV list again, where there is more than one: sorted.
  var nestedTags: UnsafePointer<UInt32>
  var nestedCount = 0
  /// The forms of values by tag, sorted, where the tag tells it.
  var forms: UnsafePointer<TLVForm>
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
