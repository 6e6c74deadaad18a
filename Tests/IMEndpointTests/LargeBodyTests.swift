import Foundation
import IMMailbox
import IMWire
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// Bodies in memory that outlive the cores which write them, as a disk does.
final class TestBodies: BodyStore, @unchecked Sendable {
  private(set) var bodies: [UInt64: [UInt8]] = [:]
  private var notes: [UInt64: [UInt8]] = [:]
  /// Whether the first byte of what is written is spoilt.
  var spoils = false
  var isFull = false

  func write(_ bytes: RawSpan, of body: UInt64, at offset: Int) -> Bool {
    guard !isFull else { return false }
    var all = bodies[body] ?? []
    if all.count < offset + bytes.byteCount {
      all += [UInt8](repeating: 0, count: offset + bytes.byteCount - all.count)
    }
    for place in 0..<bytes.byteCount { all[offset + place] = bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self) }
    if spoils { all[offset] ^= 1 }
    bodies[body] = all
    return true
  }

  func note(_ record: [UInt8]?, of body: UInt64) { notes[body] = record }
  func reader(of body: UInt64) -> (any BodyReader)? { bodies[body].map { StoreReader(self, body, $0.count) } }
  func remove(_ body: UInt64) { (bodies[body], notes[body]) = (nil, nil) }
  func records() -> [(body: UInt64, record: [UInt8])] { notes.map { ($0.key, $0.value) } }
}

/// Reads what a store has when it is asked.
private final class StoreReader: BodyReader, @unchecked Sendable {
  private let store: TestBodies
  private let body: UInt64
  let byteCount: Int
  init(_ store: TestBodies, _ body: UInt64, _ byteCount: Int) {
    (self.store, self.body, self.byteCount) = (store, body, byteCount)
  }
  func read(at offset: Int, count: Int) -> [UInt8]? {
    guard let bytes = store.bodies[body], offset + count <= bytes.count else { return nil }
    return Array(bytes[offset..<offset + count])
  }
  func digest() -> [UInt8]? { store.bodies[body].map { SHA256.hash($0) } }
}

final class TestReader: BodyReader, @unchecked Sendable {
  private let bytes: [UInt8]
  /// Where the bytes end that can be read.
  var end = Int.max
  var byteCount: Int { bytes.count }
  init(_ bytes: [UInt8]) { self.bytes = bytes }
  func read(at offset: Int, count: Int) -> [UInt8]? {
    offset + count <= min(bytes.count, end) ? Array(bytes[offset..<offset + count]) : nil
  }
  func digest() -> [UInt8]? { SHA256.hash(bytes) }
}

/// Large messages that no memory holds: over the server's store, and on after any of the three was killed.
@Suite struct LargeBodyTests {
  // MARK: ranges

  /// The same as a set of offsets.
  @Test(arguments: UInt64(1)...8) func rangesAreASet(seed: UInt64) {
    var random = TestGenerator(seed)
    var ranges = ByteRanges()
    var known: Set<Int> = []
    for _ in 0..<200 {
      let start = Int.random(in: 0..<120, using: &random)
      let range = start..<start + Int.random(in: 0...12, using: &random)
      let missing = ranges.missing(in: range)
      #expect(missing.flatMap { Array($0) } == range.filter { !known.contains($0) })
      #expect(zip(missing, missing.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
      let from = Int.random(in: 0..<120, using: &random)
      let gap = ranges.gap(from: from)
      #expect(gap.start == (from...200).first { !known.contains($0) })
      #expect(gap.end == (gap.start..<300).first { known.contains($0) })
      ranges.insert(range)
      known.formUnion(range)
      #expect(ranges.total == known.count && ranges.all.flatMap { Array($0) } == known.sorted())
      #expect(zip(ranges.all, ranges.all.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
    }
  }

  // MARK: a talk of three that may be killed

  /// Ann sends Bob a file through a server; each has a disk and may be killed.
  final class Trio {
    let simulation: Simulation
    let mailbox: SQLiteMailbox
    let atServer = TestBodies()
    let atBob = TestBodies()
    let reader: TestReader
    private var server: ServerConfiguration
    private var state = ClientState()
    private var bobState = ClientState()
    private var sessions: [SessionID] = []
    private var configurations: [ClientConfiguration] = []
    private var seed: UInt64 = 50
    var states: [MessageState] = []
    var reasons: [FailureReason] = []
    var films: [[UInt8]] = []
    var names: [String?] = []
    var damaged = 0
    var withdrawn = 0
    /// When Bob was first told that a film arrives.
    var beganAt: Double?
    /// When the last film was told.
    var filmAt = 0.0
    var progress: [TransferProgress] = []

