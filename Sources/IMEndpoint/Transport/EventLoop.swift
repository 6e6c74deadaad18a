import CEpoll
import Glibc
import Synchronization

/// What the loop calls when a descriptor it watches is ready, or a deadline set in its name has come.
package protocol Watcher: AnyObject {
  /// The descriptor can be read, written, or has failed.
  func isReady(_ readiness: Readiness)
  /// The deadline set with `kind` has come.
  func deadlineCame(_ kind: UInt8)
  /// The turn ends: write what waits. Called once a turn after `EventLoop.flushAtEnd`.
  func flush()
}

/// What a descriptor is ready for.
package struct Readiness: OptionSet, Sendable {
  /// The bits, as epoll has them.
  package let rawValue: UInt32
  /// A set of epoll's bits.
  package init(rawValue: UInt32) { self.rawValue = rawValue }
  /// Bytes, a connection or the end of the stream can be read.
  package static let reading = Readiness(rawValue: EPOLLIN.rawValue)
  /// Bytes can be written, or the connection is established.
  package static let writing = Readiness(rawValue: EPOLLOUT.rawValue)
  /// The descriptor has failed or both directions have ended.
  package static let failed = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
}

/// One thread's loop: readiness from epoll, deadlines from one timer wheel, writes gathered at the end of each turn.
///
/// Everything it calls runs on the thread that runs it, so what belongs to a loop needs no lock. Other threads reach it
/// through `remote` only. It waits in the kernel until a descriptor is ready or a deadline comes, with a resolution of a
/// millisecond for deadlines.
public final class EventLoop {
  private struct Slot {
    var watcher: (any Watcher)?
    var generation: UInt32
    var next: Int32
  }

  /// Names a watched descriptor, also after it is gone, so that a late event cannot reach its successor.
  package struct Watch: Hashable, Sendable {
    fileprivate var index: UInt32
    fileprivate var generation: UInt32

    /// No descriptor: what a watcher holds before it is enrolled.
    package static var none: Watch { Watch(index: .max, generation: 0) }
  }

  private static var eventsATurn: Int { 256 }

  private let descriptor: Int32
  /// What other threads hold.
  public let remote: Remote
  private var slots: [Slot] = []
  private var firstFree: Int32 = -1
  private var wheel: TimerWheel
  private var fired: [UInt64] = []
  private var toFlush: [any Watcher] = []
  private let events: UnsafeMutablePointer<epoll_event>
  private var isStopped = false
  /// The memory that this loop's connections share.
  package var pool = BufferPool()
  /// The moment this turn began: nanoseconds of the system's monotonic clock.
  public private(set) var now: Int64
  /// Turns made.
  package private(set) var turns = 0

