package import IMWire

/// What a fate means for counts: enough of an exchange for success, loss, causes and round trips. 16 bytes.
package struct Resolution: Sendable, BitwiseCopyable {
  /// The round trip in microseconds, `.max` where there is none; see `Exchange.roundTrip`.
  private var delay: UInt32
  /// The server's index, as in `ConnectionInfo.endpoint`.
  package var endpoint: UInt32
  /// The serial number of the connection of its first copy.
  package var connection: UInt32
  /// The index of the plan that decodes it.
  package var plan: UInt8
  /// Its type, by `FrameKind.index`.
  package var kind: UInt8
  /// What it has come to.
  package var outcome: FateAndCause
  /// What is known of it.
  package var flags: Exchange.Flags
  /// The number in `StatusTable` of the answer's status; 0 without one.
  package var status: UInt16

  /// The resolution of `exchange`, whose server has the index `endpoint`.
  @inline(__always)
  package init(_ exchange: Exchange, endpoint: UInt32) {
    delay = exchange.roundTrip.map { UInt32(truncatingIfNeeded: $0.microseconds) } ?? .max
    self.endpoint = endpoint
    connection = exchange.connection
    plan = exchange.plan
    kind = exchange.kind
    outcome = exchange.outcome
    flags = exchange.flags
    status = exchange.status
  }

  /// The resolution of a kept exchange, whose server has the index `endpoint`.
  @inline(__always)
  init(_ exchange: Ref<KeptExchange>, endpoint: UInt32) {
    delay = exchange.pointee.roundTripDelay
    self.endpoint = endpoint
    connection = exchange.pointee.connection
    plan = exchange.pointee.plan
    kind = exchange.pointee.kind
    outcome = exchange.pointee.outcome
    flags = exchange.pointee.flags
    status = exchange.pointee.status
  }

  /// The round trip in whole microseconds, where there is one.
  package var roundTrip: Nanoseconds? { delay == .max ? nil : .microseconds(Int64(delay)) }
  /// Of one whose answer came late, what was told when its time was over.
  package var beforeLate: Resolution {
    var before = self
    before.delay = .max
    before.flags.remove(.late)
    before.outcome = outcome.decidedBefore
    return before
  }
  /// What became of it.
  package var fate: Fate { outcome.fate }
  /// Whether it was answered after one copy and in time: nearly all are.
  package var isPlain: Bool { outcome.isAcked && !flags.contains(.late) }
  /// Of one that `isPlain`, at its place: its direction and its round trip in microseconds, `.max` where there is none; `nil` of
  /// any other. One call for who counts many.
  package static func plain(_ place: UnsafePointer<Resolution>) -> (direction: Direction, roundTrip: UInt32)? {
    place.pointee.isPlain ? (place.pointee.direction, place.pointee.delay) : nil
  }
  /// The direction of its copies.
  package var direction: Direction {
    flags.rawValue & Exchange.Flags.fromServer.rawValue == 0 ? .clientToServer : .serverToClient
  }
}

/// Settlements that wait to be told together.
struct ResolutionBatch: ~Copyable {
  private static var capacity: Int { 512 }
  private let places: UnsafeMutablePointer<Resolution>
  private(set) var count = 0

  init() { places = .allocate(capacity: Self.capacity) }

  deinit { places.deallocate() }

  var isFull: Bool { count == Self.capacity }
  var span: Span<Resolution> {
    @_lifetime(borrow self) get {
      _overrideLifetime(Span(_unsafeStart: places, count: count), borrowing: self)
    }
  }

  /// Adds one; there is room.
  @inline(__always)
  mutating func append(_ resolution: Resolution) {
    (places + count).initialize(to: resolution)
    count &+= 1
  }

  mutating func clear() { count = 0 }
}
