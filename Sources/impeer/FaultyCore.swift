import IMEndpoint
import IMWire

/// A server's core whose answers are spoiled on their way out: it stays what it is, and the network looks bad.
struct FaultyCore<Core: EndpointCore>: EndpointCore {
  /// What waits behind one connection.
  private struct Lane {
    var name: ConnectionID
    /// The beginning of a frame whose end the core has not written yet.
    var partial: [UInt8] = []
    /// Frames that are complete, with the moment from which they may go.
    var frames: [(due: Moment, bytes: [UInt8])] = []
    var written = 0
    var lastPassed: Moment
    var isForgotten = false
  }

  /// The core that is spoiled.
  var inner: Core
  private let faults: [Fault]
  private var began: Moment?
  private var lanes: [Lane?] = []
  private var framesWithBody = 0
  private var commands: [TransportCommand] = []
  private var held: [(due: Moment, connection: ConnectionID)] = []

  init(_ inner: Core, _ faults: [Fault]) {
    self.inner = inner
    self.faults = faults
  }

  private func number(_ kind: Fault.Kind) -> Double? { faults.last { $0.kind == kind }?.number }

  // MARK: what passes unchanged

  mutating func setWallClock(unixSeconds: Int64, at now: Moment) {
    began = began ?? now
    inner.setWallClock(unixSeconds: unixSeconds, at: now)
  }

  mutating func opened(_ connection: ConnectionID, local: Endpoint?, at now: Moment) {
    inner.opened(connection, local: local, at: now)
  }

  mutating func accepted(from remote: Endpoint, at now: Moment) -> ConnectionID? {
    let name = inner.accepted(from: remote, at: now)
    if let name {
      while lanes.count <= Int(name.place) { lanes.append(nil) }
      lanes[Int(name.place)] = Lane(name: name, lastPassed: now)
    }
    return name
  }

  mutating func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Moment) {
    if Int(connection.place) < lanes.count, lanes[Int(connection.place)]?.name == connection {
      lanes[Int(connection.place)] = nil
    }
    inner.closed(connection, because: reason, at: now)
  }

  mutating func measured(_ facts: TransportFacts, on connection: ConnectionID, at now: Moment) {
    inner.measured(facts, on: connection, at: now)
  }

  mutating func pathChanged(to path: NetworkPath, at now: Moment) { inner.pathChanged(to: path, at: now) }

  // MARK: what is spoiled

  mutating func received(_ bytes: RawSpan, on connection: ConnectionID, at now: Moment) -> Intake {
    if isForgotten(connection, at: now) { return Intake(consumed: bytes.byteCount, wanted: 1) }
    return inner.received(bytes, on: connection, at: now)
  }

  /// Whether the path has forgotten this connection; notes that something passed on one that it knows.
  private mutating func isForgotten(_ connection: ConnectionID, at now: Moment) -> Bool {
    guard let limit = number(.nat), Int(connection.place) < lanes.count else { return false }
    let place = Int(connection.place)
    guard var lane = lanes[place], lane.name == connection else { return false }
    if Double(now.nanoseconds(since: lane.lastPassed)) > limit * 1e9 { lane.isForgotten = true }
    if !lane.isForgotten { lane.lastPassed = now }
    lanes[place] = lane
    return lane.isForgotten
  }

  var deadline: Moment? {
    guard let first = held.first?.due else { return inner.deadline }
    return min(first, inner.deadline ?? first)
  }

  mutating func deadlineReached(at now: Moment) {
    while let first = held.first, first.due <= now {
      commands.append(.write(first.connection))
      held.removeFirst()
    }
    if let deadline = inner.deadline, deadline <= now { inner.deadlineReached(at: now) }
  }

  mutating func nextCommand() -> TransportCommand? {
    if !commands.isEmpty { return commands.removeFirst() }
    return inner.nextCommand()
  }

  mutating func drain(_ connection: ConnectionID, at now: Moment, _ write: (RawSpan) -> Int) -> Bool {
    let place = Int(connection.place)
    guard place < lanes.count, var lane = lanes[place], lane.name == connection else {
      return inner.drain(connection, at: now, write)
    }
    var fresh: [UInt8] = []
    _ = inner.drain(connection, at: now) { bytes in
      bytes.withUnsafeBytes { fresh.append(contentsOf: $0) }
      return bytes.byteCount
    }
    lane.partial += fresh
    if isForgotten(connection, at: now) { lane.partial = [] }
    cut(&lane, at: now)
    let isDone = send(&lane, at: now, write)
    lanes[place] = lane
    return isDone
  }

  /// Takes whole frames out of what the core has written, and spoils them.
  private mutating func cut(_ lane: inout Lane, at now: Moment) {
    let isSilent = number(.silent).map { Double(now.nanoseconds(since: began ?? now)) >= $0 * 1e9 } ?? false
    let due = now.advanced(byNanoseconds: Int64((number(.slow) ?? 0) * 1e6))
    var start = 0
    while lane.partial.count - start >= FrameHeader.byteCount {
      let length = lane.partial[start + 20..<start + 24].reduce(0) { $0 << 8 | Int($1) }
      let end = start + FrameHeader.byteCount + length
      guard end <= lane.partial.count else { break }
      let frame = spoiled(Array(lane.partial[start..<end]), hasBody: length > 0)
      let isAcknowledgment = lane.partial[start + 7] == FrameKind.acknowledgment.rawValue
      let copies = isAcknowledgment ? max(1, Int(number(.duplicate) ?? 1)) : 1
      if !isSilent { for _ in 0..<min(copies, 100) { lane.frames.append((due, frame)) } }
      start = end
    }
    lane.partial.removeFirst(start)
    if due > now, lane.frames.last?.due == due { held.append((due, lane.name)) }
  }

  private mutating func spoiled(_ frame: [UInt8], hasBody: Bool) -> [UInt8] {
    var frame = frame
    if let major = number(.version) { frame[4] = UInt8(truncatingIfNeeded: Int(major)) }
    if hasBody, let every = number(.crc) {
      framesWithBody += 1
      if framesWithBody % max(1, Int(every)) == 0 { frame[24] ^= 0x5a }
    }
    return frame
  }

  private func send(_ lane: inout Lane, at now: Moment, _ write: (RawSpan) -> Int) -> Bool {
    while let first = lane.frames.first, first.due <= now {
      let taken = first.bytes.withUnsafeBytes { write($0.bytes.extracting(droppingFirst: lane.written)) }
      lane.written += max(0, taken)
      guard lane.written >= first.bytes.count else { return false }
      lane.written = 0
      lane.frames.removeFirst()
    }
    return true
  }
}
