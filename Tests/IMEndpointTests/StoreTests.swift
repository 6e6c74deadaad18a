import Foundation
import IMMailbox
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// What outlives a process, and one that was killed at any moment.
@Suite struct StoreTests {
  private func withFolder<Value>(_ body: (String) throws -> Value) throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appending(path: "endpoint-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder.path)
  }

  private static func message(_ number: UInt64, to user: String = "bob") -> StoredMessage {
    StoredMessage(
      conversation: user, isGroup: false, number: number, category: .normal, priority: .high,
      body: Array("text \(number)".utf8))
  }

  @Test func aClientsStateIsWhatWasWritten() throws {
    try withFolder { folder in
      let ann = ClientIdentity(high: 1, low: 2)
      let identity: ClientIdentity
      let secret: DeviceSecret
      do {
        let store = try FileStore(folder: folder)
        (identity, secret) = (store.identity, store.secret)
        #expect(store.state.waiting.isEmpty)
        // A second process would number its messages alike.
        #expect(throws: StoreError.self) { try FileStore(folder: folder) }
        try store.append((1...5).map { .sent(Self.message($0)) })
        try store.append([
          .settled(conversation: "bob", isGroup: false, number: 2), .sent(Self.message(1, to: "zoe")),
          .settled(conversation: "zoe", isGroup: false, number: 1),
          .received(device: ann, group: nil, number: 7), .received(device: ann, group: nil, number: 9),
          .received(device: ann, group: "team", number: 1 << 56 | 3),
        ])
      }
      // What was cut off when the machine went down is left out; what is before it stays.
      let path = folder + "/state"
      var bytes = try Data(contentsOf: URL(filePath: path))
      bytes += [0, 0, 0, 40, 1, 2, 3, 4, 1]
      try bytes.write(to: URL(filePath: path))
      for _ in 0..<2 {
        let store = try FileStore(folder: folder)
        #expect(store.identity == identity && store.secret == secret)
        #expect(store.state.waiting == [1, 3, 4, 5].map { Self.message($0) })
        var core = ClientCore(ClientConfiguration(server: Simulation.address, seed: 1))
        let session = core.addSession(at: .seconds(1))
        let restored = core.restore(store.state, in: session, at: .seconds(1))
        #expect(restored.map(\.message.number) == [1, 3, 4, 5])
        // Numbers go on behind those that were ever given.
        for (user, next): (String, UInt64) in [("bob", 6), ("zoe", 2), ("eve", 1)] {
          let upcoming = core.numbers.upcoming(Conversation(name: user, isGroup: false, lane: 0))
          #expect(upcoming == next)
        }
        var direct = try #require(core.arrivals[IncomingConversation(device: ann, group: nil, lane: 0)])
        let verdicts = [7, 9, 8].map { direct.take($0) }
        #expect(verdicts == [.duplicate, .duplicate, .told])
        #expect(core.arrivals[IncomingConversation(device: ann, group: "team", lane: 1)]?.seen.contains(3) == true)
      }
    }
  }

  /// A record that is spoilt anywhere ends the file there, and nothing traps.
  @Test func aSpoiltStateIsReadAsFarAsItGoes() throws {
    try withFolder { folder in
      do { try FileStore(folder: folder).append((1...20).map { .sent(Self.message($0)) }) }
      let path = URL(filePath: folder + "/state")
      let good = try Data(contentsOf: path)
      var random = TestGenerator(9)
      for _ in 0..<60 {
        var bytes = good
        let place = Int.random(in: 45..<bytes.count, using: &random)
        bytes[place] ^= UInt8.random(in: 1...255, using: &random)
        try bytes.write(to: path)
        let waiting = try FileStore(folder: folder).state.waiting.map(\.number)
        #expect(waiting == Array(1...20).prefix(waiting.count).map { UInt64($0) })
      }
      try Data("nothing of ours, and long enough to be it, if it were only ours".utf8).write(to: path)
      #expect(throws: StoreError.self) { try FileStore(folder: folder) }
    }
  }

