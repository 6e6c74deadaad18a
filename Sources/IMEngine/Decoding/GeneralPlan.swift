package import IMContent
import IMWire

/// One part of a type that has several, in the order in which they are written.
package enum TypePart: Sendable, BitwiseCopyable {
  /// `client` or `server`, whichever sends the frame.
  case side
  /// A number in the header or, where the frame reaches so far, after it.
  case field(Field)
  /// The value that a path leads to, by its place.
  case value(UInt8)
  /// The number in front of the content; see `LeadStep`.
  case lead
}

/// How the length of a frame is written where it is no number of fixed size.
package enum LengthCoding: UInt8, Sendable, BitwiseCopyable {
  /// A number at a fixed place.
  case field
  /// Seven bits a byte, least significant first, at most four bytes.
  case varint
  /// Decimal digits: a fixed number of them, or all up to the first other byte; see `GeneralPlan.digitCount`.
  case decimal
  /// The length nibble of RFC 8323 and up to four bytes after it. It excludes the code and the token, which are added.
  case coap
  /// A definite length of BER, at most four bytes after the first.
  case ber
}

/// What a frame's content says of its status.
package enum StatusRule: UInt8, Sendable, BitwiseCopyable {
  /// A number.
  case number
  /// A text that means a number; see `GeneralPlan.statusTexts`.
  case text
  /// 1 where the value is there, else 0.
  case present
}

/// What a type has beyond `FrameKind` in plans of the general reader.
package struct KindExtra: Sendable, BitwiseCopyable {
  /// The values that may be its number, in this order; negative from the first that is none. Empty where the plan's hold.
  package var number: InlineArray<4, Int8> = InlineArray(repeating: -1)
  /// What the number of an acknowledgment of this type is more than its message's; where it is 0, `Plan.ackPlus` holds.
  package var plus: UInt64 = 0
  /// Bits of proof that the type's own value gives.
  package var proof: UInt8 = 0

  /// A type like any other.
  package init() {}
}

