import IMWire

/// All that tracking needs of one frame, made where the frame is read: tracking looks at no bytes, and at no stream.
///
/// 64 bytes, one cache line:
///
/// | at | |
/// |---|---|
/// | 0 | time, i64 |
/// | 8 | its number, u64 |
/// | 16 | the number that it answers, u64 |
/// | 24 | what its type means, a pointer |
/// | 32 | the low half of the stream offset behind it; the TCP number behind it; what its sender had acknowledged, u32 each |
/// | 44 | its flow; its body's length; its body's fingerprint, u32 each |
/// | 56 | its sender's clock, the place of its status in `StatusTable`, u16 each |
/// | 60 | plan, direction, u8 each; facts, u16 |
struct FrameRecord: BitwiseCopyable {
  /// Facts that are true or not.
  struct Facts: OptionSet, BitwiseCopyable {
    let rawValue: UInt16
    /// Its checksum is wrong.
    static let isBad = Facts(rawValue: 1)
    /// `sequence` holds a number.
    static let hasNumber = Facts(rawValue: 2)
    /// Its sender marked it as a copy.
    static let isMarked = Facts(rawValue: 4)
    /// It repeats the number of what it answers, and has none of its own.
    static let repeatsNumber = Facts(rawValue: 8)
    /// Its status refuses.
    static let refuses = Facts(rawValue: 16)
    /// `acknowledged` holds a number.
    static let hasAcknowledged = Facts(rawValue: 32)
    /// `acknowledged` is what its packet says. Known of answers in order alone.
    static let isCurrent = Facts(rawValue: 64)
    /// It could be cumulative, and is not.
    static let isSingle = Facts(rawValue: 128)
    /// Its number is not known.
    static let isUncounted = Facts(rawValue: 256)
  }

  /// When the packet came that made its last byte contiguous.
  var timestamp: Timestamp
  /// The number that it is known by: its own, or for a type without numbers that of its type on its connection.
  var sequence: UInt64
  /// The number of what an answer answers.
  var named: UInt64 = 0
  /// What its type means.
  var kind: UnsafePointer<FrameKind>
  /// The low half of the offset behind it in its stream.
  var streamEnd: UInt32
  /// The TCP sequence number behind it.
  var sequenceEnd: UInt32
  /// How far its sender had acknowledged the other side's bytes.
  var acknowledged: UInt32 = 0
  /// The place of its flow.
  var flow: UInt32
  /// The length of its body in bytes.
  var bodyCount: UInt32
  /// One number for what its body holds; 0 where no answer is expected.
  var fingerprint: UInt32 = 0
  /// The low half of its sender's clock.
  var clock: UInt16
  /// The place of an answer's status in `StatusTable`; 0 without one.
  var status: UInt16 = 0
  /// What decodes its flow.
  var profile: FlowProfile
  /// The direction that it travels in.
  var direction: Direction
  var facts: Facts = []

  /// Whether it answers another frame by its number.
  @inline(__always)
  var isAnswer: Bool { kind.pointee.role == .acknowledgment }
  /// The number of the exchange that it belongs to.
  @inline(__always)
  var wanted: UInt64 { isAnswer ? named : sequence }

  /// The record of an opened frame that `side` sent.
  @inline(__always)
  init(_ frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes, _ side: FlowSide, _ plan: UnsafePointer<Plan>) {
    kind = frame.pointee.kind
    timestamp = frame.pointee.timestamp
    flow = side.index
    profile = side.flow.pointee.profile
    direction = side.direction
    bodyCount = UInt32(truncatingIfNeeded: frame.pointee.bodyCount)
    clock = UInt16(truncatingIfNeeded: frame.pointee.time)
    let end = frame.pointee.streamOffset &+ UInt64(truncatingIfNeeded: frame.pointee.count)
    streamEnd = UInt32(truncatingIfNeeded: end)
    sequenceEnd = side.state.pointee.next &- UInt32(truncatingIfNeeded: side.state.pointee.offset &- end)
    sequence = frame.pointee.sequence
    if frame.pointee.flags.contains(.sequence) {
      facts.insert(.hasNumber)
    } else if frame.pointee.flags.contains(.uncounted) {
      facts.insert(.isUncounted)
    }
    if frame.pointee.flags.contains(.markedDuplicate) { facts.insert(.isMarked) }
    if frame.pointee.checksumStatus == .bad { facts.insert(.isBad) }
    if kind.pointee.role == .acknowledgment {
      answer(frame, bytes, side, plan)
    } else if kind.pointee.flags.contains(.expectsAck) {
      fingerprint = Self.fingerprint(frame, bytes, plan)
      if kind.pointee.flags.contains(.unnumbered) {
        sequence = Self.ownNumber(side.flow, kind.pointee.order, frame, plan)
        facts.insert(.hasNumber)
      }
    }
  }

