package import IMWire

/// What a frame's checksum said.
package enum ChecksumStatus: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  /// Right, big endian; right, little endian; wrong; not there because the body is empty; the protocol has none.
  case be, le, bad, none, unchecked

  /// The name in outputs.
  package var name: String {
    switch self {
    case .be: "be"
    case .le: "le"
    case .bad: "bad"
    case .none: "none"
    case .unchecked: "unchecked"
    }
  }
}

/// One TLV of a body: 16 bytes, its place in the body that was walked.
package struct TLVRef: Sendable, BitwiseCopyable {
  /// The tag's number.
  package var tag: UInt32
  /// Where the value begins, from the body's first byte.
  package var offset: UInt32
  /// The value's length.
  package var count: UInt32
  /// 0 for the body's own list.
  package var depth: UInt16
  /// Whether the value is a TLV list that was walked: its children follow.
  package var isList: Bool

  /// No TLV yet.
  package init() { (tag, offset, count, depth, isList) = (0, 0, 0, 0, false) }

  init(tag: UInt32, offset: UInt32, count: UInt32, depth: UInt16, isList: Bool) {
    (self.tag, self.offset, self.count, self.depth, self.isList) = (tag, offset, count, depth, isList)
  }
}

/// One decoded frame. There is one of these in an engine, used again for every frame.
package struct Frame: BitwiseCopyable {
  /// Where a plan's step puts what it reads.
  package enum Register: UInt8, Sendable, BitwiseCopyable {
    case none, sequence, status, keepAlive, identity, subject, answered, bits, reference, multiple, last
  }

  /// Facts that are true or not.
  package struct Flags: OptionSet, Sendable, BitwiseCopyable {
    /// One bit for each.
    package let rawValue: UInt32
    /// The flags whose bits are set in `rawValue`.
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    /// `sequence` holds a number.
    package static let sequence = Flags(rawValue: 1)
    /// The body is zlib and was inflated; the TLV references point into the inflated bytes.
    package static let inflated = Flags(rawValue: 2)
    /// The header says compressed, but the body is not.
    package static let compressLabelOnly = Flags(rawValue: 4)
    /// The body is encrypted and was not read.
    package static let encrypted = Flags(rawValue: 8)
    /// Inflating hit a limit.
    package static let inflateLimit = Flags(rawValue: 16)
    /// The body is shorter than its type needs.
    package static let malformed = Flags(rawValue: 32)
    /// A tag stands twice in one list.
    package static let duplicateTag = Flags(rawValue: 64)
    /// Lists nest deeper than the protocol allows.
    package static let nestedTooDeep = Flags(rawValue: 128)
    /// A list ends inside a TLV's tag.
    package static let incompleteTag = Flags(rawValue: 256)
    /// A list ends inside a TLV's length.
    package static let incompleteLength = Flags(rawValue: 512)
    /// A TLV's value is longer than what is left of its list.
    package static let incompleteValue = Flags(rawValue: 1024)
    /// More TLVs than the limit.
    package static let tlvLimit = Flags(rawValue: 2048)
    /// The sender's clock is more than 60 s from the capture's.
    package static let timestampWindow = Flags(rawValue: 4096)
    /// The header's duplicate flag is set.
    package static let markedDuplicate = Flags(rawValue: 8192)
    /// The first frame after bytes were lost or skipped.
    package static let afterGap = Flags(rawValue: 16384)
    /// The body was read; a later look need not do it again.
    package static let opened = Flags(rawValue: 32768)
    /// `status` holds a number.
    package static let status = Flags(rawValue: 65536)
    /// `answered` holds a number.
    package static let answered = Flags(rawValue: 131_072)
    /// `status` is the one of the second tag in `Plan.statusTags`.
    package static let otherStatus = Flags(rawValue: 262_144)
    /// `answered` holds a number in the body by which a message is named instead of by its own: in a message, and in its answer.
    package static let reference = Flags(rawValue: 524_288)
    /// The body is longer than the profile's maximum: only its beginning was read.
    package static let oversized = Flags(rawValue: 2_097_152)
    /// A step has read which variant of the protocol the connection speaks, whatever follows it in the body.
    static let settlesVariant = Flags(rawValue: 1_048_576)
    /// Its type was found by a part `*` that is absent, which is no evidence.
    static let isUntyped = Flags(rawValue: 4_194_304)
    /// An acknowledgment whose body says that it is cumulative.
    static let multiple = Flags(rawValue: 8_388_608)
    /// Its number is one of a counter of which the capture does not tell how far it had come.
    static let uncounted = Flags(rawValue: 16_777_216)
    /// `last` has a number.
    static let last = Flags(rawValue: 33_554_432)
    /// What is wrong with a TLV list.
    package static let tlvErrors: Flags = [.incompleteTag, .incompleteLength, .incompleteValue, .tlvLimit]
  }

  /// When the packet came that made the last byte contiguous.
  package var timestamp = Timestamp(nanoseconds: 0)
  /// That packet's number in the capture.
  package var number: UInt64 = 0
  /// That packet's TCP acknowledgment number, for frames of the general reader; 0 where it is not known.
  var acknowledged: UInt32 = 0
  /// The channel of its connection whose numbers it has, for frames of the general reader; 0 where there are none.
  var channel: UInt16 = 0
  /// Offset in its stream of the header's first byte.
  package var streamOffset: UInt64 = 0
  /// Where the header begins in the bytes that were read.
  package var start = 0
  /// The frame's length in bytes, header included.
  package var count = 0
  /// The header's length in bytes.
  package var headerCount = 0
  /// The type's value on the wire.
  package var type: UInt64 = 0
  /// The sequence number; it counts only with `Flags.sequence`.
  package var sequence: UInt64 = 0
  /// The session's number in the header; 0 where the protocol has none.
  package var session: UInt64 = 0
  /// The checksum as it stands on the wire, read big endian.
  package var checksum: UInt64 = 0
  /// The sender's clock in the header, in the protocol's units; only where the plan has a `time` field.
  package var time: UInt64 = 0
  /// The status that an answer gives; it counts only with `Flags.status`.
  package var status: UInt64 = 0
  /// The number of the message that an answer's body names; it counts only with `Flags.answered`, or with `Flags.reference`.
  package var answered: UInt64 = 0
  /// The last of the numbers that an answer's body names, of which `answered` is the first; valid only with `Flags.last`.
  var last: UInt64 = 0
  /// Bytes after the body: the same for all frames of a plan, except for malformed ones whose length is below it.
  var trailerCount = 0
  /// Seconds between heartbeats that a client announces; 0 where the frame announces none.
  package var keepAlive: UInt64 = 0
  /// Where the client's name begins, from the frame's first byte; it counts only where `identityCount` is not 0.
  package var identityOffset = 0
  /// The name's length in bytes; 0 where the frame has none.
  package var identityCount = 0
  /// Where the message's subject begins, from the frame's first byte; it counts only where `subjectCount` is not 0.
  package var subjectOffset = 0
  /// The subject's length in bytes; 0 where the frame has none.
  package var subjectCount = 0
  /// Where a body's TLV list begins, from the body's first byte; it counts only where its type has steps.
  var listOffset = 0
  /// Where that list ends, and where a second one begins and ends, from the body's first byte; 0 where steps did not tell.
  var listEnd = 0, secondListOffset = 0, secondListEnd = 0
  /// What was found while reading the frame.
  package var flags: Flags = []
  /// What the checksum said.
  package var checksumStatus = ChecksumStatus.unchecked
  /// TLVs walked, nested ones included.
  package var tlvCount: Int32 = 0
  /// The deepest list that was walked; 0 without nesting.
  package var tlvDepth: Int32 = 0
  /// What its type means.
  package var kind: UnsafePointer<FrameKind>
  /// What stands for sessions that are not to be shown: the run's, the same for every frame.
  var numbers = NumberHash(key: (0, 0))

  /// Where the body begins in the bytes of the frame.
  package var body: Int { start &+ headerCount }
  /// The body's length.
  package var bodyCount: Int { count &- headerCount &- trailerCount }
  /// Whether the length of body and trailer is one that its type may have.
  func hasLength(of kind: FrameKind) -> Bool {
    count &- headerCount >= Int(kind.minimumBody) && count &- headerCount <= Int(kind.maximumBody)
  }
}
