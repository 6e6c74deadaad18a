import IMWire

/// Implicit sequence numbers: how many frames of some types each side of a connection, or of a channel, has sent, by which the other side
/// acknowledges them.
///
/// After a hole, and from the middle of a connection, the count is relative. An acknowledgment is never ahead of what was sent, so that
/// the greatest number which acknowledgments give the first frame counted is the true one or less. It is used once two of them gave it.
struct ImplicitCounters: ~Copyable {
  /// One channel's frames of one direction.
  struct Key: Hashable {
    /// The connection's serial number.
    var serial: UInt32
    /// The channel; 0 without channels.
    var channel: UInt16
    /// The direction of the frames that are counted.
    var direction: Direction

    /// What says that the capture lacks bytes of the direction.
    var ofAnyChannel: Key { Key(serial: serial, channel: .max, direction: direction) }
  }

  /// How far one has come.
  private struct Counter {
    /// Frames since the counter began, or since the last hole.
    var count: UInt32 = 0
    /// The number of the first of them.
    var base: UInt32
    /// Whether it is the true one.
    var isAnchored: Bool
    /// Acknowledgments that gave it, since it rose last.
    var hits: UInt8 = 0
  }

  /// Counters that are kept; when there are more, all begin anew from what acknowledgments tell.
  private static var maximumCount: Int { 65_536 }
  /// Channels of one connection beyond which frames have no number.
  private static var maximumChannels: UInt16 { 64 }
  /// Acknowledgments after which a number is believed.
  private static var neededHits: UInt8 { 2 }

  /// Those of each connection, by its serial number, and how many there are in all.
  private var connections: [UInt32: [Key: Counter]] = [:]
  private var total = 0
  /// Whether counters were forgotten for want of room: then a side without one may count all the same.
  private var hasForgotten = false

  /// A counter begins: the next frame has the number `first`.
  mutating func start(_ key: Key, first: UInt32) {
    guard makeRoom(for: key) else { return }
    self[key] = Counter(base: first, isAnchored: true)
  }

  /// What a frame is that is counted.
  enum Number {
    /// Its number.
    case known(UInt32)
    /// It has one, which is not known.
    case unknown
    /// Its side does not count.
    case none
  }

  /// Counts a frame. `isWhole` says that the connection is known from its beginning, so that one without a counter does not count.
  mutating func count(_ key: Key, isWhole: Bool) -> Number {
    guard var counter = self[key] else {
      guard !isWhole || hasForgotten || self[key.ofAnyChannel] != nil else { return .none }
      guard makeRoom(for: key) else { return .unknown }
      self[key] = Counter(count: 1, base: 0, isAnchored: false)
      return .unknown
    }
    let number = counter.base &+ counter.count
    counter.count &+= 1
    self[key] = counter
    return counter.isAnchored ? .known(number) : .unknown
  }

  /// Takes note that the other side acknowledged the frame `number`.
  mutating func acknowledged(_ key: Key, _ number: UInt32) {
    guard var counter = self[key], !counter.isAnchored, counter.count > 0 else { return }
    let base = number &- (counter.count &- 1)
    if counter.hits == 0 || base.isAfter(counter.base) {
      (counter.base, counter.hits) = (base, 1)
    } else if base == counter.base {
      counter.hits += 1
      counter.isAnchored = counter.hits >= Self.neededHits
    }
    self[key] = counter
  }

  /// Frames of a direction may be missing: what is counted from here on is relative, and the beginning of a counter may be among them.
  mutating func lose(serial: UInt32, _ direction: Direction) {
    let first = Key(serial: serial, channel: 0, direction: direction)
    guard makeRoom(for: first) else { return }
    for key in connections[serial]?.keys.filter({ $0.direction == direction }) ?? [] {
      self[key] = Counter(base: 0, isAnchored: false)
    }
    self[first.ofAnyChannel] = Counter(base: 0, isAnchored: false)
  }

  /// Forgets a connection that is over.
  mutating func forget(serial: UInt32) { total -= connections.removeValue(forKey: serial)?.count ?? 0 }

  private subscript(key: Key) -> Counter? {
    get { connections[key.serial]?[key] }
    set {
      let before = connections[key.serial]?.count ?? 0
      connections[key.serial, default: [:]][key] = newValue
      total += (connections[key.serial]?.count ?? 0) - before
    }
  }

  private mutating func makeRoom(for key: Key) -> Bool {
    guard key.channel <= Self.maximumChannels else { return false }
    if total >= Self.maximumCount, self[key] == nil {
      (connections, total) = ([:], 0)
      hasForgotten = true
    }
    return true
  }
}