  /// What an acknowledgment answers, but for its status.
  @inline(__always)
  private mutating func answer(
    _ frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes, _ side: FlowSide, _ plan: UnsafePointer<Plan>
  ) {
    named = frame.pointee.sequence
    if kind.pointee.flags.contains(.refusesAlways) { facts.insert(.refuses) }
    if frame.pointee.bodyCount == Int(plan.pointee.ackBodyCount) {
      named = plan.pointee.ackBody.read(bytes, frame.pointee.body)
    } else if !frame.pointee.flags.isDisjoint(with: [.answered, .reference]) {
      named = frame.pointee.answered
      if frame.pointee.flags.contains(.reference) { named |= Tracker.reference }
    } else if plan.pointee.general != nil, !frame.pointee.flags.contains(.sequence) {
      // Without a number it answers nothing; the stored number is that of the frame before it.
      named = .max
    } else {
      facts.insert(.repeatsNumber)
    }
    if kind.pointee.flags.contains(.unnumbered) {
      named = Self.ownNumber(side.flow, kind.pointee.order, frame, plan)
      if frame.pointee.timestamp == side.flow.pointee.lastSeen { facts.insert(.isCurrent) }
    } else if plan.pointee.ackPlus != 0 {
      named = plan.number(before: named, by: plan.ackPlus(of: kind))
    }
    let peer = side.peer.state
    acknowledged = peer.pointee.acknowledged
    if peer.pointee.flags.contains(.acknowledged) { facts.insert(.hasAcknowledged) }
    if plan.pointee.general != nil, kind.pointee.flags.contains(.unnumbered), frame.pointee.acknowledged != 0 {
      acknowledged = frame.pointee.acknowledged
      facts.formUnion([.hasAcknowledged, .isCurrent])
    }
    if kind.pointee.flags.contains(.cumulativeOnDemand), !frame.pointee.flags.contains(.multiple) {
      facts.insert(.isSingle)
    }
  }

  /// Makes the record of a frame that is no acknowledgment one of what it acknowledges all the same.
  mutating func acknowledge(_ frame: UnsafePointer<Frame>, _ side: FlowSide, _ plan: UnsafePointer<Plan>) {
    named = frame.pointee.answered
    if plan.pointee.ackPlus != 0 { named = plan.number(before: named, by: plan.ackPlus(of: kind)) }
    facts.formIntersection([.hasAcknowledged])
    let peer = side.peer.state
    acknowledged = peer.pointee.acknowledged
    if peer.pointee.flags.contains(.acknowledged) { facts.insert(.hasAcknowledged) }
  }

  /// The number of all frames of a type on one connection, where they carry none: their answers are their connection's, or their
  /// channel's.
  @inline(__always)
  static func ownNumber(
    _ flow: Ref<Flow>, _ kind: UInt8, _ frame: UnsafePointer<Frame>, _ plan: UnsafePointer<Plan>
  ) -> UInt64 {
    let number = Exchange.ownNumbers | UInt64(flow.pointee.serial) << 8 | UInt64(kind)
    return plan.pointee.general == nil ? number : number | UInt64(frame.pointee.channel) << 40
  }

  /// One number for what a body holds: length and checksum, or a checksum of our own where the protocol has none.
  @inline(__always)
  static func fingerprint(
    _ frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes, _ plan: UnsafePointer<Plan>
  ) -> UInt32 {
    let body = UInt32(truncatingIfNeeded: frame.pointee.bodyCount)
    if plan.pointee.checksumRule != .crc32 {
      guard plan.pointee.endToEnd.isPresent else {
        return crc32(bytes, frame.pointee.body, frame.pointee.bodyCount) &+ body
      }
      // What is sent again has the same one, whatever else has changed in it.
      let number = plan.pointee.endToEnd.read(bytes, frame.pointee.start)
      return UInt32(truncatingIfNeeded: number ^ number >> 32)
    }
    let sum = UInt32(truncatingIfNeeded: frame.pointee.checksum)
    return (frame.pointee.checksumStatus == .le ? sum.byteSwapped : sum) &+ body &* GoldenRatio.of32Bits
  }
}
