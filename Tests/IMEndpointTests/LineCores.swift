import IMEndpoint
import IMWire

/// A server that sends every whole message back: a byte count in four bytes, big endian, and as many bytes.
struct EchoServerCore: EndpointCore {
  private(set) var closed: [CloseReason] = []
  private(set) var accepted = 0
  private var output: [[UInt8]] = []
  private var generations: [UInt32] = []
  private var free: [UInt32] = []
  private var commands: [TransportCommand] = []
  private(set) var closeAfter: Int?
  private(set) var messages = 0

  init(closesAfter: Int? = nil) { closeAfter = closesAfter }

  mutating func setWallClock(unixSeconds: Int64, at now: Instant) {}
  mutating func opened(_ connection: ConnectionID, local: Endpoint?, at now: Instant) {}

  mutating func accepted(from remote: Endpoint, at now: Instant) -> ConnectionID? {
    accepted += 1
    if let place = free.popLast() {
      generations[Int(place)] += 1
      return ConnectionID(place: place, generation: generations[Int(place)])
    }
    output.append([])
    generations.append(0)
    return ConnectionID(place: UInt32(output.count - 1), generation: 0)
  }

  mutating func received(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) -> Intake {
    var consumed = 0
    var wanted = 4
    while bytes.byteCount - consumed >= 4 {
      let length = bytes.unsafeLoadUnaligned(fromByteOffset: consumed, as: UInt32.self).byteSwapped
      wanted = 4 + Int(length)
      if bytes.byteCount - consumed < wanted { break }
      consumed += wanted
      wanted = 4
      messages += 1
    }
    if consumed > 0 {
      let place = Int(connection.place)
      if output[place].isEmpty { commands.append(.write(connection)) }
      bytes.extracting(0..<consumed).withUnsafeBytes { output[place].append(contentsOf: $0) }
      if let closeAfter, messages >= closeAfter { commands.append(.close(connection)) }
    }
    return Intake(consumed: consumed, wanted: wanted)
  }

  mutating func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant) {
    closed.append(reason)
    output[Int(connection.place)] = []
    free.append(connection.place)
  }

  mutating func measured(_ facts: TransportFacts, on connection: ConnectionID, at now: Instant) {}
  mutating func pathChanged(to path: NetworkPath, at now: Instant) {}
  var deadline: Instant? { nil }
  mutating func deadlineReached(at now: Instant) {}
  mutating func nextCommand() -> TransportCommand? { commands.isEmpty ? nil : commands.removeFirst() }

  mutating func drain(_ connection: ConnectionID, at now: Instant, _ write: (OutgoingPieces) -> Int) -> Bool {
    let place = Int(connection.place)
    let taken = write(OutgoingPieces([output[place]]))
    if taken == output[place].count {
      output[place].removeAll(keepingCapacity: false)
    } else {
      output[place].removeFirst(taken)
    }
    return output[place].isEmpty
  }
}

/// A client that sends what it is told and keeps what comes back.
struct LineClientCore: EndpointCore {
  private(set) var opened: [Endpoint?] = []
  private(set) var closed: [CloseReason] = []
  private(set) var facts: [TransportFacts] = []
  private(set) var paths: [NetworkPath] = []
  private(set) var deadlines: [Instant] = []
  private(set) var received: [UInt8] = []
  var commands: [TransportCommand] = []
  var output: [UInt8] = []
  var deadline: Instant?
  static let id = ConnectionID(place: 0, generation: 3)

  mutating func setWallClock(unixSeconds: Int64, at now: Instant) {}
  mutating func opened(_ connection: ConnectionID, local: Endpoint?, at now: Instant) { opened.append(local) }
  mutating func accepted(from remote: Endpoint, at now: Instant) -> ConnectionID? { nil }

  mutating func received(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) -> Intake {
    bytes.withUnsafeBytes { received.append(contentsOf: $0) }
    return Intake(consumed: bytes.byteCount, wanted: 1)
  }

  mutating func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant) {
    closed.append(reason)
  }
  mutating func measured(_ facts: TransportFacts, on connection: ConnectionID, at now: Instant) {
    self.facts.append(facts)
  }
  mutating func pathChanged(to path: NetworkPath, at now: Instant) { paths.append(path) }
  mutating func deadlineReached(at now: Instant) {
    deadlines.append(now)
    deadline = nil
  }
  mutating func nextCommand() -> TransportCommand? { commands.isEmpty ? nil : commands.removeFirst() }

  mutating func drain(_ connection: ConnectionID, at now: Instant, _ write: (OutgoingPieces) -> Int) -> Bool {
    let taken = write(OutgoingPieces([output]))
    output.removeFirst(taken)
    return output.isEmpty
  }

  static func message(_ body: [UInt8]) -> [UInt8] {
    withUnsafeBytes(of: UInt32(body.count).bigEndian) { Array($0) } + body
  }
}