  /// A loop that watches nothing. Throws when the system has no descriptors left.
  public init() throws(TransportError) {
    SystemCodec.install
    let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw TransportError("epoll_create", errno) }
    let wake = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
    guard wake >= 0 else {
      let code = errno
      close(epoll)
      throw TransportError("eventfd", code)
    }
    descriptor = epoll
    remote = Remote(wake)
    now = monotonicNow()
    wheel = TimerWheel(now: now)
    events = .allocate(capacity: Self.eventsATurn)
    var event = epoll_event()
    event.events = EPOLLIN.rawValue
    event.data.u64 = .max
    guard epoll_ctl(descriptor, EPOLL_CTL_ADD, wake, &event) == 0 else { throw TransportError("epoll_ctl", errno) }
  }

  deinit {
    close(descriptor)
    events.deallocate()
  }

  /// Takes in a watcher, which it holds until `forget`: it can set deadlines, and watch a descriptor.
  package func enroll(_ watcher: any Watcher) -> Watch {
    let index: Int32
    if firstFree >= 0 {
      index = firstFree
      firstFree = slots[Int(index)].next
      slots[Int(index)].watcher = watcher
    } else {
      index = Int32(truncatingIfNeeded: slots.count)
      slots.append(Slot(watcher: watcher, generation: 0, next: -1))
    }
    return Watch(index: UInt32(bitPattern: index), generation: slots[Int(index)].generation)
  }

  /// Watches `file` for `interest`, until it is closed.
  package func watch(_ file: Int32, for interest: Readiness, by watch: Watch) throws(TransportError) {
    try control(EPOLL_CTL_ADD, file, interest, watch)
  }

  /// Changes what `file` is watched for.
  package func change(_ watch: Watch, _ file: Int32, to interest: Readiness) throws(TransportError) {
    try control(EPOLL_CTL_MOD, file, interest, watch)
  }

  /// Lets a watcher go. Its descriptor is its own to close, and its deadlines do not reach it any more.
  package func forget(_ watch: Watch) {
    guard watcher(watch) != nil else { return }
    let index = Int(watch.index)
    slots[index].watcher = nil
    slots[index].generation &+= 1
    slots[index].next = firstFree
    firstFree = Int32(bitPattern: watch.index)
  }

  private func control(_ operation: Int32, _ file: Int32, _ interest: Readiness, _ watch: Watch) throws(TransportError)
  {
    var event = epoll_event()
    event.events = interest.rawValue
    event.data.u64 = UInt64(watch.generation) << 32 | UInt64(watch.index)
    guard epoll_ctl(descriptor, operation, file, &event) == 0 else { throw TransportError("epoll_ctl", errno) }
  }

  private func watcher(_ watch: Watch) -> (any Watcher)? {
    let index = Int(watch.index)
    guard index < slots.count, slots[index].generation == watch.generation else { return nil }
    return slots[index].watcher
  }

  /// Has `deadlineCame(kind)` called on the watcher of `watch` at `deadline`.
  package func schedule(_ watch: Watch, at deadline: Int64, kind: UInt8) -> TimerWheel.Token {
    // 24 bits of the generation tell a late deadline from one of the slot's next owner.
    wheel.schedule(
      at: deadline,
      payload: UInt64(watch.generation & 0xFF_FFFF) << 40 | UInt64(kind) << 32 | UInt64(watch.index))
  }

  /// Takes a deadline back; nothing happens when it has come already.
  package func cancel(_ token: TimerWheel.Token) { wheel.cancel(token) }

  /// Moves a deadline; false when it has come already.
  package func move(_ token: TimerWheel.Token, to deadline: Int64) -> Bool { wheel.move(token, to: deadline) }

  /// Has `flush` called on `watcher` when this turn ends. The watcher sees to it that it asks once.
  package func flushAtEnd(_ watcher: any Watcher) { toFlush.append(watcher) }

  /// Turns until `stop` is called. Throws when the kernel refuses to wait.
  public func run() throws(TransportError) {
    while !isStopped { try turn(longest: nil) }
  }

  /// Reads the clock again: after work that took long, so that what follows is not stamped with the turn's begin.
  package func refreshNow() { now = monotonicNow() }

  /// Ends `run` after this turn.
  public func stop() { isStopped = true }

  /// Waits for what comes first, at most `longest` nanoseconds, and handles it.
  public func turn(longest: Int64?) throws(TransportError) {
    // What was asked for outside a turn leaves before the wait.
    flushAll()
    let ready = try wait(longest)
    now = monotonicNow()
    turns += 1
    for i in 0..<ready {
      let event = events[i]
      if event.data.u64 == .max {
        for work in remote.taken() { work() }
        continue
      }
      let watch = Watch(
        index: UInt32(truncatingIfNeeded: event.data.u64), generation: UInt32(truncatingIfNeeded: event.data.u64 >> 32))
      if i > 0 { now = monotonicNow() }
      watcher(watch)?.isReady(Readiness(rawValue: event.events))
    }
    wheel.advance(to: now, into: &fired)
    var next = 0
    while next < fired.count {
      let payload = fired[next]
      next += 1
      let index = Int(payload & 0xFFFF_FFFF)
      guard index < slots.count, UInt64(slots[index].generation & 0xFF_FFFF) == payload >> 40 else { continue }
      slots[index].watcher?.deadlineCame(UInt8(truncatingIfNeeded: payload >> 32))
    }
    fired.removeAll(keepingCapacity: true)
    flushAll()
  }

  private func flushAll() {
    var next = 0
    while next < toFlush.count {
      toFlush[next].flush()
      next += 1
    }
    toFlush.removeAll(keepingCapacity: true)
  }

  private func wait(_ longest: Int64?) throws(TransportError) -> Int {
    var limit = longest
    if let turn = wheel.nextTurn {
      let left = max(0, turn - monotonicNow())
      limit = min(limit ?? .max, left)
    }
    let count: Int32
    if let limit {
      var time = timespec(tv_sec: Int(limit / 1_000_000_000), tv_nsec: Int(limit % 1_000_000_000))
      count = epoll_pwait2(descriptor, events, Int32(Self.eventsATurn), &time, nil)
    } else {
      count = epoll_pwait2(descriptor, events, Int32(Self.eventsATurn), nil, nil)
    }
    guard count >= 0 else {
      if errno == EINTR { return 0 }
      throw TransportError("epoll_wait", errno)
    }
    return Int(count)
  }
}

/// The system's monotonic clock, in nanoseconds.
package func monotonicNow() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}
