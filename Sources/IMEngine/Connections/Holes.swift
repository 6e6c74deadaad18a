import IMWire

/// Holes that wait to be given up, in the order in which their time comes.
///
/// Each queue has one patience, so its deadlines are in the order of scheduling: a look at the head is all that a packet
/// pays.
struct HoleQueue: ~Copyable {
  struct Hole {
    var deadline: Timestamp
    var flow: UInt32
    var serial: UInt32
    var side: UInt8
  }

  private var holes = RingQueue<Hole>()
  /// When the first hole's time comes.
  private(set) var nextDeadline = Timestamp.distantFuture
  /// How long a hole waits, in capture time.
  let patience: Nanoseconds

  init(patience: Nanoseconds) { self.patience = patience }

  mutating func schedule(flow: UInt32, serial: UInt32, side: Int, at now: Timestamp) {
    let hole = Hole(
      deadline: now.advanced(by: patience), flow: flow, serial: serial, side: UInt8(truncatingIfNeeded: side))
    if holes.isEmpty { nextDeadline = hole.deadline }
    holes.append(hole)
  }

  /// Takes the first hole when its time has come, or whatever the time at the end of the capture.
  mutating func pop(at now: Timestamp) -> (flow: UInt32, serial: UInt32, side: Int)? {
    guard nextDeadline <= now, let hole = holes.popFirst() else { return nil }
    nextDeadline = holes.first?.deadline ?? .distantFuture
    return (hole.flow, hole.serial, Int(hole.side))
  }

  /// The flow and side of the hole that comes `count` after the first; `nil` where there is none.
  func upcoming(_ count: Int) -> (flow: UInt32, side: Int)? {
    holes.count > count ? (holes[count].flow, Int(holes[count].side)) : nil
  }
}