/// What the general reader needs of a plan whose frames are recognized by contents, by several parts of a type, or by ends that are no lengths.
package struct GeneralPlan: BitwiseCopyable, @unchecked Sendable {
  /// The paths, and the kind of content that they lead into; `nil` where frames hold bytes.
  package var content: ContentPlan?
  /// The parts of a type; `partCount` of them.
  package var parts: InlineArray<3, TypePart> = InlineArray(repeating: .side)
  /// How many parts a type has.
  package var partCount: UInt8 = 0
  /// Which parts are `*` in types that have some, one bit a part, the fewest first; `maskCount` of them.
  package var masks: InlineArray<4, UInt8> = InlineArray(repeating: 0)
  /// How many such masks there are.
  package var maskCount: UInt8 = 0
  /// The values that may be the sequence number, in this order; negative from the first that is none.
  package var sequence: InlineArray<4, Int8> = InlineArray(repeating: -1)
  /// The value that is the status; negative where there is none.
  package var status: Int8 = -1
  /// What it means.
  package var statusRule = StatusRule.number
  /// Texts, as `ContentNumber` has them, and the statuses that they mean; `statusTextCount` of them.
  package var statusTexts: InlineArray<8, StatusText> = InlineArray(repeating: StatusText())
  /// How many such texts there are.
  package var statusTextCount: UInt8 = 0
  /// The value that is the session; negative where there is none.
  package var session: Int8 = -1
  /// What precedes the content; `leadCount` steps.
  package var lead: InlineArray<8, LeadStep> = InlineArray(repeating: LeadStep(.digits))
  /// How many steps there are.
  package var leadCount: UInt8 = 0
  /// How the length is written.
  package var coding = LengthCoding.field
  /// The number of decimal digits of a length; 0 if the first other byte ends it.
  package var digitCount: UInt8 = 0
  /// Whether a length of variable size counts its own bytes, too.
  package var countsLength = false
  /// Conditional parts of the header, in their order; `headerPartCount` of them.
  package var headerParts: InlineArray<4, ConditionalPart> = InlineArray(repeating: ConditionalPart())
  /// The number of conditional parts.
  package var headerPartCount: UInt8 = 0
  /// Whether the length's offset counts from the end of those parts.
  package var lengthFollowsParts = false
  /// The size of the header at the beginning of messages, or of frames that end with `ends`, in bytes; 0 if they have none.
  package var innerHeader: UInt16 = 0
  /// Whether a carriage return before the bytes that end a frame belongs to them.
  package var isLine = false
  /// The flag that marks a frame as sent again, as a header field, or as a content value by its slot; absent and negative if there is none.
  package var duplicate = Field(), duplicateValue: Int8 = -1
  /// Whether bodies are zlib streams, each on its own: after a frame that announces it, or always.
  package var isZlib = false, isAlwaysZlib = false
  /// Whether a varint before such a body is its inflated length, or 0 if it is not compressed.
  package var tellsSize = false
  /// Alternatives of values, of which the first present one counts; `alternativeCount` of them, those of one value in a row.
  package var alternatives: InlineArray<16, Alternative> = InlineArray(repeating: Alternative())
  /// The number of alternatives.
  package var alternativeCount: UInt8 = 0
  /// The layout of the server's frames; `nil` if both sides have the same one.
  var serverSide: UnsafePointer<Plan>?
  /// Whether some type has no length.
  package var hasAbsentLength = false
  /// Bytes that begin a frame, the first in the highest of `beginCount` bytes.
  package var begins: UInt32 = 0
  /// How many bytes begin a frame.
  package var beginCount: UInt8 = 0
  /// Bytes that end a frame, the first in the highest of `endCount` bytes.
  package var ends: UInt32 = 0
  /// How many bytes end a frame.
  package var endCount: UInt8 = 0
  /// Whether a message holds records, each of which ends with `ends`, or begins with its length as a varint.
  package var hasRecords = false
  /// Whether the records of a message begin with their lengths.
  package var hasCountedRecords = false
  /// The value that is the length of the body after a header block; negative where the body goes up to `ends`.
  package var bodyLength: Int8 = -1
  /// Whether a first line is all that there is of a header block.
  package var isOneLine = false
  /// Types whose line's last word is the length of the body; `bodyTypeCount` of them.
  package var bodyTypes: InlineArray<8, UInt64> = InlineArray(repeating: 0)
  /// How many such types there are.
  package var bodyTypeCount: UInt8 = 0
  /// The offset of a sequence number of more than eight bytes, in the encoding of `Field`, and its size in bytes; 0 if there is none.
  package var wideOffset: UInt16 = 0, wideCount: UInt8 = 0
  /// The paths into a JSON object that is the end of a line; `nil` where no type has one.
  package var inner: ContentPlan?
  /// The numbers of the pairs that have the length of a frame and its checksum; 0 where there is no checksum.
  package var lengthTag: UInt32 = 0, checksumTag: UInt32 = 0
  /// The byte between frames that is a frame of the type `beat`; negative where there is none.
  package var beat: Int16 = -1
  /// The channel of a connection; numbers are each channel's own. Absent where a connection has no channels.
  package var channel = Field()
  /// Whether some types have no number on the wire, but how many of them their sender has sent: see `FrameKind.Flags.counted`.
  package var hasCounter = false
  /// The number of the first of them.
  package var counterFirst: UInt32 = 1
  /// The types, by index, whose number such a counter is.
  package var countedTypes: UInt64 = 0
  /// Bytes that are once at the beginning of a side; `prefaceCount` of them.
  package var prefaces: InlineArray<4, Preface> = InlineArray(repeating: Preface())
  /// How many there are.
  package var prefaceCount: UInt8 = 0
  /// Bytes that end every trailer, the first in the highest of `trailerCount` bytes.
  package var trailerBytes: UInt32 = 0
  /// How many bytes end it.
  package var trailerCount: UInt8 = 0
  /// The place of the type of frames whose content cannot be read in `Plan.kinds`; negative where there is none.
  package var unreadable: Int32 = -1
  /// What types have beyond `FrameKind`, by their index.
  var extras: UnsafePointer<KindExtra>?

  /// A plan of frames by a length.
  package init() {}
}

extension GeneralPlan {
  /// Resets the layout of frames.
  package mutating func forgetLayout() { takeLayout(of: GeneralPlan()) }

  /// Copies the layout of frames from `other`: the header, the length, and the positions of values.
  package mutating func takeLayout(of other: GeneralPlan) {
    (parts, partCount) = (other.parts, other.partCount)
    sequence = other.sequence
    (status, statusRule) = (other.status, other.statusRule)
    (statusTexts, statusTextCount) = (other.statusTexts, other.statusTextCount)
    session = other.session
    (coding, digitCount, countsLength) = (other.coding, other.digitCount, other.countsLength)
    (headerParts, headerPartCount) = (other.headerParts, other.headerPartCount)
    lengthFollowsParts = other.lengthFollowsParts
    innerHeader = other.innerHeader
    (duplicate, duplicateValue) = (other.duplicate, other.duplicateValue)
    (wideOffset, wideCount) = (other.wideOffset, other.wideCount)
    channel = other.channel
  }
}

/// A value that replaces another one if that is absent.
package struct Alternative: Sendable, BitwiseCopyable {
  /// The slots of the value and of its replacement.
  package var slot: UInt8 = 0, other: UInt8 = 0

  /// No replacement.
  package init() {}
  /// Replaces `slot` with `other` if it is absent.
  package init(_ slot: UInt8, _ other: UInt8) { (self.slot, self.other) = (slot, other) }
}

