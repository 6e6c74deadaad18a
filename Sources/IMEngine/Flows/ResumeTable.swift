/// Where a connection goes on that was evicted while it was in step.
///
///      0          4          8          12         16          20       24      25
///     +----------+----------+----------+----------+-----------+--------+-------+-------+
///     | tag      | next of  | next of  | session  | sessionKey| serial | plan  | flags |   28 bytes with two of padding
///     |          | side 0   | side 1   |          |           |        |       |       |
///     +----------+----------+----------+----------+-----------+--------+-------+-------+
struct ResumePoint: BitwiseCopyable {
  /// The upper half of the hash of its key; 0 is none.
  fileprivate var tag: UInt32 = 0
  /// The next sequence number of each side.
  var next: InlineArray<2, UInt32> = [0, 0]
  /// The tracker's session, the session's number on the wire, folded, and the serial number that the connection had.
  var session: UInt32 = .max, sessionKey: UInt32 = .max, serial: UInt32 = 0
  /// The plan that decoded it.
  var profile = FlowProfile.unknown
  private var flags: UInt8 = 0

  /// No point.
  init() {}

  /// Where `flow` would go on; `nil` where it is not in step: bytes wait for others, a frame is not whole, or bytes are read in
  /// another way than where they stand.
  init?(_ flow: Ref<Flow>) {
    guard flow.pointee.profile.isPlan, flow.pointee.profile.generation == 0 || flow.pointee.profile.generation == 3,
      flow.pointee.figures != .max, flow.pointee.carrier == .max, flow.pointee.phase != .closed
    else { return nil }
    for side in flow.sides {
      let state = side.state
      guard state.pointee.phase == .open, state.pointee.queue == nil, state.pointee.partial?.pointee.count ?? 0 == 0,
        state.pointee.passOver == 0, state.pointee.flags.isDisjoint(with: [.detour, .inflating, .fin, .twin])
      else { return nil }
      next[side.number] = state.pointee.next
    }
    (session, sessionKey, serial) = (flow.pointee.session, flow.pointee.sessionKey, flow.pointee.serial)
    profile = flow.pointee.profile
    flags = flow.pointee.client | (flow.pointee.clientIsCertain ? 2 : 0) | (flow.pointee.variantIsCertain ? 4 : 0)
  }

  /// Whether bytes of `flow`, of which this was the point, were given up since: the decoder is out of step then.
  func isPassed(by flow: Ref<Flow>) -> Bool {
    flow.state(0).pointee.next != next[0] || flow.state(1).pointee.next != next[1]
  }

  /// Lets a new flow go on here. Offsets begin anew, since what was before has been told.
  func apply(to flow: inout Flow) {
    for side in 0...1 {
      flow.directionStates[side].next = next[side]
      flow.directionStates[side].phase = .open
    }
    flow.client = flags & 1
    flow.clientIsCertain = flags & 2 != 0
    flow.variantIsCertain = flags & 4 != 0
    flow.profile = profile
  }
}

/// Where evicted connections go on, so that one that says something again is neither searched for frames nor weighed by every plan
/// once more, and is no reconnect.
///
/// A four-way associative table of fixed size; where all four slots of a hash are taken, the connection that began first gives way. A
/// connection is known by 32 bits of its hash in addition to those of its slot, and by the sequence number at which it goes on.
struct ResumeTable: ~Copyable {
  // SAFETY: the memory is this table's own from `allocate(within:)` to `deinit`, and initialized; `slots` gives indices below its count.
  private var points: UnsafeMutableBufferPointer<ResumePoint>
  /// Slots for a hash.
  private static var ways: Int { 4 }

  /// A table without slots.
  init() { points = UnsafeMutableBufferPointer(start: nil, count: 0) }

  deinit { points.deallocate() }

  /// The bytes of a table for which `bytes` are to be had: whole groups of slots.
  static func cost(within bytes: Int) -> Int {
    let group = ways * MemoryLayout<ResumePoint>.stride
    return bytes / group * group
  }

  /// Whether it has no slots.
  var isEmpty: Bool { points.isEmpty }

  /// Gets the memory that `cost(within:)` tells.
  mutating func allocate(within bytes: Int) {
    let count = Self.cost(within: bytes) / MemoryLayout<ResumePoint>.stride
    guard points.isEmpty, count > 0 else { return }
    points = .allocate(capacity: count)
    points.initialize(repeating: ResumePoint())
  }

  /// The slots of a hash: its lower half as a fraction of the groups.
  private func slots(_ hash: UInt64) -> Range<Int> {
    let group = Int(truncatingIfNeeded: ((hash & 0xffff_ffff) &* UInt64(points.count / Self.ways)) >> 32)
    return group &* Self.ways..<(group &+ 1) &* Self.ways
  }
  private func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) | 1 }

  /// Remembers where the connection with the hash `hash` goes on.
  func remember(_ point: ResumePoint, _ hash: UInt64) {
    guard !points.isEmpty else { return }
    let tag = tag(hash)
    var chosen = slots(hash).lowerBound
    for i in slots(hash) {
      if points[i].tag == 0 || points[i].tag == tag {
        chosen = i
        break
      }
      if points[i].serial < points[chosen].serial { chosen = i }
    }
    points[chosen] = point
    points[chosen].tag = tag
  }

  /// Forgets connections that the plan at `plan` decoded: another plan has taken its place.
  func forget(plan: Int) {
    for i in points.indices where points[i].profile.isPlan && Int(points[i].profile.plan) == plan { points[i].tag = 0 }
  }

  /// Takes out where the connection with the hash `hash` goes on, if the segment in hand is the one that was expected of its side.
  func take(_ hash: UInt64, _ segment: UnsafePointer<Segment>) -> ResumePoint? {
    guard !points.isEmpty else { return nil }
    let tag = tag(hash)
    for i in slots(hash)
    where points[i].tag == tag && points[i].next[segment.pointee.side] == segment.pointee.sequence {
      points[i].tag = 0
      return points[i]
    }
    return nil
  }
}
