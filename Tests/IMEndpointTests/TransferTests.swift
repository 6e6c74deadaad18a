import IMWire
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// Large messages, and what passes beside them.
@Suite struct TransferTests {
  /// Bytes that do not compress, and that are not alike anywhere.
  static func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = TestGenerator(seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  @Test func theWindowFollowsTheQueue() {
    var window = DelayWindow()
    func pass(_ bytes: Int, _ milliseconds: Int64, at second: Double) {
      window.sent(bytes)
      window.acknowledged(bytes, after: milliseconds * 1_000_000, at: .seconds(second))
    }
    let first = window.limit
    for step in 0..<4 { pass(window.limit, 50, at: Double(step) / 100) }
    #expect(window.limit == 16 * first)
    // What is not used does not grow.
    pass(first, 50, at: 0.1)
    #expect(window.limit == 16 * first)
    // One that is late may have been lost; three show a queue.
    for _ in 0..<2 { pass(first, 300, at: 0.15) }
    #expect(window.limit == 16 * first)
    // It does not shrink below what the rate carries in a round trip and the time of a piece: 40,960 bytes a second.
    for step in 1...30 { pass(first, 300, at: 0.2 + Double(step) / 5) }
    #expect(window.limit == first)
    // Between short and long it stays.
    for _ in 0..<10 { pass(first, 160, at: 7) }
    #expect(window.limit == first)
    window.sent(first)
    #expect(!window.takesMessages)
    window.released(first)
    // Two pieces, whatever their headers and a text add.
    window.sent(window.pieceCount + 44, isPiece: true)
    window.sent(40)
    #expect(window.takesMessages && window.takesPieces)
    window.sent(window.pieceCount + 44, isPiece: true)
    #expect(window.takesMessages && !window.takesPieces)
  }

  /// A path of 100 kB a second with a round trip of 50 ms, that is always used: after two seconds nothing swings.
  @Test func theWindowStaysWhereThePathIsFull() {
    var window = DelayWindow()
    let (rate, trip) = (100_000.0, 0.05)
    var (now, free) = (0.0, 0.0)
    var underWay: [(sent: Double, answer: Double, count: Int)] = []
    var trips: [Double] = []
    while now < 20 {
      while window.takesPieces {
        let count = window.pieceCount + 44
        free = max(free, now) + Double(count) / rate
        underWay.append((now, free + trip, count))
        window.sent(count, isPiece: true)
      }
      let (sent, answer, count) = underWay.removeFirst()
      now = answer
      if sent > 2 { trips.append(now - sent) }
      window.acknowledged(count, isPiece: true, after: Int64((now - sent) * 1e9), at: .seconds(now))
      // The path is never idle.
      if sent > 2 { #expect(free >= now - trip) }
    }
    #expect(trips.allSatisfy { $0 > 0.2 && $0 < 0.4 }, "\(trips)")
  }

  /// Pieces in any order, some of them twice, are the message.
  @Test(arguments: UInt64(1)...6) func piecesInAnyOrder(seed: UInt64) throws {
    var random = TestGenerator(seed)
    let body = Self.noise(Int.random(in: 40_000...300_000, using: &random), seed: seed)
    var sender = Transfers()
    sender.append(
      QueuedMessage(
        id: MessageID(rawValue: 1), kind: .data, category: .media, priority: .normal, compression: 1, body: body,
        acceptedAt: .seconds(1)))
    var frames: [(FrameHeader, [UInt8])] = []
    while let piece = sender.nextPiece(Int.random(in: 1_000...20_000, using: &random)) {
      let header = FrameHeader(
        kind: .data, sequence: SequenceNumber(.media, UInt32(frames.count + 1)), time: 0, session: 1)
      frames.append((header, piece.body))
    }
    let last = try #require(frames.last?.0.sequence)
    var receiver = Transfers()
    var seen: Set<SequenceNumber> = []
    var whole: [(FrameHeader, [UInt8])] = []
    for (header, frame) in (frames + frames.dropLast()).shuffled(using: &random) {
      let bytes = frame.span.bytes
      let found = IncomingTransfer.Piece(bytes)
      let piece = try #require(found)
      if whole.isEmpty {
        let arrival = receiver.arrived(header, piece, bytes, .memory(limit: .max)) { seen.insert($0).inserted }
        if case .whole(let header, .bytes(let body)) = arrival { whole.append((header, body)) }
      }
    }
    #expect(whole.count == 1 && whole.first?.1 == body)
    #expect(whole.first?.0.sequence == last && whole.first?.0.compression == 1)
    #expect(receiver.incomingBytes == 0)
    for count in 0..<200 { _ = IncomingTransfer.Piece(Array(frames[0].1.prefix(count)).span.bytes) }
  }

  /// What a process that died had sent of a message is not taken for the beginning of another.
  @Test func anotherProcessNamesItsTransfersAnew() throws {
    func traffic(_ epoch: UInt64) -> Traffic {
      Traffic(wireID: 1, strategy: SessionStrategy(), major: 1, start: 0, epoch: epoch)
    }
    var receiver = Transfers()
    var numbers: UInt32 = 0
    var whole: [[UInt8]] = []
    for (epoch, count) in [(UInt64.max, 3), (77, Int.max)] {
      let body = Self.noise(100_000, seed: epoch)
      var sender = traffic(epoch).transfers
      for id: UInt64 in 1...2 {
        sender.append(
          QueuedMessage(
            id: MessageID(rawValue: id), kind: .data, category: .media, priority: .normal, body: body,
            acceptedAt: .seconds(1)))
      }
      var sent = 0
      while sent < count, let piece = sender.nextPiece(10_000) {
        sent += 1
        numbers += 1
        let header = FrameHeader(kind: .data, sequence: SequenceNumber(.media, numbers), time: 0, session: 1)
        let bytes = piece.body.span.bytes
        let found = IncomingTransfer.Piece(bytes)
        let part = try #require(found)
        let arrival = receiver.arrived(header, part, bytes, .memory(limit: .max)) { _ in true }
        if case .whole(_, .bytes(let body)) = arrival { whole.append(body) }
      }
    }
    let body = Self.noise(100_000, seed: 77)
    #expect(whole == [body, body])
  }

  /// Sizes have 64 bits; what no memory is asked for is counted, whatever it says of itself.
  @Test func sizesAreWide() {
    func piece(_ size: UInt64, _ offset: UInt64) -> [UInt8] {
      var body: [UInt8] = []
      TLV.append(.transfer, TLV.bigEndian(size) + [0, 3], to: &body)
      TLV.append(.piece, TLV.bigEndian(UInt64(9)) + TLV.bigEndian(offset), to: &body)
      TLV.append(.pieceBytes, [1, 2, 3], to: &body)
      return body
    }
    let film: UInt64 = 5 << 30
    for (size, offset, isThere) in [
      (film, film - 3, true), (film, film - 2, false), (1 << 48, 0, true), (1 << 48 + 1, 0, false), (.max, .max, false),
    ] {
      #expect((IncomingTransfer.Piece(piece(size, offset).span.bytes) != nil) == isThere, "\(size) \(offset)")
    }
  }

  /// A server takes as much as it says, and refuses what is longer before it has come.
  @Test(arguments: [false, true]) func whatIsTakenIsTheServersChoice(isLarge: Bool) throws {
    let talk = LevelTests.Talk { $0.largestBody = isLarge ? 1 << 20 : 100_000 }
    let ann = try talk.come("ann")
    let bob = try talk.come("bob")
    talk.wait()
    let before = talk.simulation.bytesOnWire
    let body = String(decoding: Self.noise(300_000).map { 97 + $0 % 26 }, as: UTF8.self)
    let id = try talk.say(body, ann, to: "bob")
    talk.wait(20)
    #expect(talk.last(ann.0, id) == (isLarge ? .delivered : .failed))
    #expect(talk.heard[bob.0] == (isLarge ? [body] : nil))
    if !isLarge { #expect(talk.reasons == [.tooLarge] && talk.simulation.bytesOnWire - before < 100_000) }
    #expect(talk.simulation.server.incomingBytes == 0)
  }

  /// A piece that says that it lies far behind takes the memory of its bytes.
  @Test func memoryFollowsWhatCame() throws {
    var transfers = Transfers()
    var body: [UInt8] = []
    TLV.append(.transfer, TLV.bigEndian(UInt64(60 << 20)) + [0, 3], to: &body)
    TLV.append(.piece, TLV.bigEndian(UInt64(9)) + TLV.bigEndian(UInt64(50 << 20)), to: &body)
    TLV.append(.pieceBytes, [1, 2, 3], to: &body)
    let header = FrameHeader(kind: .data, sequence: SequenceNumber(.media, 1), time: 0, session: 1)
    let found = IncomingTransfer.Piece(body.span.bytes)
    let piece = try #require(found)
    let arrival = transfers.arrived(header, piece, body.span.bytes, .memory(limit: 64 << 20)) { _ in true }
    guard case .taken = arrival else { return #expect(Bool(false)) }
    #expect(transfers.incomingBytes == 3)
    let other = transfers.arrived(header, piece, body.span.bytes, .memory(limit: 1 << 20)) { _ in true }
    guard case .refused = other else { return #expect(Bool(false)) }
    #expect(transfers.incomingBytes == 0)
  }

  /// A film over a line, and small messages beside it: the film takes the time that the line needs for ten seconds of it,
  /// and the others wait at most two round trips and half a second.
  @Test(arguments: [32_000.0, 128_000, 400_000], [0.01, 0.025, 0.1]) func aFilmHoldsNothingUp(
    rate: Double, delay: Double
  ) throws {
    let simulation = Simulation(Conditions(delay: delay, rate: rate), seed: 1)
    simulation.sendsAtMost = 32_768
    var (films, texts): ([[UInt8]], Int) = ([], 0)
    simulation.onServerEvent = { event, inbox in
      guard case .message(let message) = event else { return }
      let body = inbox.body(of: message)
      if body.count > 1_000 { films.append(Array(body)) } else { texts += 1 }
    }
    var sentAt: [MessageID: Double] = [:]
    var (waits, filmAt): ([Double], Double?) = ([], nil)
    let (client, session) = try simulation.addClient()
    simulation.run(until: 1_001)
    let film = Self.noise(Int(rate) * 10)
    let id = try simulation.clients[client].send(body: film, category: .media, in: session, at: simulation.moment)
    simulation.onClientEvent = { _, event, _ in
      guard case .progress(let message, _, .accepted) = event else { return }
      if message == id { filmAt = simulation.now - 1_001 }
      if let at = sentAt[message] { waits.append(simulation.now - at) }
    }
    simulation.settle(client: client)
    for step in 0..<20 {
      simulation.after(Double(step) / 2 + 0.1) {
        let message = try? simulation.clients[client].send(
          Message(.text("beside"), to: nil), in: session, at: simulation.moment)
        if let message { sentAt[message] = simulation.now }
        simulation.settle(client: client)
      }
    }
    simulation.run(until: 1_030)
    #expect(films == [film] && texts == 20 && waits.count == 20)
    // A long round trip takes some of them until the window is as large as the path.
    #expect(filmAt.map { $0 >= 10 && $0 <= 10.8 + 5 * delay * 2 } == true, "\(filmAt ?? 0)")
    #expect(waits.max() ?? 9 <= 2 * 2 * delay + 0.5, "\(waits)")
    #expect(simulation.clients[client].metrics.messagesRetried == 0)
  }

  /// Connections that are lost in the middle: what has arrived does not go out again.
  @Test(arguments: [UInt64(1), 2, 3]) func aFilmGoesOnWhereItWas(seed: UInt64) throws {
    let simulation = Simulation(
      Conditions(delay: 0.025, loss: 0.02, outages: [1_003...1_005, 1_008...1_009.5], rate: 128_000), seed: seed)
    simulation.sendsAtMost = 32_768
    var films: [[UInt8]] = []
    simulation.onServerEvent = { event, inbox in
      if case .message(let message) = event { films.append(Array(inbox.body(of: message))) }
    }
    let (client, session) = try simulation.addClient()
    simulation.run(until: 1_001)
    let film = Self.noise(1_000_000, seed: seed)
    try simulation.clients[client].send(body: film, category: .media, in: session, at: simulation.moment)
    simulation.settle(client: client)
    for moment in [2.0, 6, 11] { simulation.after(moment) { simulation.resetAll() } }
    simulation.run(until: 1_060)
    #expect(films == [film])
    #expect(simulation.clients[client].waiting(in: session) == (0, 0))
    #expect(simulation.clients[client].metrics.bytesSent < 1_300_000, "\(simulation.clients[client].metrics.bytesSent)")
  }

  /// A peer that knows no pieces gets one frame; what no frame can carry fails.
  @Test func withoutPiecesOneFrame() throws {
    var server = ServerConfiguration(seed: 1)
    server.speech.features.remove(.transfers)
    let simulation = Simulation(server: server, seed: 1)
    var counts: [Int] = []
    var reasons: [FailureReason] = []
    simulation.onServerEvent = { event, inbox in
      if case .message(let message) = event { counts.append(inbox.body(of: message).count) }
    }
    simulation.onClientEvent = { _, event, _ in if case .failure(_, _, let reason) = event { reasons.append(reason) } }
    let (client, session) = try simulation.addClient()
    for count in [200_000, 11 << 20, 50_000] {
      try simulation.clients[client].send(
        body: [UInt8](repeating: 7, count: count), category: .media, in: session, at: simulation.moment)
      simulation.settle(client: client)
      simulation.run(until: simulation.now + 5)
    }
    #expect(counts == [200_000, 50_000] && reasons == [.tooLarge])
  }
}
