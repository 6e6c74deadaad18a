import IMTestSupport
import IMWire

/// A conversation whose messages the test itself wrote: it knows which bytes of which stream each message has, and which
/// packet carried them. What an engine finds is compared with that.
struct Talk {
  /// One message as it was written.
  struct Message {
    var direction: Direction
    var bytes: [UInt8]
    /// Its place in its direction's stream.
    var range: Range<Int>
  }

  /// One segment with payload.
  struct Piece {
    /// Its place in `packets`.
    var packet: Int
    var direction: Direction
    var range: Range<Int>
  }

  private(set) var conversation: ConversationBuilder
  private(set) var messages: [Message] = []
  private(set) var pieces: [Piece] = []
  private var lengths = [0, 0]
  private var clock: Int64 = 1_700_000_000_000

  static let phone = Endpoint(address: IPAddress(v4: 0xc000_0215), port: 40_001)

  static func server(_ port: UInt16) -> Endpoint { Endpoint(address: IPAddress(v4: 0xcb00_710a), port: port) }

  init(port: UInt16, segmentSize: Int = 1_448, initial: (UInt32, UInt32) = (1_000, 5_000)) {
    conversation = ConversationBuilder(client: Self.phone, server: Self.server(port), initial: initial)
    conversation.segmentSize = segmentSize
    conversation.open(at: tick())
  }

  /// All packets, in the order of their times.
  var packets: [TimedPacket] { conversation.packets }

  /// One side writes whole messages in one go; the other's TCP acknowledges every segment.
  mutating func say(_ direction: Direction, _ texts: [UInt8]...) { say(direction, texts) }

  mutating func say(_ direction: Direction, _ texts: [[UInt8]]) {
    let way = Int(direction.rawValue)
    var at = lengths[way]
    let start = at
    for text in texts {
      messages.append(Message(direction: direction, bytes: text, range: at..<at + text.count))
      at += text.count
    }
    for slot in conversation.send(texts.flatMap { $0 }, direction, at: tick()) {
      let first =
        start
        + (pieces.filter { $0.direction == direction && $0.range.lowerBound >= start }.last.map {
          $0.range.upperBound - start
        } ?? 0)
      pieces.append(
        Piece(packet: slot, direction: direction, range: first..<min(first + conversation.segmentSize, at)))
    }
    lengths[way] = at
  }

  /// Both sides say goodbye.
  mutating func close() { conversation.close(.fin(by: .clientToServer), at: tick()) }

  private mutating func tick() -> Timestamp {
    clock += 20
    return Timestamp(milliseconds: clock)
  }

  /// The messages that lie outside of `lost` ranges of their streams.
  func messages(without lost: [(direction: Direction, range: Range<Int>)]) -> [Message] {
    messages.filter { message in
      !lost.contains { $0.direction == message.direction && $0.range.overlaps(message.range) }
    }
  }
}

/// What makes two messages the same: direction and bytes. Sorted, so that only what came counts, not when.
struct Said: Hashable, Comparable, CustomStringConvertible {
  var direction: UInt8
  var bytes: [UInt8]

  static func < (a: Said, b: Said) -> Bool {
    a.direction != b.direction ? a.direction < b.direction : a.bytes.lexicographicallyPrecedes(b.bytes)
  }

  var description: String {
    "\(direction == 0 ? "client" : "server") \(bytes.count): "
      + bytes.prefix(48).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}

extension Collection<Talk.Message> {
  var said: [Said] { map { Said(direction: $0.direction.rawValue, bytes: $0.bytes) }.sorted() }
}

extension Run {
  var said: [Said] { frames.map { Said(direction: $0.direction.rawValue, bytes: $0.bytes) }.sorted() }
}

/// How two sorted lists differ, in words; `nil` when they do not.
func difference(_ found: [Said], _ expected: [Said]) -> String? {
  if found == expected { return nil }
  let change = found.difference(from: expected)
  return change.map { step in
    switch step {
    case .insert(_, let element, _): "too many: \(element)"
    case .remove(_, let element, _): "missing: \(element)"
    }
  }.joined(separator: "; ")
}
