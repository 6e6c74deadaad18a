import IMWire

/// A large message on its way in.
struct IncomingTransfer: Sendable {
  /// Where a piece belongs.
  struct Piece: Equatable, Sendable {
    var size: Int
    var compression: UInt8
    var category: SequenceCategory
    var name: UInt64
    var offset: Int
    /// Where its bytes are in the frame's body.
    var bytes: Range<Int>
    /// Whether the sender asks what is here.
    var asks: Bool

    var isLast: Bool { offset + bytes.count == size }
    /// The bytes of the message that it holds.
    var range: Range<Int> { offset..<offset + bytes.count }

    /// Reads the body of a piece; `nil` when it is none, or says what cannot be.
    init?(_ body: RawSpan) {
      guard let head = TLV.value(of: .transfer, in: body), head.count == 10,
        let place = TLV.value(of: .piece, in: body), place.count == 16,
        let bytes = TLV.value(of: .pieceBytes, in: body), !bytes.isEmpty
      else { return nil }
      let size = TLV.number(body, head.lowerBound..<head.lowerBound + 8)
      let offset = TLV.number(body, place.lowerBound + 8..<place.upperBound)
      // What is larger is no size, and no sum of such sizes overflows.
      guard size <= 1 << 48, offset < size, size - offset >= UInt64(bytes.count) else { return nil }
      self.size = Int(size)
      self.offset = Int(offset)
      self.bytes = bytes
      compression = UInt8(truncatingIfNeeded: TLV.number(body, head.lowerBound + 8..<head.lowerBound + 9))
      let category = UInt8(truncatingIfNeeded: TLV.number(body, head.lowerBound + 9..<head.upperBound))
      self.category = SequenceCategory(rawValue: category) ?? .media
      name = TLV.number(body, place.lowerBound..<place.lowerBound + 8)
      asks = TLV.value(of: .transferHave, in: body) != nil
    }
  }

  /// Where the bytes of a message go.
  enum Keeping: Sendable {
    /// Nowhere: they are counted.
    case nothing
    /// Into memory, of messages of at most so many bytes.
    case memory(limit: Int)
    /// Into a store, whole, under this name.
    case store(any BodyStore, body: UInt64)
    /// What a file or a picture consists of into a store, the rest into memory; all of it, of messages of at most so many bytes,
    /// where it has no such content.
    case content(any BodyStore, body: UInt64, limit: Int)
  }

  /// What a store has of a message.
  struct Stored: Sendable {
    var body: UInt64
    /// Where it belongs in the message.
    var content: Range<Int>
    var prefix: [UInt8] = []
    var suffix: [UInt8] = []

    /// The message without its content: its head says that there are no bytes.
    var head: [UInt8] { prefix.isEmpty ? [] : prefix.dropLast(4) + [0, 0, 0, 0] + suffix }
  }

  /// A message that is whole.
  enum Whole: Sendable {
    case bytes([UInt8])
    case stored(Stored)
  }

  /// Ranges of one body; a peer that leaves more gaps is refused.
  private static var mostRanges: Int { 1_024 }

  let size: Int
  let compression: UInt8
  let category: SequenceCategory
  /// What has come.
  private(set) var ranges = ByteRanges()
  /// In memory: what has come without a gap, and what has come after one, by its offset. So it takes the memory of what has come,
  /// whatever it says of itself.
  private var body: [UInt8] = []
  private var early: [Int: [UInt8]] = [:]
  private(set) var stored: Stored?
  /// The last piece, which is not acknowledged before the others are there.
  var last: FrameHeader?
  /// Bytes that were there when the application was last notified.
  var reported = 0

  /// What surrounds the content of a message that goes to a store.
  private static var mostAround: Int { 64 << 10 }

  init(_ piece: Piece) {
    size = piece.size
    compression = piece.compression
    category = piece.category
  }

  /// Bytes that have come.
  var byteCount: Int { ranges.total }
  var isWhole: Bool { byteCount >= size }
  /// Bytes that have come from the beginning without a gap.
  var contiguous: Int { ranges.all.first.map { $0.lowerBound == 0 ? $0.upperBound : 0 } ?? 0 }

  /// Whether a piece can be of this message.
  func matches(_ piece: Piece) -> Bool { size == piece.size }

  /// Takes a piece in; false when there is no room for it. What has come before is passed over.
  mutating func take(_ piece: Piece, _ frame: RawSpan, _ keeping: Keeping) -> Bool {
    let missing = ranges.missing(in: piece.range)
    guard ranges.all.count < Self.mostRanges else { return false }
    let bytes = frame.extracting(piece.bytes)
    switch keeping {
    case .nothing: break
    case .memory(let limit): guard size <= limit else { return false }
    case .store(let store, let body):
      if stored == nil { stored = Stored(body: body, content: 0..<size) }
      guard write(missing, bytes, piece.offset, store) else { return false }
    case .content(let store, let body, let limit):
      if stored == nil, piece.offset == 0, compression == 0, let content = content(bytes) {
        stored = Stored(body: body, content: content)
        stored?.prefix = bytes.extracting(0..<content.lowerBound).withUnsafeBytes { [UInt8]($0) }
        stored?.suffix = [UInt8](repeating: 0, count: size - content.upperBound)
        for (offset, bytes) in early {
          guard write([offset..<offset + bytes.count], bytes.span.bytes, offset, store) else { return false }
        }
        early = [:]
      }
      if stored != nil {
        guard write(missing, bytes, piece.offset, store) else { return false }
      } else if size > limit, piece.offset == 0 || byteCount > limit {
        return false
      }
    }
    if case .nothing = keeping {
    } else if stored == nil {
      for part in missing {
        let bytes = bytes.extracting(part.lowerBound - piece.offset..<part.upperBound - piece.offset)
          .withUnsafeBytes { [UInt8]($0) }
        if body.count == part.lowerBound { body += bytes } else { early[part.lowerBound] = bytes }
      }
      while let next = early.removeValue(forKey: body.count) { body += next }
    }
    for part in missing { ranges.insert(part) }
    return true
  }

