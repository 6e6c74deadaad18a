import IMEndpoint

/// Says once a millisecond how many messages are due, so that a rate holds over time whatever a turn takes.
final class Pace: Watcher {
  private let loop: EventLoop
  private let rate: Double
  private let began: Int64
  private let send: (Int) -> Int
  private var watch = EventLoop.Watch.none
  private var isStopped = false
  private var sent = 0

  /// Calls `send` with the number of messages that are due; it returns how many it could send.
  init(_ loop: EventLoop, rate: Double, send: @escaping (Int) -> Int) {
    self.loop = loop
    self.rate = rate
    self.send = send
    began = monotonicNow()
    watch = loop.enroll(self)
    deadlineCame(0)
  }

  func isReady(_ readiness: Readiness) {}
  func flush() {}

  func deadlineCame(_ kind: UInt8) {
    if isStopped { return }
    let now = monotonicNow()
    let due = Int(Double(now - began) / 1e9 * rate) - sent
    if due > 0 { sent += send(due) }
    // The next whole millisecond, or the next message if that is later.
    let next = began + Int64(Double(sent + 1) / rate * 1e9)
    _ = loop.schedule(watch, at: max(next, now + 1), kind: 0)
  }

  func stop() {
    isStopped = true
    loop.forget(watch)
  }
}
