import Glibc
import IMWire

/// One connection of a transport: its socket, its TLS if it has any, and the bytes that arrived and are not yet a message.
///
/// It has no buffer for what is sent: the core keeps that, and offers it when the socket takes some.
final class Channel<Core: EndpointCore>: Watcher {
  /// How far a connection has come.
  enum Phase: UInt8 {
    /// TCP is being established.
    case connecting
    /// TLS is being agreed on.
    case securing
    /// It carries bytes both ways.
    case open
    /// The core asked to close: what it had has been handed to the kernel, and the peer's end is waited for.
    case finishing
    /// The socket is closed.
    case closed
  }

  /// The most bytes one read takes, and the reads of one turn, so that one connection cannot keep the others waiting.
  private static var readSize: Int { 65_536 }
  private static var readsATurn: Int { 8 }
  /// Nanoseconds after which the others come first, whatever one has to read.
  private static var longestTurn: Int64 { 4_000_000 }
  /// Nanoseconds for a TLS handshake, and for the peer's end after ours.
  static var patience: Int64 { 10_000_000_000 }

  private let transport: LinuxTransport<Core>
  private let loop: EventLoop
  private let file: Int32
  private var watch: EventLoop.Watch
  private var interest: Readiness
  private var ring: RingBuffer
  private var wanted = 0
  private var tls: TLSStream?
  private var isClosing = false
  private var writeFailure: CloseReason?
  private(set) var phase: Phase
  /// The core's name of the connection; nil until a server's core has accepted it.
  private(set) var id: ConnectionID?
  /// The far end.
  let remote: Endpoint

  /// A connection on `file`, which it owns from now on. `id` is nil for one that a peer has opened.
  init(
    _ transport: LinuxTransport<Core>, _ file: Int32, id: ConnectionID?, remote: Endpoint, phase: Phase
  ) throws(TransportError) {
    self.transport = transport
    self.file = file
    self.id = id
    self.remote = remote
    self.phase = phase
    loop = transport.loop
    interest = phase == .connecting ? .writing : .reading
    ring = RingBuffer(limit: transport.receiveLimit)
    watch = EventLoop.Watch.none
    watch = loop.enroll(self)
    do throws(TransportError) { try loop.watch(file, for: interest, by: watch) } catch {
      loop.forget(watch)
      close(file)
      self.phase = .closed
      throw error
    }
  }

  // MARK: what the loop says

  func isReady(_ readiness: Readiness) {
    switch phase {
    case .connecting: connected()
    case .securing: secure()
    case .open, .finishing:
      if readiness.contains(.writing) { becameWritable() }
      if phase != .closed, !readiness.isDisjoint(with: [.reading, .failed]) { read() }
    case .closed: break
    }
  }

  func deadlineCame(_ kind: UInt8) {
    // A handshake that does not end, or a peer that never closes its side.
    if phase == .securing { fail(.secureChannel) }
    if phase == .finishing { fail(.requested) }
  }

  func flush() {}

  private func connected() {
    let code = Sockets.pendingError(file)
    guard code == 0 else { return fail(Sockets.closeReason(code)) }
    if transport.tls == nil { return establish() }
    phase = .securing
    secure()
  }

  /// Begins TLS on a connection that a peer has opened, or establishes it at once.
  func begin() {
    if transport.tls == nil { return establish() }
    phase = .securing
    secure()
  }

  private func secure() {
    if tls == nil {
      guard let context = transport.tls, let stream = try? TLSStream(context, on: file) else {
        return fail(.secureChannel)
      }
      tls = stream
      _ = loop.schedule(watch, at: loop.now + Self.patience, kind: 0)
    }
    switch tls?.shakeHands() {
    case .done: establish()
    case .wantsReading: watchFor(.reading)
    case .wantsWriting: watchFor(.writing)
    default: fail(.secureChannel)
    }
  }

  private func establish() {
    phase = .open
    watchFor(.reading)
    guard let name = transport.established(self, id, local: Sockets.local(file)) else { return fail(.requested) }
    id = name
    // TLS may have read bytes behind the handshake.
    if let tls, tls.hasPending { read() }
  }

  // MARK: bytes in

