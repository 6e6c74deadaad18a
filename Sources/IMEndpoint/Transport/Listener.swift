import Glibc
import IMWire

/// Accepts connections for a server's core.
///
/// It leaves connections in the kernel's queue while as many TLS handshakes are under way as memory is meant for (OpenSSL
/// keeps about 50 KB for each), and for a moment when the system has no descriptors left, after asking the core to spare some.
final class Listener<Core: EndpointCore>: Watcher {
  /// TLS handshakes under way at once.
  private static var mostHandshakes: Int { 64 }
  private static var acceptsATurn: Int { 64 }
  /// Nanoseconds without accepting where there were no descriptors.
  private static var pauseLength: Int64 { 20_000_000 }
  private static var backlog: Int32 { 4_096 }

  private let transport: LinuxTransport<Core>
  private let loop: EventLoop
  private let file: Int32
  private var watch = EventLoop.Watch.none
  private var isPaused = false
  private var isStopped = false
  private var handshakes = 0
  /// Where it listens, with the port that the system chose if none was asked for.
  let endpoint: Endpoint

  init(_ transport: LinuxTransport<Core>, at endpoint: Endpoint) throws(TransportError) {
    self.transport = transport
    loop = transport.loop
    file = try Sockets.listen(at: endpoint, backlog: Self.backlog)
    self.endpoint = Sockets.local(file) ?? endpoint
    watch = loop.enroll(self)
    try loop.watch(file, for: .reading, by: watch)
  }

  func isReady(_ readiness: Readiness) {
    for _ in 0..<Self.acceptsATurn {
      if handshakes >= Self.mostHandshakes { return pause() }
      guard let (connection, remote) = Sockets.accept(file) else {
        if errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM {
          pause()
          transport.descriptorsRanOut()
          _ = loop.schedule(watch, at: loop.now + Self.pauseLength, kind: 0)
        }
        return
      }
      guard let remote else {
        close(connection)
        continue
      }
      if transport.tls != nil { handshakes += 1 }
      transport.accepted(connection, from: remote)
    }
  }

  /// A handshake has ended, well or not.
  func finishedHandshake() {
    handshakes = max(0, handshakes - 1)
    resume()
  }

  func deadlineCame(_ kind: UInt8) { resume() }

  func flush() {}

  func stop() {
    if isStopped { return }
    isStopped = true
    loop.forget(watch)
    close(file)
  }

  private func pause() {
    isPaused = true
    try? loop.change(watch, file, to: [])
  }

  private func resume() {
    guard isPaused, !isStopped, handshakes < Self.mostHandshakes else { return }
    isPaused = false
    try? loop.change(watch, file, to: .reading)
  }
}
