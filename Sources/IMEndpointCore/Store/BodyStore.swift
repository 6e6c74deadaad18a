/// Reads the bytes of a large body: of a file, or of what a store keeps.
///
/// It is used on one thread at a time, that of the core which has it, and must not wait for long.
public protocol BodyReader: AnyObject, Sendable {
  /// How many bytes there are.
  var byteCount: Int { get }
  /// `count` bytes from `offset`; `nil` when they cannot be read any more.
  func read(at offset: Int, count: Int) -> [UInt8]?
  /// Whether it computes a digest: by default it does.
  var hasDigest: Bool { get }
  /// The SHA-256 of all bytes, 32 bytes; `nil` when they cannot be read.
  func digest() -> [UInt8]?
}

extension BodyReader {
  /// See `BodyReader`.
  public var hasDigest: Bool { true }
}

/// Keeps large bodies that arrive in pieces, outside of memory.
///
/// A core writes each piece as it comes, in any order, and notes what it has in a record of at most a few hundred bytes, which an
/// earlier process's successor gets back. It is used on one thread at a time, and its calls must not wait for long.
public protocol BodyStore: AnyObject, Sendable {
  /// Writes bytes of a body, which begins with the first of them; false when there is no room, or another error.
  func write(_ bytes: RawSpan, of body: UInt64, at offset: Int) -> Bool
  /// Notes what is known of a body that is not whole, in place of what was noted before; `nil`: it is whole.
  func note(_ record: [UInt8]?, of body: UInt64)
  /// Reads a body, also what is written after the call; `nil` when there is none of that name.
  func reader(of body: UInt64) -> (any BodyReader)?
  /// Forgets a body and its record.
  func remove(_ body: UInt64)
  /// The records that were noted last, of bodies that are not whole.
  func records() -> [(body: UInt64, record: [UInt8])]
}

/// The body of a large message, whose bytes are read when their turn comes.
struct BodySource: Sendable {
  private enum Part: Sendable {
    case bytes([UInt8])
    case stored(any BodyReader, offset: Int, count: Int)
    /// The digest of what a reader reads, which it knows when it has read all.
    case digest(any BodyReader)

    var count: Int {
      switch self {
      case .bytes(let bytes): bytes.count
      case .stored(_, _, let count): count
      case .digest: 32
      }
    }
  }

  private var parts: [Part] = []
  /// Bytes of all parts.
  private(set) var count = 0

  init() {}

  init(_ bytes: [UInt8]) { append(bytes) }

  mutating func append(_ bytes: [UInt8]) { append(.bytes(bytes)) }
  mutating func append(_ reader: any BodyReader, _ range: Range<Int>) {
    append(.stored(reader, offset: range.lowerBound, count: range.count))
  }
  mutating func append(digestOf reader: any BodyReader) { append(.digest(reader)) }

  private mutating func append(_ part: Part) {
    guard part.count > 0 else { return }
    parts.append(part)
    count += part.count
  }

  /// Appends `count` bytes from `offset` to `output`, as far as there are so many; false when they cannot be read.
  func read(_ range: Range<Int>, into output: inout [UInt8]) -> Bool {
    var start = 0
    for part in parts {
      let (first, end) = (max(range.lowerBound, start), min(range.upperBound, start + part.count))
      if first < end {
        let local = first - start..<end - start
        switch part {
        case .bytes(let bytes): output += bytes[local]
        case .stored(let reader, let offset, _):
          guard let bytes = reader.read(at: offset + local.lowerBound, count: local.count), bytes.count == local.count
          else { return false }
          output += bytes
        case .digest(let reader):
          guard let digest = reader.digest(), digest.count == 32 else { return false }
          output += digest[local]
        }
      }
      start += part.count
      if start >= range.upperBound { break }
    }
    return true
  }
}

/// A body that a client's or a server's store has, for an application.
public struct StoredContent: Hashable, Sendable, BitwiseCopyable {
  /// Its name in the store.
  public var body: UInt64
  /// Its bytes.
  public var byteCount: Int

  /// The content of its parts.
  public init(body: UInt64, byteCount: Int) {
    self.body = body
    self.byteCount = byteCount
  }
}

/// How far a large message is.
public struct TransferProgress: Hashable, Sendable, BitwiseCopyable {
  /// Bytes that are where they belong: at the server, or here.
  public var byteCount: Int
  /// Bytes in all. A body has a few more than the file in it.
  public var total: Int

  /// Progress of its parts.
  public init(byteCount: Int, total: Int) {
    self.byteCount = byteCount
    self.total = total
  }
}