  private func read() {
    for _ in 0..<Self.readsATurn {
      guard ring.reserve(min(Self.readSize, ring.room), from: &loop.pool), ring.room > 0 else {
        return fail(.system(EMSGSIZE))
      }
      let room = ring.capacity - ring.count
      let end = tls == nil ? readPlain() : readSecured()
      if ring.count >= wanted, ring.count > 0 { deliver() }
      if phase == .closed { return }
      if let end {
        if let reason = end.reason { return fail(reason) }
        break
      }
      if tls == nil, ring.capacity - ring.count > 0, lastRead < room { break }
      if monotonicNow() - loop.now > Self.longestTurn { break }
    }
    ring.settle(&loop.pool)
    transport.keeps(ring.capacity, self)
  }

  /// Why reading stops: nothing more for now, or the end.
  private struct Stop {
    var reason: CloseReason?
  }

  private var lastRead = 0

  private func readPlain() -> Stop? {
    let count = ring.withFreeRoom { Sockets.read(file, $0, $1) }
    lastRead = count
    if count > 0 { return nil }
    if count == 0 { return Stop(reason: phase == .finishing ? .requested : .finished) }
    return errno == EAGAIN || errno == EINTR ? Stop() : Stop(reason: Sockets.closeReason(errno))
  }

  private func readSecured() -> Stop? {
    var step = TLSStream.Step.wantsReading
    _ = ring.withFreeRoom { first, _ in
      step = tls?.read(first) ?? .failed
      if case .done(let count) = step { return count }
      return 0
    }
    switch step {
    case .done: return nil
    case .wantsReading, .wantsWriting: return Stop()
    case .ended: return Stop(reason: phase == .finishing ? .requested : .finished)
    case .failed: return Stop(reason: phase == .finishing ? .requested : .reset)
    case .refused: return Stop(reason: phase == .finishing ? .requested : .secureChannel)
    }
  }

  private func deliver() {
    guard let id else { return }
    ring.straighten(&loop.pool)
    let intake = ring.withBytes { transport.received($0, on: id) }
    ring.consume(intake.consumed)
    wanted = intake.wanted
  }

  // MARK: bytes out

  /// Writes what the core offers; watches for room when not all was taken.
  func write() {
    guard phase == .open || phase == .finishing, let id, !interest.contains(.writing) else { return }
    drain(id)
  }

  private func becameWritable() {
    guard let id else { return }
    watchFor(.reading)
    drain(id)
    if isClosing, phase == .open, !interest.contains(.writing) { finish() }
  }

  private func drain(_ id: ConnectionID) {
    let isDone = transport.drain(id) { pieces in self.send(pieces) }
    if let reason = writeFailure { return fail(reason) }
    if !isDone { watchFor([.reading, .writing]) }
  }

  private func send(_ pieces: OutgoingPieces) -> Int {
    if pieces.byteCount == 0 || writeFailure != nil { return 0 }
    if tls != nil { return pieces.forEach { self.seal($0) } }
    let count = pieces.send(on: file)
    if count >= 0 { return count }
    if errno != EAGAIN, errno != EINTR { writeFailure = Sockets.closeReason(errno) }
    return 0
  }

  private func seal(_ bytes: RawSpan) -> Int {
    switch tls?.write(bytes) {
    case .done(let count): return count
    case .wantsReading, .wantsWriting: return 0
    case .refused:
      writeFailure = .secureChannel
      return 0
    default:
      writeFailure = .reset
      return 0
    }
  }

  // MARK: the end

  /// Writes what waits, then closes in order.
  func end() {
    guard phase == .open else { return fail(.requested) }
    isClosing = true
    write()
    if phase == .open, !interest.contains(.writing) { finish() }
  }

  private func finish() {
    phase = .finishing
    tls?.end()
    shutdown(file, Int32(SHUT_WR))
    _ = loop.schedule(watch, at: loop.now + Self.patience, kind: 1)
  }

  /// Lets go of the connection and tells the core. A reset goes out unless the peer has closed in order.
  func fail(_ reason: CloseReason) {
    guard phase != .closed else { return }
    let wasFinishing = phase == .finishing
    let wasSecuring = phase == .securing
    phase = .closed
    loop.forget(watch)
    tls = nil
    if reason == .finished || wasFinishing { close(file) } else { Sockets.reset(file) }
    ring.consume(.max)
    ring.settle(&loop.pool)
    transport.ended(self, reason, wasSecuring: wasSecuring)
  }

  /// What the kernel knows.
  var facts: TransportFacts { TransportFacts(of: file) }

  private func watchFor(_ readiness: Readiness) {
    guard readiness != interest else { return }
    interest = readiness
    if (try? loop.change(watch, file, to: readiness)) == nil { fail(.system(errno)) }
  }
}
