/// The tag of a value in a body. Values without a name are kept as they came.
@frozen
public struct Tag: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
  /// The number on the wire.
  public var rawValue: UInt16

  /// The value with this number.
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// A handshake's question: version and features.
  public static let versionRequest = Tag(rawValue: 0x0001)
  /// Its answer.
  public static let versionResponse = Tag(rawValue: 0x0002)
  /// The number of the message that has been read.
  public static let readReceipt = Tag(rawValue: 0x0010)
  /// The name of a group.
  public static let group = Tag(rawValue: 0x0011)
  /// The offer of a file: its name and size, without its bytes.
  public static let fileTransfer = Tag(rawValue: 0x0012)
  /// Whether a user is there.
  public static let userStatus = Tag(rawValue: 0x0020)
  /// Whether a user is typing.
  public static let typing = Tag(rawValue: 0x0021)
  /// Text in UTF-8.
  public static let text = Tag(rawValue: 0x1001)
  /// The bytes of an image.
  public static let image = Tag(rawValue: 0x1002)
  /// The bytes of a sound.
  public static let audio = Tag(rawValue: 0x1003)
  /// The bytes of a film.
  public static let video = Tag(rawValue: 0x1004)
  /// The bytes of a file.
  public static let file = Tag(rawValue: 0x1005)
  /// A place on the earth.
  public static let location = Tag(rawValue: 0x1006)
  /// What an application makes of it.
  public static let custom = Tag(rawValue: 0x1007)
  /// A list of values again.
  public static let nested = Tag(rawValue: 0xffff)

  // From 0xF000 on, tags are free for applications. These are this library's.

  /// Who the client is, across connections: 16 bytes.
  public static let identity = Tag(rawValue: 0xf001)
  /// The name under which a client can be written to.
  public static let user = Tag(rawValue: 0xf002)
  /// To whom a message goes.
  public static let recipient = Tag(rawValue: 0xf003)
  /// From whom a message comes.
  public static let sender = Tag(rawValue: 0xf004)
  /// Why a handshake was refused.
  public static let refusal = Tag(rawValue: 0xf005)
  /// The first number of each category that is not settled yet.
  public static let unsettled = Tag(rawValue: 0xf006)
  /// The session is over; its connection may go on.
  public static let leave = Tag(rawValue: 0xf007)
  /// Where a message comes from: its number and its time, and before them the device, once a server has written it.
  public static let origin = Tag(rawValue: 0xf020)
  /// Messages that the application has taken, by their numbers: four bytes each.
  public static let delivered = Tag(rawValue: 0xf021)
  /// A message that will not arrive: its number, the reason, and milliseconds after which to try again.
  public static let refused = Tag(rawValue: 0xf022)
  /// The length of a message that goes in pieces, eight bytes; whether it is compressed, and its category.
  public static let transfer = Tag(rawValue: 0xf025)
  /// Where a piece belongs: the name of the transfer and the offset, eight bytes each.
  public static let piece = Tag(rawValue: 0xf026)
  /// The bytes of a piece.
  public static let pieceBytes = Tag(rawValue: 0xf028)
  /// In a piece, empty: the sender asks what of its transfer is there. In the answer: the name of the transfer, eight bytes, and
  /// for each range that is there where it begins and ends, eight bytes each.
  public static let transferHave = Tag(rawValue: 0xf029)
  /// Which process of a client this is: eight bytes, drawn at its start.
  public static let instance = Tag(rawValue: 0xf023)
  /// How many seconds a device is remembered without a connection.
  public static let expiry = Tag(rawValue: 0xf024)
  /// The first number of a message's conversation that had not reached the server when the message did, where that is
  /// not its own: eight bytes.
  public static let missing = Tag(rawValue: 0xf02c)
  /// Whether a user is in a group: a byte, 1 to join and 2 to leave, and the group's name. 3 asks who is in it; the answer has the same
  /// byte, and the names of the group and of its members, each behind its length of two bytes.
  public static let membership = Tag(rawValue: 0xf02a)
  /// What proves that a client is the one that its identity names: 16 bytes that no other client ever sees.
  public static let secret = Tag(rawValue: 0xf02b)
  /// What a client shows to be let in: an application's bytes, at most 4,096.
  public static let token = Tag(rawValue: 0xf02d)
  /// Receipts that name messages by conversation and number.
  public static let namedReceipts = Tag(rawValue: 0xf02e)
  /// Where a message comes from that has been read: the identity of the device, 16 bytes, its number, eight bytes, and the
  /// name of the group, if it went to one.
  public static let readOrigin = Tag(rawValue: 0xf02f)
  /// The SHA-256 of the bytes of a file, an image, a sound or a film that goes in pieces: 32 bytes.
  public static let digest = Tag(rawValue: 0xf030)
  /// Numbers of a message's conversation, before its own, that the server has refused: eight bytes each. They will not come.
  public static let withheld = Tag(rawValue: 0xf031)
  /// The name of a transfer (8 bytes) that is withdrawn.
  public static let withdrawn = Tag(rawValue: 0xf032)
  /// The name of a file, or of a place.
  public static let name = Tag(rawValue: 0xf010)
  /// A media type, such as `image/jpeg`.
  public static let mediaType = Tag(rawValue: 0xf011)
  /// Width and height, four bytes each.
  public static let dimensions = Tag(rawValue: 0xf012)
  /// Milliseconds a sound or film lasts.
  public static let duration = Tag(rawValue: 0xf013)
  /// How many bytes a file has.
  public static let size = Tag(rawValue: 0xf014)
}