    init(
      _ bytes: [UInt8], _ folder: String, conditions: Conditions = Conditions(delay: 0.01, rate: 400_000),
      server change: (inout ServerConfiguration) -> Void = { _ in },
      clients: (inout ClientConfiguration) -> Void = { _ in }
    ) throws {
      reader = TestReader(bytes)
      mailbox = try SQLiteMailbox(folder: folder, sync: .normal)
      server = ServerConfiguration(seed: 1)
      (server.service, server.isDurable) = (.forward, true)
      change(&server)
      simulation = Simulation(conditions, server: server, seed: 3)
      simulation.sendsAtMost = 65_536
      simulation.server.bodies = atServer
      simulation.onServerTurn = { [unowned self] core in
        do { try mailbox.apply(core.takeOperations()) } catch { Issue.record("\(error)") }
        core.stored(at: simulation.moment)
      }
      simulation.onClientEvent = { [unowned self] client, event, inbox in
        keep(client)
        switch event {
        case .progress(_, _, let state) where client == 0: states.append(state)
        case .failure(_, _, let reason): reasons.append(reason)
        case .sending(_, _, let progress): self.progress.append(progress)
        case .damagedContent: damaged += 1
        case .withdrawn: withdrawn += 1
        case .receiving where client == 1: beganAt = beganAt ?? simulation.now
        case .message(let message) where client == 1:
          guard case .file(let media)? = try? inbox.content(of: message).content else { return }
          names.append(media.name)
          filmAt = simulation.now
          if let stored = message.stored {
            films.append(atBob.bodies[stored.body] ?? [])
            atBob.remove(stored.body)
            #expect(media.bytes.isEmpty && films.last?.count == stored.byteCount)
          } else {
            films.append(media.bytes)
          }
        default: break
        }
      }
      for (index, user) in ["ann", "bob"].enumerated() {
        var configuration = simulation.configuration(index)
        (configuration.user, configuration.expiry) = (user, .seconds(86_400))
        (configuration.isKept, configuration.reportsTransfers) = (true, true)
        clients(&configuration)
        configurations.append(configuration)
        sessions.append(try simulation.addClient(configuration, connects: false).session)
        if index == 1 { simulation.clients[1].bodies = atBob }
        try connect(index)
      }
      simulation.run(until: simulation.now + 1)
    }

    private func connect(_ client: Int) throws {
      try simulation.clients[client].connect(sessions[client], at: simulation.moment)
      simulation.settle(client: client)
    }

    /// What a store would have written.
    func keep(_ client: Int) {
      for operation in simulation.clients[client].takeOperations() {
        if client == 0 { state.apply(operation) } else { bobState.apply(operation) }
      }
    }

    func send() throws {
      let file = StoredFile(path: "/film", byteCount: reader.byteCount, modified: 1)
      try simulation.clients[0].send(
        Message(.file(.init([], name: "film")), to: "bob"), content: reader, file: file, in: sessions[0],
        at: simulation.moment)
      keep(0)
      simulation.settle(client: 0)
    }

    func wait(_ seconds: Double) {
      simulation.run(until: simulation.now + seconds)
      for client in 0..<2 {
        simulation.clients[client].confirmTaken(at: simulation.moment)
        simulation.settle(client: client)
        keep(client)
      }
    }

    /// Another process of a client, with what the one before had kept.
    func restartClient(_ client: Int) throws {
      simulation.forget(client: client)
      seed += 1
      configurations[client].seed = seed
      simulation.clients[client] = ClientCore(configurations[client])
      simulation.clients[client].setWallClock(unixSeconds: 1_700_000_000, at: simulation.moment)
      if client == 1 { simulation.clients[1].bodies = atBob }
      sessions[client] = simulation.clients[client].addSession(at: simulation.moment)
      _ = simulation.clients[client].restore(
        client == 0 ? state : bobState, in: sessions[client], at: simulation.moment
      ) { file in
        #expect(file.path == "/film")
        return self.reader
      }
      try connect(client)
    }