  @Test func aServersStateIsWhatWasWritten() throws {
    try withFolder { folder in
      func key(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 16) }
      func letter(_ id: UInt64) -> StoredLetter {
        StoredLetter(
          id: id, user: "bob", body: [UInt8](repeating: UInt8(id), count: Int(id) * 100), isCompressed: id % 2 == 0,
          category: .media, sender: id == 3 ? [] : key(1))
      }
      let device = StoredDevice(key: key(2), identity: key(3), user: "bob", expiry: 3_600, joined: 2)
      let numbers = StoredNumbers(
        key: key(1), conversation: "bob", isGroup: true, lane: 5, floor: 1 << 40, others: [1 << 40 + 3, 1 << 40 + 9])
      do {
        let mailbox = try SQLiteMailbox(folder: folder)
        #expect(throws: MailboxError.self) { try SQLiteMailbox(folder: folder) }
        try mailbox.apply((1...4).map { .put(letter($0)) } + [.device(device), .numbers(numbers)])
        try mailbox.apply([.delivered(2), .took(2, key: key(2)), .took(3, key: key(2)), .removed(3)])
      }
      let state = try SQLiteMailbox(folder: folder).load()
      var second = letter(2)
      second.isDelivered = true
      #expect(state.letters == [letter(1), second, letter(4)])
      #expect(state.devices == [device] && state.numbers == [numbers])
      #expect(state.taken.map(\.letter) == [2] && state.taken.first?.key == key(2))
      let mailbox = try SQLiteMailbox(folder: folder)
      try mailbox.apply([.forgot(key: key(2))])
      let rest = try mailbox.load()
      #expect(rest.devices.isEmpty && rest.taken.isEmpty && rest.letters.count == 3)
    }
  }

  /// A server that is killed between any two batches: what it had acknowledged reaches every device once, whatever its
  /// clients send again.
  @Test(arguments: [UInt64(1), 2, 3, 4]) func aServerIsKilledAgainAndAgain(seed: UInt64) throws {
    try withFolder { folder in
      var configuration = ServerConfiguration(seed: seed)
      configuration.service = .forward
      configuration.isDurable = true
      let simulation = Simulation(server: configuration, seed: seed)
      let mailbox = try SQLiteMailbox(folder: folder)
      simulation.onServerTurn = { core in
        do { try mailbox.apply(core.takeOperations()) } catch { Issue.record("\(error)") }
        core.stored(at: simulation.moment)
      }
      var heard: [Int: [String]] = [:]
      var accepted: Set<MessageID> = []
      simulation.onClientEvent = { client, event, inbox in
        if client == 0, case .progress(let id, _, .accepted) = event { accepted.insert(id) }
        guard case .message(let message) = event, case .text(let text)? = try? inbox.content(of: message).content else {
          return
        }
        heard[client, default: []].append(text)
      }
      var sessions: [SessionID] = []
      for (index, user) in ["ann", "bob", "bob"].enumerated() {
        var configuration = simulation.configuration(index)
        (configuration.user, configuration.expiry) = (user, .seconds(86_400))
        sessions.append(try simulation.addClient(configuration).session)
      }
      simulation.run(until: 1_001)
      var ids: [MessageID] = []
      for number in 0..<200 {
        simulation.after(Double(number) * 0.05) {
          let message = Message(.text("\(number)"), to: "bob")
          if let id = try? simulation.clients[0].send(message, in: sessions[0], at: simulation.moment) {
            ids.append(id)
          }
          simulation.settle(client: 0)
        }
      }
      var random = TestGenerator(seed)
      for moment in (0..<4).map({ _ in Double.random(in: 0.5..<9, using: &random) }) {
        simulation.after(moment) {
          simulation.resetAll()
          // Another process draws other numbers.
          configuration.seed += 100
          simulation.server = ServerCore(configuration)
          simulation.server.setWallClock(unixSeconds: 1_700_000_000, at: simulation.moment)
          do {
            simulation.server.restore(try mailbox.load(), at: simulation.moment)
          } catch { Issue.record("\(error)") }
        }
      }
      simulation.run(until: 1_060)
      #expect(ids.count == 200 && accepted == Set(ids))
      for client in [1, 2] { #expect(heard[client] == (0..<200).map { "\($0)" }, "\(client)") }
      simulation.run(until: 1_100)
      #expect(simulation.server.mailboxBytes == 0)
    }
  }
}