/// Why a body is not a list of values.
public enum TLVError: Error, Hashable, Sendable {
  /// A tag of two bytes does not fit.
  case incompleteTag(offset: Int)
  /// A length of four bytes does not fit.
  case incompleteLength(offset: Int)
  /// A value is longer than what is left.
  case incompleteValue(offset: Int, wanted: Int, available: Int)
  /// More than four lists within one another.
  case nestedTooDeep(offset: Int)
  /// A tag stands twice in one list.
  case duplicateTag(Tag, offset: Int)
}

/// One value of a body: where it stands, counted from the body's beginning.
public struct TLVElement: Hashable, Sendable {
  /// Its tag.
  public var tag: Tag
  /// Its bytes.
  public var value: Range<Int>
  /// How many lists are around the list it stands in: 0 for the body's own.
  public var depth: Int
}

/// Reads and writes values: tag in two bytes, length in four, the bytes of the value.
public enum TLV {
  /// Bytes before each value.
  @inlinable public static var headCount: Int { 6 }
  /// How deep lists may stand within one another.
  public static let maximumDepth = 4

  /// All values of `body` in the order of their beginnings, those of nested lists after the value that holds them.
  ///
  /// The whole body is looked at: one fault anywhere, and nothing is read.
  public static func elements(of body: RawSpan) throws(TLVError) -> [TLVElement] {
    var found: [TLVElement] = []
    try read(body, 0..<body.byteCount, depth: 0, into: &found)
    return found
  }

  private static func read(_ body: RawSpan, _ range: Range<Int>, depth: Int, into found: inout [TLVElement])
    throws(TLVError)
  {
    var tags: Set<Tag> = []
    var offset = range.lowerBound
    while offset < range.upperBound {
      let element = try element(of: body, at: offset, end: range.upperBound, depth: depth)
      guard tags.insert(element.tag).inserted else { throw .duplicateTag(element.tag, offset: offset) }
      found.append(element)
      if element.tag == .nested {
        guard depth < maximumDepth else { throw .nestedTooDeep(offset: offset) }
        try read(body, element.value, depth: depth + 1, into: &found)
      }
      offset = element.value.upperBound
    }
  }

  private static func element(of body: RawSpan, at offset: Int, end: Int, depth: Int) throws(TLVError) -> TLVElement {
    guard end - offset >= 2 else { throw .incompleteTag(offset: offset) }
    guard end - offset >= headCount else { throw .incompleteLength(offset: offset + 2) }
    let tag = Tag(rawValue: UInt16(bigEndian: body.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    let count = Int(UInt32(bigEndian: body.unsafeLoadUnaligned(fromByteOffset: offset + 2, as: UInt32.self)))
    let start = offset + headCount
    guard count <= end - start else {
      throw .incompleteValue(offset: start, wanted: count, available: end - start)
    }
    return TLVElement(tag: tag, value: start..<start + count, depth: depth)
  }

  /// The bytes of the first value with `tag` in the outermost list, without looking at more than is needed for it.
  static func value(of tag: Tag, in body: RawSpan) -> Range<Int>? {
    var offset = 0
    while let element = try? element(of: body, at: offset, end: body.byteCount, depth: 0) {
      if element.tag == tag { return element.value }
      offset = element.value.upperBound
    }
    return nil
  }

  /// Appends the values of the outermost list of `body` that have none of `tags`, and after them what is no value, as it is.
  /// One pass, whatever the body holds.
  static func append(_ body: [UInt8], without tags: Set<Tag>, to rest: inout [UInt8]) {
    let bytes = body.span.bytes
    var (kept, offset) = (0, 0)
    while let element = try? element(of: bytes, at: offset, end: bytes.byteCount, depth: 0) {
      if tags.contains(element.tag) {
        rest.append(contentsOf: body[kept..<offset])
        kept = element.value.upperBound
      }
      offset = element.value.upperBound
    }
    rest.append(contentsOf: body[kept...])
  }

  /// Appends a value.
  static func append(_ tag: Tag, _ value: some Collection<UInt8>, to body: inout [UInt8]) {
    append(head: tag, count: value.count, to: &body)
    body.append(contentsOf: value)
  }

  /// Appends a list of values that `fill` appends.
  static func appendNested(to body: inout [UInt8], _ fill: (inout [UInt8]) -> Void) {
    let start = body.count
    append(head: .nested, count: 0, to: &body)
    fill(&body)
    let count = UInt32(truncatingIfNeeded: body.count - start - headCount)
    for index in 0..<4 { body[start + 2 + index] = UInt8(truncatingIfNeeded: count >> UInt32(24 - index * 8)) }
  }

  /// Appends the tag and the length of a value whose bytes follow.
  static func append(head tag: Tag, count: Int, to body: inout [UInt8]) {
    body.append(contentsOf: bigEndian(tag.rawValue))
    body.append(contentsOf: bigEndian(UInt32(truncatingIfNeeded: count)))
  }

  /// The bytes of `number`, most significant first.
  package static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
    (0..<number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (number.bitWidth - 8 - $0 * 8)) }
  }

  /// The number in the bytes of `range`, most significant first: at most eight count.
  static func number(_ body: RawSpan, _ range: Range<Int>) -> UInt64 {
    var value: UInt64 = 0
    for offset in range.prefix(8) {
      value = value << 8 | UInt64(body.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
    }
    return value
  }
}
