import IMWire

/// One side of a connection, and with it the direction in which it sends.
struct FlowSide: BitwiseCopyable {
  let flow: Ref<Flow>
  /// The flow's place in the table.
  let index: UInt32
  /// 0 or 1, as `FlowKey` counts sides.
  let number: Int

  @inline(__always)
  init(_ flow: Ref<Flow>, _ index: UInt32, _ number: Int) {
    self.flow = flow
    self.index = index
    self.number = number
  }

  /// The same where the flow's place is not at hand.
  init(_ flow: Ref<Flow>, _ number: Int) { self.init(flow, flow.pointee.index, number) }

  /// The other side.
  @inline(__always)
  var peer: FlowSide { FlowSide(flow, index, 1 &- number) }
  /// What is known of the direction in which it sends.
  @inline(__always)
  var state: Ref<DirectionState> { flow.state(number) }
  /// What of that is seldom asked for.
  @inline(__always)
  var tail: Ref<ColdDirectionState> { flow.tail(number) }
  /// The direction in which it sends.
  @inline(__always)
  var direction: Direction { flow.pointee.direction(number) }
}

/// Both sides of a connection, one after the other.
struct FlowSides: Sequence, IteratorProtocol {
  private var side: FlowSide
  private var left = 2

  /// The sides of its connection, `first` first.
  init(_ first: FlowSide) { side = first }

  mutating func next() -> FlowSide? {
    guard left > 0 else { return nil }
    left -= 1
    defer { side = side.peer }
    return side
  }
}

extension FlowSide {
  /// This side, and then the other.
  var both: FlowSides { FlowSides(self) }
}

extension Ref<Flow> {
  /// Both sides.
  var sides: FlowSides { FlowSides(FlowSide(self, 0)) }
}

/// Bytes of a stream that have become contiguous together: where they stand in a buffer, and what brought them.
struct StreamChunk: BitwiseCopyable {
  /// Where the first of them stands.
  var offset: Int
  /// How many they are; half a word, so that a chunk travels in four registers.
  private var length: Int32
  /// The acknowledgment number of the packet that brought them; 0 where it is not known.
  let acknowledged: UInt32
  /// When the packet came that made them contiguous.
  let timestamp: Timestamp
  /// That packet's number in the capture.
  let number: UInt64

  /// Bytes from `offset` on, fewer than 2³¹.
  @inline(__always)
  init(offset: Int, count: Int, timestamp: Timestamp, number: UInt64, acknowledged: UInt32 = 0) {
    self.offset = offset
    length = Int32(truncatingIfNeeded: count)
    self.acknowledged = acknowledged
    self.timestamp = timestamp
    self.number = number
  }

  /// How many they are.
  @inline(__always)
  var count: Int {
    get { Int(length) }
    set { length = Int32(truncatingIfNeeded: newValue) }
  }

  /// Where they end.
  @inline(__always)
  var end: Int { offset &+ count }

  /// Those from `offset` on.
  @inline(__always)
  func from(_ offset: Int) -> StreamChunk {
    StreamChunk(
      offset: offset, count: end &- offset, timestamp: timestamp, number: number, acknowledged: acknowledged)
  }

  /// The first `count` of them.
  func prefix(_ count: Int) -> StreamChunk {
    StreamChunk(offset: offset, count: count, timestamp: timestamp, number: number, acknowledged: acknowledged)
  }
}