  /// Writes parts of a piece to where they belong.
  private mutating func write(_ parts: [Range<Int>], _ bytes: RawSpan, _ offset: Int, _ store: any BodyStore) -> Bool {
    guard let known = stored else { return false }
    for part in parts {
      let inside = part.clamped(to: known.content)
      if !inside.isEmpty {
        let local = inside.lowerBound - offset..<inside.upperBound - offset
        guard store.write(bytes.extracting(local), of: known.body, at: inside.lowerBound - known.content.lowerBound)
        else { return false }
      }
      for place in part.clamped(to: known.content.upperBound..<size) {
        stored?.suffix[place - known.content.upperBound] = bytes.unsafeLoad(
          fromByteOffset: place - offset, as: UInt8.self)
      }
    }
    return true
  }

  /// Where the content of a message is whose first bytes these are; `nil` where it has none that is longer than they are.
  private func content(_ bytes: RawSpan) -> Range<Int>? {
    var offset = 0
    while offset + TLV.headCount <= bytes.byteCount {
      let tag = Tag(rawValue: UInt16(truncatingIfNeeded: TLV.number(bytes, offset..<offset + 2)))
      let count = Int(TLV.number(bytes, offset + 2..<offset + 6))
      let start = offset + TLV.headCount
      guard count <= size - start else { return nil }
      if start + count > bytes.byteCount {
        let end = start + count
        return tag.isMedia && start <= Self.mostAround && size - end <= Self.mostAround ? start..<end : nil
      }
      offset = start + count
    }
    return nil
  }

  /// The message, once it is whole.
  consuming func finished() -> Whole { stored.map { .stored($0) } ?? .bytes(body) }
}

extension Tag {
  /// Whether its value is the bytes of a file, an image, a sound or a film.
  var isMedia: Bool {
    switch self {
    case .image, .audio, .video, .file: true
    default: false
    }
  }
}

// What is noted of a message that is not whole, for the next process.
extension IncomingTransfer {
  /// The record of a transfer of `owner`, 16 bytes.
  func record(name: UInt64, owner: [UInt8]) -> [UInt8]? {
    guard let stored else { return nil }
    var record: [UInt8] = [1] + owner
    for number in [name, UInt64(size), UInt64(stored.content.lowerBound), UInt64(stored.content.upperBound)] {
      record += TLV.bigEndian(number)
    }
    record += [compression, category.rawValue]
    record += TLV.bigEndian(UInt32(truncatingIfNeeded: stored.prefix.count)) + stored.prefix
    record += TLV.bigEndian(UInt32(truncatingIfNeeded: stored.suffix.count)) + stored.suffix
    for range in ranges.all {
      record += TLV.bigEndian(UInt64(range.lowerBound)) + TLV.bigEndian(UInt64(range.upperBound))
    }
    return record + TLV.bigEndian(Checksum.of(record.span.bytes))
  }

  /// A transfer of an earlier process, and its name, if its record is whole and of `owner`.
  init?(record: [UInt8], body: UInt64, name: inout UInt64, owner: inout [UInt8]) {
    guard record.count >= 63, record[0] == 1 else { return nil }
    let whole = record.span.bytes
    let end = record.count - 4
    let bytes = whole.extracting(0..<end)
    guard TLV.number(whole, end..<record.count) == UInt64(Checksum.of(bytes)) else { return nil }
    func number(_ offset: Int, _ count: Int) -> UInt64 { TLV.number(bytes, offset..<offset + count) }
    let numbers = (0..<4).map { number(17 + 8 * $0, 8) }
    guard numbers[1] <= 1 << 48, numbers[2] <= numbers[3], numbers[3] <= numbers[1] else { return nil }
    var offset = 51
    func block() -> [UInt8]? {
      guard end - offset >= 4 else { return nil }
      let count = Int(number(offset, 4))
      guard end - offset - 4 >= count else { return nil }
      defer { offset += 4 + count }
      return Array(record[offset + 4..<offset + 4 + count])
    }
    guard let prefix = block(), let suffix = block() else { return nil }
    size = Int(numbers[1])
    compression = record[49]
    category = SequenceCategory(rawValue: record[50]) ?? .media
    stored = Stored(body: body, content: Int(numbers[2])..<Int(numbers[3]), prefix: prefix, suffix: suffix)
    guard prefix.isEmpty || prefix.count == Int(numbers[2]), suffix.count == size - Int(numbers[3]) else { return nil }
    while end - offset >= 16 {
      let (first, last) = (number(offset, 8), number(offset + 8, 8))
      guard first < last, last <= numbers[1] else { return nil }
      ranges.insert(Int(first)..<Int(last))
      offset += 16
    }
    name = numbers[0]
    owner = Array(record[1..<17])
  }
}
