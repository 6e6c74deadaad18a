/// What a plan has for protocols whose frames end at a delimiter, end with a checksum, or have headers of several layouts.
///
/// It stands behind everything that each frame asks for: a plan of a magic number and a length never looks at it.
package struct PlanFraming: Sendable, BitwiseCopyable {
  /// How the ends of frames are found.
  package enum Kind: UInt8, Sendable, BitwiseCopyable {
    /// By a length in the header.
    case length
    /// By a byte that stands nowhere else: a flag in front of a frame and behind it, or one between two frames.
    case delimited
    /// By a line feed; a carriage return in front of it belongs to it.
    case line
    /// By a length that the general reader reads.
    case counted
    /// By the messages of WebSocket, or by records within one.
    case message
    /// By bytes that end a frame.
    case terminated
    /// By a block of header lines, and a body that one of them may count.
    case headers
    /// By the content itself: counted strings and arrays.
    case resp
    /// By the content itself: one XML element after the other.
    case xml
    /// By a pair that has the length of those after it.
    case pairs
  }
  /// How the ends of frames are found.
  package var kind = Kind.length
  /// The byte between frames.
  package var delimiter: UInt8 = 0x0a
  /// The byte that says that the next one stands for another; only where `escapes`.
  package var escape: UInt8 = 0
  /// Whether bytes are escaped.
  package var escapes = false
  /// What the byte behind the escape is exclusive-or'ed with, where `replacementCount` is 0.
  package var escapeMask: UInt8 = 0
  /// How many bytes may stand behind the escape, at most 4, each for another: the one in `written` for the one in `meant`,
  /// the first in the lowest byte.
  package var replacementCount: UInt8 = 0
  /// The bytes that stand behind an escape.
  package var written: UInt32 = 0
  /// The bytes that they stand for.
  package var meant: UInt32 = 0

  /// The sum, where the plan's rule is `general`.
  package var checksum = ChecksumPlan()
  /// Bytes of the trailer.
  package var trailerCount: Int32 = 0
  /// Whether the length counts the header, whose parts may make it longer.
  package var lengthCountsHeader = false
  /// Parts that some headers have and others do not: `partCount` of them, in their order.
  package var parts: InlineArray<4, HeaderPart> = InlineArray(repeating: HeaderPart())
  /// How many there are.
  package var partCount: UInt8 = 0
  /// Which words of a line are its fields, from 1; 0 where it has none.
  package var words = LineWords()

  /// How the session's number is written.
  package var sessionCoding = NumberCoding.binary
  /// How the sequence number is written.
  package var sequenceCoding = NumberCoding.binary
  /// Whether the session's number is not to be shown: what stands for it is a hash of it.
  package var hidesSession = false
  /// Whether the session's number is one client's alone, so that no counter has to prove it.
  package var sessionIsUnique = false

  /// Frames by a length, and nothing special.
  package init() {}

  /// Whether frames end at a delimiter.
  @inline(__always) package var isDelimited: Bool { kind != .length }

  /// Whether the general reader reads frames: their content, or several parts, tell their types.
  @inline(__always) package var isGeneral: Bool { kind.rawValue >= Kind.counted.rawValue }

  /// Whether frames are laid out as `other` says too. Cold.
  func isSame(_ other: PlanFraming) -> Bool {
    let (a, b) = (self, other)
    return a.kind == b.kind && a.delimiter == b.delimiter && a.escapes == b.escapes && a.escape == b.escape
      && a.escapeMask == b.escapeMask && a.replacementCount == b.replacementCount && a.written == b.written
      && a.meant == b.meant && a.checksum == b.checksum && a.trailerCount == b.trailerCount
      && a.lengthCountsHeader == b.lengthCountsHeader && a.partCount == b.partCount
      && (0..<Int(partCount)).allSatisfy { a.parts[$0].isSame(b.parts[$0]) } && a.words == b.words
      && a.sessionCoding == b.sessionCoding && a.sequenceCoding == b.sequenceCoding
      && a.hidesSession == b.hidesSession && a.sessionIsUnique == b.sessionIsUnique
  }
}

/// How a number is written in its bytes.
package enum NumberCoding: UInt8, Sendable, BitwiseCopyable {
  /// As a binary number.
  case binary
  /// Two decimal digits a byte, the first in the upper half.
  case bcd
}

/// A part of a header that is there when one of some bits is set.
package struct HeaderPart: Sendable, BitwiseCopyable {
  /// Those bits, in the header without parts.
  package var when = Field()
  /// Where it stands: behind so many bytes of the header without parts.
  package var at: Int32 = 0
  /// Its bytes; 0 where it only says something of the body.
  package var count: Int32 = 0
  /// Whether nobody knows what the body holds: it is a piece, or encrypted.
  package var isRaw = false
  /// Where the session's number stands in a header with this part, counted on the wire; absent where the part does not
  /// move it.
  package var session = Field()

  /// No part.
  package init() {}

  func isSame(_ other: HeaderPart) -> Bool {
    when.isSame(other.when) && at == other.at && count == other.count && isRaw == other.isRaw
      && session.isSame(other.session)
  }
}

/// Which words of a line are its fields, from 1.
package struct LineWords: Sendable, Equatable, BitwiseCopyable {
  /// The word that is the type: the first, or another.
  package var type: UInt8 = 1
  /// The words that are numbers; 0 where there is none.
  package var sequence: UInt8 = 0, session: UInt8 = 0, status: UInt8 = 0

  /// The first word is the type.
  package init() {}

  /// The number that stands for the type `word`: its bytes where they are at most eight, else a hash of them.
  package static func value(_ word: some Collection<UInt8>) -> UInt64 {
    if word.count <= 8 { return word.reduce(0) { $0 << 8 | UInt64($1) } }
    return FNV1a.hash(word) | 1 << 63
  }
}

/// Which checksum a frame has, of what, and where.
package struct ChecksumPlan: Sendable, Equatable, BitwiseCopyable {
  /// How it is computed.
  package var algorithm = ChecksumAlgorithm.crc32
  /// Whether there is one.
  package var isPresent = false
  /// Whether it stands at the trailer's beginning; else `Plan.checksum` tells where it stands in the header.
  package var isInTrailer = false
  /// Whether the least significant byte comes first; it says nothing of a field in the header.
  package var littleEndian = false
  /// Whether the body alone counts; else everything from `from` on up to the trailer, the sum's own field as zeros.
  package var coversBody = true
  /// The first byte that counts, from the header's first.
  package var from: Int32 = 0

  /// No checksum.
  package init() {}
}
