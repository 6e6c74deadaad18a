/// Keeps a core's time and turn: wakes it by its deadline, and has its commands carried out once a turn.
final class Clockwork<Core: EndpointCore>: Watcher {
  private let transport: LinuxTransport<Core>
  private let loop: EventLoop
  private var watch = EventLoop.Watch.none
  private var token: TimerWheel.Token?
  private var scheduled: Instant?
  private var isAwake = false
  private var isStopped = false

  init(_ transport: LinuxTransport<Core>) {
    self.transport = transport
    loop = transport.loop
    watch = loop.enroll(self)
    wake()
  }

  /// The core was called: its commands and its deadline are looked at when the turn ends.
  func wake() {
    if isAwake { return }
    isAwake = true
    loop.flushAtEnd(self)
  }

  func stop() {
    isStopped = true
    if let token { loop.cancel(token) }
    loop.forget(watch)
  }

  func isReady(_ readiness: Readiness) {}

  func deadlineCame(_ kind: UInt8) {
    token = nil
    scheduled = nil
    transport.deadlineCame()
    wake()
  }

  func flush() {
    // What a turn that ended the transport had asked for is not done any more.
    if isStopped { return }
    transport.callOnTurn()
    let isDone = transport.carryOut()
    isAwake = false
    reschedule(isDone ? transport.deadline : transport.moment)
  }

  private func reschedule(_ deadline: Instant?) {
    guard deadline != scheduled else { return }
    scheduled = deadline
    guard let deadline else {
      if let token { loop.cancel(token) }
      token = nil
      return
    }
    if let token, loop.move(token, to: deadline.nanoseconds) { return }
    token = loop.schedule(watch, at: deadline.nanoseconds, kind: 0)
  }
}
