import Foundation
import IMEngine
import IMMetrics
import IMTestSupport
import IMWire
import Testing

@testable import IMDocuments

/// Event IDs of a connection: identical in every run whose first packet of the connection is the same.
@Suite("event IDs that do not depend on the run")
struct ECSStandAloneTests {
  /// Both endpoints, time in microseconds and sequence number of the first packet, and the UID computed with Python's hashlib.
  static let uids: [(String, UInt16, String, UInt16, Int64, UInt32, String)] = [
    ("10.0.0.5", 52344, "203.0.113.9", 8080, 1_795_219_860_000_000, 1_000, "6TKM2SKRF49FPSZ0GR234G20VK"),
    ("2001:db8::1", 443, "2001:db8::2", 50000, 1, .max, "6WPQ663T5NN7631EZ4RKZBW86R"),
    ("192.0.2.1", 80, "192.0.2.1", 81, -1, 0, "0TZZPSBYDGDS4Y2NTSS1Q0E5YJ"),
  ]

  @Test("UIDs of connections, from both sides", arguments: uids)
  func names(
    _ a: String, _ aPort: UInt16, _ b: String, _ bPort: UInt16, _ time: Int64, _ sequence: UInt32, _ expected: String
  ) throws {
    let one = Endpoint(address: try #require(IPAddress(a)), port: aPort)
    let other = Endpoint(address: try #require(IPAddress(b)), port: bPort)
    func name(_ client: Endpoint, _ server: Endpoint, _ time: Timestamp) -> String? {
      var info = ConnectionInfo(told: 7, client: client, server: server)
      info.firstSeen = time
      info.firstSequence = sequence
      return ConnectionUID.text(of: info).map { text in String(decoding: text.indices.map { text[$0] }, as: UTF8.self) }
    }
    let time = Timestamp(microseconds: time)
    #expect(name(one, other, time) == expected)
    #expect(name(other, one, time) == expected)
    // A copy of the capture with microsecond timestamps.
    #expect(name(one, other, time.advanced(by: 999)) == expected)
    #expect(name(one, other, time.advanced(by: 1_000)) != expected)
    #expect(name(one, other, .distantPast) == nil)
  }

  // MARK: Runs

  /// Three other clients of the same server, active from 20 s before the phone's connection until long after it.
  private static let others: [TimedPacket] = (0..<3).flatMap { client in
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0101 + UInt32(client)), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7109), port: 8080), initial: (70_000, 90_000))
    let (begin, session) = (Int64(client) * 777 - 20_000, UInt16(100 + client))
    talk.open(at: ECSTalk.at(begin))
    for number in 1...500 {
      let time = begin + Int64(number) * 701
      let frame = TJPFrameBuilder(text: "other", sequence: UInt32(number), session: session)
      talk.send(frame.bytes, .clientToServer, at: ECSTalk.at(time))
      let answer = TJPFrameBuilder.echoACK(of: UInt32(number), session: session)
      talk.send(answer.bytes, .serverToClient, at: ECSTalk.at(time + 30))
    }
    return talk.packets
  }

  /// A connection with a silence of more than two minutes, and losses before and after it.
  private static let life: [TimedPacket] = {
    var talk = ECSTalk()
    talk.talk.open(at: ECSTalk.at(0))
    for (number, second) in [1, 11, 21, 58, 59, 200, 201, 210, 262, 270].enumerated() {
      let time = Int64(second) * 1_000 + 41
      talk.data(UInt32(number + 1), at: time)
      if number % 3 != 1 { talk.echo(UInt32(number + 1), at: time + 20) }
    }
    talk.talk.close(.fin(by: .clientToServer), at: ECSTalk.at(280_000))
    return talk.talk.packets
  }()

  private static func merged(_ packets: [TimedPacket]) -> [TimedPacket] {
    (packets + others).enumerated().sorted {
      ($0.element.timestamp, $0.offset) < ($1.element.timestamp, $1.offset)
    }.map(\.element)
  }

  /// The documents of the phone's connection and its events, by ID, without the fields that belong to the run.
  private func documents(
    _ packets: [TimedPacket], run: String = "test", isLive: Bool = false
  ) throws -> [String: String] {
    var options = ECSOptions()
    options.messageLog = .all
    let bytes = ECSRun.bytes(packets, options, run: run, isLive: isLive)[.message] ?? []
    let name = RunIdentity(hashing: [run]).text
    var documents: [String: String] = [:]
    for (line, document) in zip(bytes.split(separator: 10), try ECSRun.documents(bytes)) {
      guard let id = document.text("event.id"), document.text("client.ip") == "10.0.0.5" else { continue }
      let serial = document.text("imdump.conn.id")?.dropFirst(name.count + 1) ?? ""
      #expect(UInt32(serial) != nil)
      #expect(id.hasPrefix("\(document.text("imdump.conn.uid") ?? "-")-"))
      let text = String(decoding: line, as: UTF8.self).replacingOccurrences(of: "\(name)-\(serial)", with: "CONNECTION")
        .replacingOccurrences(of: name, with: "RUN")
      #expect(documents.updateValue(text, forKey: id) == nil, "\(id) twice")
    }
    return documents
  }

  @Test("the documents of a connection are the same in every run", arguments: [ECSTalk.fates(), Self.life])
  func runs(_ packets: [TimedPacket]) throws {
    let alone = try documents(packets)
    #expect(alone.count > 8)
    for other in [
      try documents(Self.merged(packets), run: "other"), try documents(packets, run: "live", isLive: true),
      try documents(Self.merged(packets), run: "all, live", isLive: true),
    ] {
      #expect(other.keys.sorted() == alone.keys.sorted())
      for (id, text) in alone { #expect(other[id] == text) }
    }
  }

  @Test("later packets change no ID, and the document of an open connection has its own")
  func later() throws {
    let whole = try documents(ECSTalk.fates())
    let part = try documents(ECSTalk.fates().filter { $0.timestamp < ECSTalk.at(12_000) })
    let open = part.keys.filter { $0.contains("-open-") }
    #expect(open.count == 1)
    // The final document that counts repeated events of one kind has the ID of the last of them.
    let others = Set(part.keys).subtracting(open).subtracting(whole.keys)
    #expect(
      others.count <= 1 && others.allSatisfy { part[$0]?.contains(/"weird":\{[^}]*"count":([2-9]|[1-9][0-9])/) == true }
    )
    #expect(whole.keys.filter { $0.hasSuffix("-end") }.count == 1)
    #expect(!whole.keys.contains { $0.contains("-open-") })
    // Two captures that end in mid-connection, one after the other.
    let further = try documents(ECSTalk.fates().filter { $0.timestamp < ECSTalk.at(19_000) })
    #expect(Set(further.keys).isDisjoint(with: open))
  }

  @Test("a connection captured midstream has another UID and is marked as midstream")
  func middle() throws {
    let whole = try documents(ECSTalk.fates())
    let part = try documents(ECSTalk.fates().filter { $0.timestamp > ECSTalk.at(4_000) })
    #expect(part.count > 4)
    #expect(Set(part.keys).isDisjoint(with: whole.keys))
    #expect(part.first { $0.key.hasSuffix("-end") }?.value.contains("\"midstream\":true") == true)
    #expect(whole.first { $0.key.hasSuffix("-end") }?.value.contains("\"midstream\":false") == true)
  }

  @Test("a message's ID is its offset in the stream of the lower endpoint, or of the other one")
  func places() throws {
    let uid = Self.uids[0].6
    let ids = try documents(ECSTalk.fates()).keys.filter { Int($0.split(separator: "-").last ?? "") != nil }
    // Five messages of 42 bytes, one of them sent twice; a heartbeat of 28 bytes after the acknowledgment of 32; the server's message
    // after two acknowledgments of 28 bytes.
    #expect(
      ids.sorted() == ["0-0", "0-126", "0-168", "0-210", "0-284", "0-42", "1-56"].map { "\(uid)-\($0)" })
  }

  @Test("IDs of minutes and captures contain run and interface")
  func captures() throws {
    let documents = try ECSRun.documents(ECSTalk.fates())
    let run = RunIdentity(hashing: ["test"]).text
    let metrics = documents.filter { $0.dataset == "imdump.summary" || $0.dataset == "imdump.capture" }
    #expect(Set(metrics.map(\.dataset)) == ["imdump.summary", "imdump.capture"])
    for document in metrics {
      #expect(document.text("event.id")?.hasPrefix("\(run)-eth0-") == true)
    }
  }

  // MARK: Positions

  @Test("messages that begin at the same byte have consecutive ordinals")
  func positions() {
    let end = Endpoint(address: IPAddress(v4: 1), port: 1)
    var record = ConnectionRecord(ConnectionInfo(told: 1, client: end, server: end))
    let ordinals = [
      record.position(at: 5, .clientToServer), record.position(at: 5, .clientToServer),
      record.position(at: 5, .serverToClient), record.position(at: 5, .clientToServer),
      record.position(at: 9, .clientToServer),
    ].map(\.ordinal)
    #expect(ordinals == [0, 1, 0, 2, 0])
  }

  @Test("exchanges keep their positions, owners and flags")
  func entries() throws {
    var registry = ExchangeRegistry(bits: 1)
    let offsets: [UInt64] = [0, 1, 0xffff_ffff, 1 << 40, 1 << 46 - 1]
    for (id, offset) in offsets.enumerated() {
      registry.add(
        UInt32(id), owner: 7, at: StreamPosition(offset: offset, ordinal: UInt16(id)), isLogged: id % 2 == 0)
    }
    for (id, offset) in offsets.enumerated() {
      let known = registry.resolve(UInt32(id))
      let entry = try #require(known)
      #expect(entry.position == StreamPosition(offset: offset, ordinal: UInt16(id)))
      #expect(entry.owner == 7 && entry.isLogged == (id % 2 == 0))
    }
  }

  @Test("irregularities at one offset are numbered, separately for each time if they do not advance the stream")
  func repetitions() {
    var limiter = WeirdLimiter()
    func admit(_ details: IssueDetails, at time: Int64, _ direction: Direction = .clientToServer) -> UInt32? {
      let issue = IMEngine.Issue(
        details, timestamp: Timestamp(microseconds: time), direction: direction, streamOffset: 5)
      return limiter.admit(issue, limit: .max)?.repetition
    }
    let reset = IssueDetails.ignoredReset(sequence: 1, expected: 2)
    #expect([admit(reset, at: 1), admit(reset, at: 1), admit(reset, at: 1, .serverToClient)] == [0, 1, 0])
    #expect([admit(reset, at: 1), admit(reset, at: 2)] == [2, 0])
    #expect([admit(.malformedBody(type: 1), at: 1), admit(.malformedBody(type: 2), at: 9)] == [0, 1])
  }
}
