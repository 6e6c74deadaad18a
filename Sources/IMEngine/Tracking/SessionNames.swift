import IMWire

/// What of a session is asked for when it begins, or when a connection joins it. 32 bytes.
struct SessionRoot: BitwiseCopyable {
  /// What the wire calls it, and its plan in the upper byte: see `init`.
  var name: UInt64
  /// Where it was: a hash of client address and server endpoint.
  var place: UInt64
  /// When its flow was over, as far as that was forgotten; else the flow itself tells.
  var closedAt = Timestamp.distantFuture
  /// When its connection had been heard of last, when it was last asked whether the session may be forgotten.
  var askedAt: Timestamp

  /// The name of a session of `plan` that the wire calls `key`: the session number, or a hash of the client's name.
  @inline(__always)
  static func name(_ key: UInt64, _ plan: UInt8) -> UInt64 { key ^ UInt64(plan) << 56 }
}

/// The place of the newest session of each name. An open-addressing table; the names themselves stand with the sessions.
///
///      31      24 23                      0
///     +----------+-------------------------+
///     | tag      | place                   |   a slot; the tag is a part of the name's hash, so that few other names are looked at
///     +----------+-------------------------+
struct SessionNames: ~Copyable {
  /// A free slot: no place has all bits set.
  private static var none: UInt32 { .max }
  private static var placeMask: UInt32 { 0xff_ffff }

  private var slots: UnsafeMutablePointer<UInt32>
  /// Slots less one, and those in use.
  private var mask: Int
  private var count = 0
  /// What the hash mixes into a name, and multiplies it with: names come off the wire, and senders must not know which collide.
  private let salt: UInt64, multiplier: UInt64

  init(seed: UInt64) {
    salt = seed ^ 0x2D35_8DCC_AA6C_78A5
    multiplier = (seed &* GoldenRatio.of64Bits) ^ 0x8BB8_4B93_962E_ACC9 | 1
    mask = 255
    slots = .allocate(capacity: mask + 1)
    slots.initialize(repeating: Self.none, count: mask + 1)
  }

  deinit { slots.deallocate() }

  /// At most so many bytes for each session, while the table grows, too.
  static var costPerSession: Int { 16 }

  private func hash(_ name: UInt64) -> UInt64 {
    let wide = (name ^ salt).multipliedFullWidth(by: multiplier)
    return wide.high ^ wide.low
  }
  private func home(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & mask }
  private static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 56) << 24 }

  private static func name(_ slot: UInt32, _ roots: borrowing Pool<SessionRoot>) -> UInt64 {
    roots.pointer(slot & placeMask).pointee.name
  }

  /// The slot of a name with that hash, or the free one where it would stand.
  private func slot(_ name: UInt64, _ hash: UInt64, _ roots: borrowing Pool<SessionRoot>) -> Int {
    let tag = Self.tag(hash)
    var i = home(hash)
    while slots[i] != Self.none, slots[i] & ~Self.placeMask != tag || Self.name(slots[i], roots) != name {
      i = (i &+ 1) & mask
    }
    return i
  }

  /// The place of the newest session called `name`, or `nil`.
  func find(_ name: UInt64, _ roots: borrowing Pool<SessionRoot>) -> UInt32? {
    let found = slots[slot(name, hash(name), roots)]
    return found == Self.none ? nil : found & Self.placeMask
  }

  /// Makes the session at `place`, whose root says so, the newest one called `name`.
  mutating func set(_ name: UInt64, _ place: UInt32, _ roots: borrowing Pool<SessionRoot>) {
    if (count + 1) * 4 > (mask + 1) * 3 { grow(roots) }
    let hash = hash(name)
    let i = slot(name, hash, roots)
    if slots[i] == Self.none { count += 1 }
    slots[i] = Self.tag(hash) | place
  }

  /// Forgets a name; the session that has it has it still in its root.
  mutating func remove(_ name: UInt64, _ roots: borrowing Pool<SessionRoot>) {
    var hole = slot(name, hash(name), roots)
    guard slots[hole] != Self.none else { return }
    // Closes the gap, so that what follows is still found.
    var j = hole
    while true {
      j = (j &+ 1) & mask
      if slots[j] == Self.none { break }
      let home = home(hash(Self.name(slots[j], roots)))
      if (j &- home) & mask >= (j &- hole) & mask {
        slots[hole] = slots[j]
        hole = j
      }
    }
    slots[hole] = Self.none
    count -= 1
  }

  @inline(never)
  private mutating func grow(_ roots: borrowing Pool<SessionRoot>) {
    let old = slots
    let oldCount = mask + 1
    mask = oldCount * 2 - 1
    slots = .allocate(capacity: oldCount * 2)
    slots.initialize(repeating: Self.none, count: oldCount * 2)
    for j in 0..<oldCount where old[j] != Self.none {
      var i = home(hash(Self.name(old[j], roots)))
      while slots[i] != Self.none { i = (i &+ 1) & mask }
      slots[i] = old[j]
    }
    old.deallocate()
  }
}
