import IMWire

/// Holes that wait to be given up, in the order in which their time comes.
///
/// Each queue has one patience, so its deadlines are nearly in the order of scheduling: a hole's place is found from the end.
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

  /// Adds a hole that opened at `now`; gives its deadline.
  ///
  /// Where the capture's clock goes back further than the search reaches, it waits a little longer: packets with times in the
  /// wrong order cannot make it expensive.
  mutating func schedule(flow: UInt32, serial: UInt32, side: Int, at now: Timestamp) -> Timestamp {
    var hole = Hole(
      deadline: now.advanced(by: patience), flow: flow, serial: serial, side: UInt8(truncatingIfNeeded: side))
    var i = holes.count
    let end = max(0, i - 64)
    while i > end, holes[i - 1].deadline > hole.deadline { i -= 1 }
    if i > 0 { hole.deadline = max(hole.deadline, holes[i - 1].deadline) }
    if i == 0 { nextDeadline = hole.deadline }
    holes.insert(hole, at: i)
    return hole.deadline
  }

  /// Takes the first hole when its time has come.
  mutating func pop(at now: Timestamp) -> Hole? {
    guard nextDeadline <= now, let hole = holes.popFirst() else { return nil }
    nextDeadline = holes.first?.deadline ?? .distantFuture
    return hole
  }

  /// The flow and side of the hole that comes `count` after the first; `nil` where there is none.
  func upcoming(_ count: Int) -> (flow: UInt32, side: Int)? {
    holes.count > count ? (holes[count].flow, Int(holes[count].side)) : nil
  }
}