    func restartServer() throws {
      simulation.resetAll()
      seed += 1
      server.seed = seed
      simulation.server = ServerCore(server)
      simulation.server.bodies = atServer
      simulation.server.setWallClock(unixSeconds: 1_700_000_000, at: simulation.moment)
      simulation.server.restore(try mailbox.load(), at: simulation.moment)
    }
  }

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "large-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  /// Who is killed, and when in seconds: the film takes five to the server, and follows to Bob at once.
  static let kills: [[(Character, Double)]] = [
    [], [("a", 2)], [("s", 2)], [("b", 3)], [("s", 4.9)], [("a", 1), ("s", 2), ("a", 3), ("b", 4), ("s", 5), ("b", 7)],
  ]

  /// Bytes on the wire where no process is killed, with headers and answers.
  static let undisturbed = Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "large-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let trio = try Trio(TransferTests.noise(2_000_000, seed: 5), folder.path)
    try trio.send()
    let before = trio.simulation.bytesOnWire
    trio.wait(60)
    return trio.simulation.bytesOnWire - before
  }

  @Test(arguments: 0..<6) func aFilmOutlivesEveryProcess(index: Int) throws {
    try withFolder { folder in
      let film = TransferTests.noise(2_000_000, seed: 5)
      let trio = try Trio(film, folder)
      try trio.send()
      let before = trio.simulation.bytesOnWire
      let begin = trio.simulation.now
      var last = 0.0
      for (who, moment) in Self.kills[index] {
        trio.wait(moment - last)
        last = moment
        switch who {
        case "a": try trio.restartClient(0)
        case "b": try trio.restartClient(1)
        default: try trio.restartServer()
        }
      }
      trio.wait(60)
      #expect(trio.films.count == 1 && trio.films.first == film && trio.names == ["film"])
      // Both hops one after the other take eleven seconds; no connection waits for what no one will answer. Who was away when the film
      // began, or whose server was, gets it when it is whole.
      let took = trio.filmAt - begin
      let kills = Self.kills[index].count
      #expect(took < (index < 2 ? 7.5 : 12) + 1.5 * Double(kills), "\(took)")
      #expect(trio.states.contains(.accepted) && trio.reasons.isEmpty)
      #expect(trio.states.last == .delivered)
      // Over the wire twice. What has arrived does not go out again, whichever process was killed: a kill costs what was under way.
      let sent = trio.simulation.bytesOnWire - before
      let undisturbed = try Self.undisturbed.get()
      #expect(sent < undisturbed / 100 * (102 + 3 * kills), "\(sent) and not \(undisturbed)")
      // It costs nothing any more.
      #expect(trio.atServer.bodies.isEmpty && trio.atServer.records().isEmpty)
      #expect(trio.atBob.bodies.isEmpty && trio.atBob.records().isEmpty)
      #expect(trio.simulation.server.mailboxBytes == 0 && trio.simulation.server.incomingBytes == 0)
      #expect(trio.simulation.server.bodyUses.isEmpty)
      #expect(try trio.mailbox.load().letters.isEmpty)
    }
  }

  /// Outages, on a line that loses segments: a tenth more, at most.
  @Test(arguments: [UInt64(1), 2]) func outagesCostATenth(seed: UInt64) throws {
    try withFolder { folder in
      let film = TransferTests.noise(1_500_000, seed: seed)
      let start = 1_001.0
      let trio = try Trio(
        film, folder,
        conditions: Conditions(
          delay: 0.02, outages: [start + 1...start + 4, start + 8...start + 9], rate: 300_000))
      let before = trio.simulation.bytesOnWire
      try trio.send()
      trio.wait(60)
      #expect(trio.films == [film])
      #expect(trio.simulation.bytesOnWire - before < 2 * 1_500_000 / 10 * 11)
      #expect(zip(trio.progress, trio.progress.dropFirst()).allSatisfy { $0.byteCount <= $1.byteCount })
      #expect(trio.progress.last.map { $0.byteCount == $0.total && $0.total >= film.count } == true)
    }
  }

  /// Ends that know less: without resumption, without pieces, without a store at the server or the recipient.
  @Test(arguments: 0..<5) func olderEnds(index: Int) throws {
    try withFolder { folder in
      let film = TransferTests.noise(500_000, seed: 2)
      let lacking: Features = index == 0 ? .resumption : index == 1 ? .transfers : index == 4 ? .relays : []
      let trio = try Trio(film, folder) { $0.speech.features.remove(lacking) }
      if index == 2 { trio.simulation.server.bodies = nil }
      if index == 3 { trio.simulation.clients[1].bodies = nil }
      try trio.send()
      trio.wait(1)
      if index == 0 { try trio.restartServer() }
      trio.wait(40)
      #expect(trio.films == [film] && trio.reasons.isEmpty)
      #expect(trio.simulation.server.mailboxBytes == 0 && trio.simulation.server.incomingBytes == 0)
    }
  }

  /// Upload and download overlap: little more than the time of one, and not the eleven seconds of both.
  @Test func aFilmGoesOnWhileItComes() throws {
    try withFolder { folder in
      let film = TransferTests.noise(2_000_000, seed: 9)
      let trio = try Trio(film, folder)
      let begin = trio.simulation.now
      try trio.send()
      trio.wait(30)
      #expect(trio.films == [film] && trio.states.last == .delivered)
      // Five seconds to the server.
      #expect(trio.beganAt.map { $0 - begin < 1 } == true)
      #expect(trio.filmAt - begin < 7.5, "\(trio.filmAt - begin)")
      #expect(trio.simulation.server.relays.isEmpty && trio.atServer.bodies.isEmpty)
    }
  }

  /// A sender that is gone for good in the middle: its server forgets what it had, and so does who had a part of it, also where
  /// nothing else has room in the recipient's queue.
  @Test(arguments: [false, true]) func aFilmThatEndsInTheMiddleIsWithdrawn(isFull: Bool) throws {
    try withFolder { folder in
      let trio = try Trio(TransferTests.noise(2_000_000, seed: 3), folder) {
        ($0.memory, $0.grace, $0.expiry) = (.seconds(5), .seconds(5), .seconds(5))
      }
      try trio.send()
      trio.wait(2)
      #expect(trio.atBob.bodies.count == 1 && trio.simulation.server.relays.count == 1)
      trio.simulation.forget(client: 0)
      if isFull {
        for place in trio.simulation.server.sessions.indices {
          trio.simulation.server.sessions[place].traffic.strategy.queues.messages = 0
        }
      }
      trio.simulation.run(until: trio.simulation.now + 60)
      #expect(trio.simulation.server.relays.isEmpty && trio.simulation.server.incomingBytes == 0)
      #expect(trio.atServer.bodies.isEmpty && trio.atServer.records().isEmpty)
      #expect(trio.withdrawn == 1 && trio.films.isEmpty)
      #expect(trio.atBob.bodies.isEmpty && trio.atBob.records().isEmpty)
      #expect(trio.simulation.clients[1].sessions.allSatisfy { $0.traffic.transfers.incomingBytes == 0 })
    }
  }

  /// A message that names another recipient at its end than at its beginning is refused.
  @Test func aFilmThatContradictsItselfIsRefused() throws {
    try withFolder { folder in
      let trio = try Trio(TransferTests.noise(500_000, seed: 4), folder)
      let message = Message(.file(.init([], name: "film")), to: "bob")
      let (head, _) = message.around(
        trio.reader.byteCount,
        origin: MessageOrigin(device: ClientIdentity(high: 1, low: 2), number: 0, milliseconds: 1))
      var tail: [UInt8] = []
      TLV.append(.recipient, "carl".utf8, to: &tail)
      _ = try trio.simulation.clients[0].send(
        head, trio.reader, tail, category: .media, priority: .normal, name: 77, asks: false, 0,
        at: trio.simulation.moment)
      trio.simulation.settle(client: 0)
      trio.wait(20)
      #expect(trio.films.isEmpty && trio.withdrawn == 1 && trio.reasons == [.other])
      #expect(trio.atBob.bodies.isEmpty && trio.atServer.bodies.isEmpty && trio.simulation.server.mailboxBytes == 0)
    }
  }

  /// What a disk has spoilt is not shown, and not said to be delivered.
  @Test func aSpoiltFilmIsNotDelivered() throws {
    try withFolder { folder in
      let trio = try Trio(TransferTests.noise(300_000), folder)
      trio.atBob.spoils = true
      try trio.send()
      trio.wait(10)
      #expect(trio.films.isEmpty && trio.damaged == 1 && trio.states.last == .accepted)
      #expect(trio.atBob.bodies.isEmpty)
      // Another process gets it anew.
      trio.atBob.spoils = false
      try trio.restartClient(1)
      trio.wait(10)
      #expect(trio.films.count == 1 && trio.states.last == .delivered)
    }
  }

  /// A file that ends early, one that another process finds changed, and a server without room.
  @Test func whatCannotBeSentFails() throws {
    let film = TransferTests.noise(300_000)
    try withFolder { folder in
      let trio = try Trio(film, folder)
      trio.reader.end = 200_000
      try trio.send()
      trio.wait(5)
      #expect(trio.reasons == [.unreadable] && trio.states.last == .failed)
    }
    try withFolder { folder in
      let trio = try Trio(film, folder) { $0.mailboxes = MailboxLimits(bytes: 200_000) }
      let before = trio.simulation.bytesOnWire
      try trio.send()
      trio.wait(5)
      #expect(trio.reasons == [.tooLarge] && trio.simulation.bytesOnWire - before < 100_000)
    }
    try withFolder { folder in
      let trio = try Trio(film, folder)
      trio.atServer.isFull = true
      try trio.send()
      trio.wait(5)
      #expect(trio.states.last == .failed && trio.films.isEmpty)
      #expect(trio.simulation.server.incomingBytes == 0)
    }
    try withFolder { folder in
      let trio = try Trio(film, folder) { $0.users = ["ann"] }
      let before = trio.simulation.bytesOnWire
      try trio.send()
      trio.wait(5)
      // Its first bytes say whom it is for.
      #expect(trio.reasons == [.unknownUser] && trio.simulation.bytesOnWire - before < 100_000)
    }
  }

  /// What is left of a message whose client never comes back goes with its device.
  @Test func whatIsNeverFinishedGoes() throws {
    try withFolder { folder in
      let trio = try Trio(
        TransferTests.noise(2_000_000), folder, server: { ($0.memory, $0.expiry) = (.seconds(600), .seconds(600)) })
      try trio.send()
      trio.wait(2)
      #expect(!trio.atServer.bodies.isEmpty)
      trio.simulation.forget(client: 0)
      trio.simulation.run(until: trio.simulation.now + 2_000)
      #expect(trio.atServer.bodies.isEmpty && trio.simulation.server.incomingBytes == 0)
    }
  }

  /// Records of what has come are read as far as they are whole.
  @Test func recordsMayBeAnything() throws {
    var body: [UInt8] = []
    TLV.append(.transfer, TLV.bigEndian(UInt64(100_000)) + [0, 3], to: &body)
    TLV.append(.piece, TLV.bigEndian(UInt64(9)) + TLV.bigEndian(UInt64(0)), to: &body)
    var inner: [UInt8] = []
    TLV.append(.recipient, "bob".utf8, to: &inner)
    TLV.append(head: .file, count: 99_000, to: &inner)
    TLV.append(.pieceBytes, inner + [1, 2, 3], to: &body)
    let found = IncomingTransfer.Piece(body.span.bytes)
    let piece = try #require(found)
    var transfer = IncomingTransfer(piece)
    let bodies = TestBodies()
    let isTaken = transfer.take(piece, body.span.bytes, .content(bodies, body: 4, limit: 10))
    #expect(isTaken)
    #expect(bodies.bodies[4] == [1, 2, 3])
    let owner = [UInt8](repeating: 8, count: 16)
    let record = try #require(transfer.record(name: 9, owner: owner))
    var (name, known): (UInt64, [UInt8]) = (0, [])
    let again = IncomingTransfer(record: record, body: 4, name: &name, owner: &known)
    #expect(name == 9 && known == owner && again?.ranges == transfer.ranges && again?.size == 100_000)
    #expect(again?.stored?.content == transfer.stored?.content && again?.stored?.prefix == inner)
    var random = TestGenerator(1)
    for count in 0..<record.count {
      #expect(IncomingTransfer(record: Array(record[..<count]), body: 4, name: &name, owner: &known) == nil)
      var bytes = record
      bytes[count] ^= UInt8.random(in: 1...255, using: &random)
      // Also with a checksum that is right.
      bytes.replaceSubrange(
        (record.count - 4)..., with: TLV.bigEndian(Checksum.of(bytes.span.bytes.extracting(0..<record.count - 4))))
      _ = IncomingTransfer(record: bytes, body: 4, name: &name, owner: &known)
    }
  }

  /// The files of a folder, as a later process finds them; digests are those of another implementation.
  @Test func filesAreWhatWasWritten() throws {
    try withFolder { folder in
      let bytes = TransferTests.noise(3_000_000, seed: 4)
      let name: UInt64 = 0x1234
      do {
        let bodies = try FileBodies(folder: folder + "/bodies", keepsRecords: true, computesDigests: true)
        for start in stride(from: 0, to: bytes.count, by: 50_000).shuffled() {
          let part = Array(bytes[start..<min(bytes.count, start + 50_000)])
          let isWritten = bodies.write(part.span.bytes, of: name, at: start)
          #expect(isWritten)
        }
        bodies.note([1, 2, 3, 4], of: name)
        bodies.note([5, 6], of: name)
        #expect(bodies.reader(of: name)?.digest() == SHA256.hash(bytes))
        for other: UInt64 in 1...80 { _ = bodies.write([UInt8(7)].span.bytes, of: other, at: 0) }
      }
      let bodies = try FileBodies(folder: folder + "/bodies", keepsRecords: true)
      #expect(bodies.records().map(\.record) == [[5, 6]] && bodies.records().map(\.body) == [name])
      let reader = try #require(bodies.reader(of: name))
      #expect(
        reader.byteCount == bytes.count && reader.read(at: 1_000_000, count: 3) == Array(bytes[1_000_000..<1_000_003]))
      #expect(reader.read(at: bytes.count - 1, count: 2) == nil && reader.digest() == SHA256.hash(bytes))
      bodies.removeAll(but: [3])
      #expect(bodies.reader(of: 3)?.byteCount == 1 && bodies.reader(of: 4) == nil && bodies.reader(of: name) != nil)
      bodies.remove(name)
      #expect(bodies.records().isEmpty && bodies.reader(of: name) == nil)
      // Without a folder nothing is left over.
      let nameless = try FileBodies(folder: nil, keepsRecords: false)
      _ = nameless.write(bytes.span.bytes, of: 1, at: 10)
      #expect(nameless.reader(of: 1)?.read(at: 10, count: 5) == Array(bytes[..<5]))
      nameless.remove(1)
      #expect(nameless.reader(of: 1) == nil)
      #expect(throws: StoreError.self) { try FileReader(folder) }
    }
  }

  /// A client's store finds a file that waits again.
  @Test func aFileThatWaitsIsKept() throws {
    try withFolder { folder in
      var file = StoredFile(path: "/tmp/ä film", byteCount: 5 << 30, modified: -3)
      (file.transfer, file.headCount) = (.max, 7)
      let message = StoredMessage(
        conversation: "bob", isGroup: true, number: 1 << 56 | 9, category: .media, priority: .low,
        body: Array("around".utf8), file: file)
      do { try FileStore(folder: folder).append([.sent(message)]) }
      for _ in 0..<2 { #expect(try FileStore(folder: folder).state.waiting == [message]) }
    }
  }

  // MARK: what a server has refused

  /// A number that was refused is no gap: what follows is told at once, and nothing is said to be missing.
  @Test func whatWasRefusedIsNotMissing() throws {
    let talk = LevelTests.Talk { $0.mailboxes = MailboxLimits(letters: 2) }
    var gaps = 0
    let told = talk.simulation.onClientEvent
    talk.simulation.onClientEvent = { client, event, inbox in
      told(client, event, inbox)
      if case .gap = event { gaps += 1 }
    }
    let ann = try talk.come("ann")
    for number in 0..<5 { try talk.say("\(number)", ann, to: "bob") }
    talk.wait()
    #expect(talk.reasons == [.mailboxFull, .mailboxFull, .mailboxFull])
    let bob = try talk.come("bob")
    talk.wait()
    try talk.say("after", ann, to: "bob")
    talk.wait()
    #expect(talk.heard[bob.0] == ["0", "1", "after"] && gaps == 0)
    try talk.say("and on", ann, to: "bob")
    talk.wait(15)
    #expect(talk.heard[bob.0] == ["0", "1", "after", "and on"] && gaps == 0)
  }
}