/// A part of a header that is present if a number in the header has one of several values.
package struct ConditionalPart: Sendable, BitwiseCopyable {
  /// The number that decides, in a header without parts.
  package var when = Field()
  /// The values with which the part is present; `valueCount` of them. If there are none, any value but 0.
  package var values: InlineArray<8, UInt64> = InlineArray(repeating: 0)
  /// The number of values.
  package var valueCount: UInt8 = 0
  /// Whether the number that decides is the frame's length, as its bytes give it, and not `when`.
  package var isOfLength = false
  /// The offset of the part in a header without parts, in bytes.
  package var at: UInt16 = 0
  /// The size of the part, in bytes.
  package var count: UInt16 = 0

  /// No part.
  package init() {}

  /// Whether a header with that number has the part.
  func isPresent(_ number: UInt64) -> Bool {
    guard valueCount > 0 else { return number != 0 }
    for i in 0..<Int(valueCount) where values[i] == number { return true }
    return false
  }
}

extension Field {
  /// The amount added to an offset that counts from the end of the length.
  package static var afterLength: Int { 4_096 }
  /// The amount added to an offset that counts from the end of the header's parts.
  package static var afterParts: Int { 8_192 }

  /// The same field, moved by `offset` bytes.
  package func moved(by offset: Int) -> Field {
    var field = self
    field.offset &+= Int32(truncatingIfNeeded: offset)
    return field
  }

  /// Whether the offset counts from anything but the header's first byte.
  package var isRelative: Bool { offset >= Self.afterLength }
}

/// Bytes that are once at the beginning of what a side sends.
package struct Preface: Sendable, BitwiseCopyable {
  /// Its first bytes, eight in each number, most significant byte first.
  package var match: InlineArray<4, UInt64> = InlineArray(repeating: 0)
  /// The number of bytes in `match`; 0 if only the length is known.
  package var matchCount: UInt8 = 0
  /// Whether the server sends it.
  package var isFromServer = false
  /// Its length in bytes; 0 where it ends with the first `until`.
  package var count: UInt16 = 0
  /// The byte that ends it.
  package var until: UInt8 = 0
  /// The index of its type.
  package var index: UInt8 = 0

  /// The longest in bytes.
  static var longest: Int { 4_096 }
  /// The value of the type with that index, which nothing on the wire has.
  package static func type(_ index: Int) -> UInt64 { 0x7fff_0000_0001_0000 | UInt64(index) }
  /// Of no bytes.
  package init() {}
}

/// The status that a text means.
package struct StatusText: Sendable, BitwiseCopyable {
  /// The text, as `ContentNumber` has it.
  package var text: UInt64 = 0
  /// The status.
  package var status: UInt64 = 0

  /// No text.
  package init() {}
  /// The status for a text.
  package init(_ text: UInt64, _ status: UInt64) { (self.text, self.status) = (text, status) }
}

/// The one number of 64 bits for a number or a text of a content: equal values have the same one.
package enum ContentNumber {
  /// Numbers below are themselves. The two highest bits are the tracker's.
  private static var limit: UInt64 { 1 << 60 }
  /// The number for a part of a type that is absent.
  package static let absent: UInt64 = 0x7fff_0000_0000_0001
  /// The number for any value in types with `*`.
  package static let any: UInt64 = 0x7fff_0000_0000_0002

  /// The number for `text`: a decimal number without a leading zero is that number, up to seven bytes are kept as they are, and a
  /// longer text is a hash of it.
  package static func of(_ text: some Collection<UInt8>) -> UInt64 {
    if (1...18).contains(text.count), text.allSatisfy({ $0 &- 0x30 < 10 }), text.count == 1 || text.first != 0x30 {
      return text.reduce(0) { $0 * 10 + UInt64($1 &- 0x30) }
    }
    if text.count <= 7 { return limit | text.reduce(0) { $0 << 8 | UInt64($1) } }
    return limit << 1 | FNV1a.hash(text) & (limit << 1 - 1)
  }

  /// The number for a number: itself, or a hash of it where it is longer than 60 bits.
  @inline(__always)
  package static func of(_ number: UInt64) -> UInt64 {
    number < limit ? number : limit << 1 | (number &* GoldenRatio.of64Bits) & (limit << 1 - 1)
  }

  /// The number for a type of several parts.
  @inline(__always)
  package static func combine(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let mixed = (a ^ a &>> 29) &* GoldenRatio.of64Bits
    return ((mixed &<< 7 | mixed &>> 57) ^ b) &* 0x9fb2_1c65_1e98_df25
  }

  /// The number for a type of these parts.
  package static func combined(_ parts: [UInt64]) -> UInt64 {
    parts.dropFirst().reduce(parts.first ?? absent) { combine($0, $1) }
  }

  /// The number for a value of a content; `nil` where it is absent, null or a group.
  @inline(__always)
  static func of(_ value: ContentValue, _ bytes: borrowing Bytes, at origin: Int) -> UInt64? {
    switch value.kind {
    case .number where !value.isNegative && !value.isInexact: of(value.number)
    case .number, .text:
      bytes.span.withUnsafeBytes { raw in
        of(raw[(origin &+ value.offset)..<(origin &+ value.offset &+ value.count)])
      }
    case .flag: value.number
    case .absent, .null, .group: nil
    }
  }
}
