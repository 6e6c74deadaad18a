/// A message that a server is responsible for: as it goes to every device of its recipient's.
struct Letter: Sendable {
  /// Counts up in the order in which letters were accepted.
  var id: MessageID
  var body: [UInt8]
  /// Whether `body` is in zlib's format.
  var isCompressed: Bool
  var category: SequenceCategory
  /// The device it came from.
  var sender: DeviceID
  var at: Instant
  /// Whether a device of the recipient's has it.
  var isDelivered = false
  /// Whether it is for the other devices of its sender's alone.
  var skipsSender = false
  /// The body, where a store has most of it; then `body` is empty.
  var large: LargeBody?

  /// What a letter costs beside its body.
  static var overhead: Int { 256 }
  /// Bytes that it counts for.
  var byteCount: Int { count + Self.overhead }
  /// Bytes of its body.
  var count: Int { large?.source.count ?? body.count }
  /// Bytes that it counts for while it is under way to a device: a large one goes in pieces, and others pass beside it.
  var cost: Int { min(count, OutgoingTransfer.least) }
}

/// The body of a letter that a store has: what the server adds, and parts of what its sender has sent.
final class LargeBody: Sendable {
  /// Its name in the store, and the name of the transfer to every device.
  let body: UInt64
  let prefix: [UInt8]
  let parts: [Range<Int>]
  let source: BodySource

  init(_ body: UInt64, prefix: [UInt8], parts: [Range<Int>], _ reader: any BodyReader) {
    (self.body, self.prefix, self.parts) = (body, prefix, parts)
    var source = BodySource(prefix)
    for part in parts { source.append(reader, part) }
    self.source = source
  }
}

/// The letters of one user: a log, of which each device has read a part.
///
/// A letter goes when a device has it and every device that is waited for has it. So a process that is gone costs nothing
/// and loses nothing, and a device that was away gets all.
struct Mailbox: Sendable {
  let user: String
  /// The place of the oldest letter; places count up for ever.
  private(set) var base: UInt64 = 0
  private var letters = FIFOQueue<Letter>(keeping: 256)
  /// Bytes of all letters.
  private(set) var byteCount = 0
  /// The devices that are waited for.
  var devices: [Int32] = []
  /// Whether a device of the user's was ever here.
  var isVisited = false
  /// It has no owner: its slot is free.
  var isFree = false

  init(user: String) { self.user = user }

  /// Letters.
  var count: Int { letters.count }
  /// The place of the next letter.
  var end: UInt64 { base + UInt64(count) }

  /// The letter at `place`; `nil` when it is gone.
  subscript(place: UInt64) -> Letter? {
    guard place >= base, place < end else { return nil }
    return letters[Int(place - base)]
  }

  mutating func append(_ letter: Letter) {
    letters.append(letter)
    byteCount += letter.byteCount
  }

  mutating func setDelivered(_ place: UInt64) {
    guard place >= base, place < end else { return }
    letters[Int(place - base)]?.isDelivered = true
  }

  /// Takes the oldest out.
  mutating func removeFirst() -> Letter? {
    guard let letter = letters.popFirst() else { return nil }
    base += 1
    byteCount -= letter.byteCount
    return letter
  }

  /// The place of the first letter whose number is `id` or larger.
  func firstPlace(after id: MessageID) -> UInt64 {
    var (low, high) = (0, letters.count)
    while low < high {
      let middle = (low + high) / 2
      if let letter = letters[middle], letter.id < id { low = middle + 1 } else { high = middle }
    }
    return base + UInt64(low)
  }

  /// The place of the letter with this number, which is looked for by halves.
  func place(of id: MessageID) -> UInt64? {
    var (low, high) = (0, letters.count)
    while low < high {
      let middle = (low + high) / 2
      guard let letter = letters[middle] else { return nil }
      if letter.id == id { return base + UInt64(middle) }
      if letter.id < id { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}

/// How far a device has read its user's mailbox.
struct MailboxCursor: Sendable {
  /// Letters that may be under way to a device at once.
  static var width: UInt64 { 1_024 }

  /// The device has every letter before this place, or does not want it.
  private(set) var done: UInt64
  /// The next letter to send.
  var next: UInt64
  private var bits: InlineArray<16, UInt64> = .init(repeating: 0)

  init(at place: UInt64) {
    done = place
    next = place
  }

  /// Whether another letter may be sent.
  var isOpen: Bool { next - done < Self.width }

  /// Whether the device has the letter at `place`.
  func has(_ place: UInt64) -> Bool {
    if place < done { return true }
    return place - done < Self.width && bits[Self.word(place)] & Self.bit(place) != 0
  }

  /// The device has the letter at `place`, which was sent to it. False when it was known to have it.
  mutating func add(_ place: UInt64) -> Bool {
    guard place >= done, place < next, place - done < Self.width, !has(place) else { return false }
    bits[Self.word(place)] |= Self.bit(place)
    while done < next, bits[Self.word(done)] & Self.bit(done) != 0 {
      bits[Self.word(done)] &= ~Self.bit(done)
      done += 1
    }
    return true
  }

  private static func word(_ place: UInt64) -> Int { Int(place % width / 64) }
  private static func bit(_ place: UInt64) -> UInt64 { 1 << (place & 63) }
}
