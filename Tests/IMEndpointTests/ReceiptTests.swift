import Foundation
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore
@testable import IMMailbox

/// Receipts find the sender, whatever became of its session and of the server's process.
@Suite struct ReceiptTests {
  private func leave(_ who: (Int, SessionID), _ talk: LevelTests.Talk) {
    talk.simulation.clients[who.0].forceDisconnect(who.1, at: talk.simulation.moment)
    talk.simulation.settle(client: who.0)
    talk.wait()
  }

  private func comeBack(_ who: (Int, SessionID), _ talk: LevelTests.Talk) throws {
    try talk.simulation.clients[who.0].connect(who.1, at: talk.simulation.moment)
    talk.simulation.settle(client: who.0)
    talk.wait()
  }

  /// Each message that a client has heard is marked as read.
  private func reads(_ who: [Int], _ talk: LevelTests.Talk) {
    let told = talk.simulation.onClientEvent
    talk.simulation.onClientEvent = { client, event, inbox in
      told(client, event, inbox)
      guard who.contains(client), case .message(let message) = event else { return }
      let group = (try? inbox.content(of: message))?.group
      talk.simulation.after(0.1) {
        try? talk.simulation.clients[client].markRead(
          message.sequence, in: message.session, origin: message.origin, group: group, at: talk.simulation.moment)
        talk.simulation.settle(client: client)
      }
    }
  }

  @Test func whoIsAwayIsToldLater() throws {
    let talk = LevelTests.Talk()
    let ann = try talk.come("ann")
    let ids = try (0..<300).map { try talk.say("\($0)", ann, to: "bob") }
    talk.wait()
    leave(ann, talk)
    reads([1], talk)
    let bob = try talk.come("bob")
    talk.wait(3)
    #expect(talk.heard[bob.0]?.count == 300 && talk.simulation.server.pendingReceiptCount == 600)
    #expect(ids.allSatisfy { talk.last(ann.0, $0) == .accepted })
    try comeBack(ann, talk)
    #expect(ids.allSatisfy { talk.states[ann.0]?[$0]?.suffix(2) == [.delivered, .read] })
    #expect(talk.simulation.server.pendingReceiptCount == 0 && talk.simulation.server.receiptsLost == 0)
  }

  /// Receipts name many messages, and are as long as it takes.
  @Test func manyAreToldAtOnce() throws {
    let talk = LevelTests.Talk()
    let ann = try talk.come("ann")
    let ids = try (0..<900).map { try talk.say("\($0)", ann, to: "bob") }
    talk.wait()
    let bob = try talk.come("bob")
    talk.wait(3)
    #expect(talk.heard[bob.0]?.count == 900 && ids.allSatisfy { talk.last(ann.0, $0) == .delivered })
  }

  /// What was sent to a session that is taken over was never acknowledged there: the next process is told it.
  @Test func anotherProcessIsToldOfMessagesFromBefore() throws {
    let talk = LevelTests.Talk()
    let ann = try talk.come("ann") { $0.expiry = .seconds(3_600) }
    try talk.say("first", ann, to: "bob")
    talk.wait()
    talk.simulation.stall()
    _ = try talk.come("bob")
    talk.wait(2)
    var earlier: [String] = []
    let told = talk.simulation.onClientEvent
    talk.simulation.onClientEvent = { client, event, inbox in
      told(client, event, inbox)
      guard case .earlier(let receipt) = event else { return }
      earlier.append("\(client) \(inbox.conversation(of: receipt)) \(receipt.number) \(receipt.state)")
    }
    let old = talk.simulation.clients[ann.0].configuration
    _ = try talk.come("ann") {
      ($0.identity, $0.secret, $0.expiry) = (old.identity, old.secret, .seconds(3_600))
    }
    talk.wait(2)
    #expect(earlier == ["2 bob 1 delivered"])
    #expect(talk.simulation.server.pendingReceiptCount == 0)
  }

  @Test func tooManyAreCounted() throws {
    let talk = LevelTests.Talk { $0.mailboxes = MailboxLimits(letters: 20_000) }
    let ann = try talk.come("ann")
    let device = Int(talk.simulation.server.deviceIndex.first?.value ?? 0)
    let id = talk.simulation.server.id(ofDevice: device)
    leave(ann, talk)
    for number in 1...5_000 {
      let name = MessageName(conversation: "bob", isGroup: false, number: UInt64(number))
      for _ in 0..<2 {
        talk.simulation.server.queueReceipt(SentFrom(id, name), isRead: false, at: talk.simulation.moment)
      }
    }
    #expect(talk.simulation.server.pendingReceiptCount == ServerCore.mostPendingReceipts)
    #expect(talk.simulation.server.receiptsLost == 5_000 - UInt64(ServerCore.mostPendingReceipts))
    #expect(talk.simulation.server.devices[device].pendingReceipts.all.first?.entry.name.number == 905)
  }

  @Test func theOldestMessagesToGroupsGoAndAreCounted() throws {
    var log = GroupLog()
    let from = SentFrom(.none, MessageName(conversation: "team", isGroup: true, number: 1))
    func append(_ number: Int, _ members: Int = 3) {
      log.append(
        GroupLog.Entry(
          first: MessageID(rawValue: UInt64(number) * 10), count: members, from: from, undelivered: members,
          unread: members))
    }
    for number in 0..<GroupLog.limit + 100 { append(number) }
    #expect(log.count == GroupLog.limit && log.lost == 100)
    #expect(log.note(MessageID(rawValue: 990), isRead: false) == nil)
    // The newest are whole, in any order, a second device of a member counted once.
    for number in [100, 40_000, GroupLog.limit + 99] {
      var told: [Bool] = []
      for member in [2, 0, 1] {
        told.append(log.note(MessageID(rawValue: UInt64(number * 10 + member)), isRead: false)?.isToldNow ?? false)
      }
      for member in [1, 1, 2, 2, 0, 0] {
        told.append(log.note(MessageID(rawValue: UInt64(number * 10 + member)), isRead: true)?.isToldNow ?? false)
      }
      #expect(told == [false, false, true, false, false, false, false, true, false], "\(number)")
      #expect(log.note(MessageID(rawValue: UInt64(number * 10 + 3)), isRead: false) == nil)
    }
    // What is settled is not lost.
    append(GroupLog.limit + 100)
    #expect(log.lost == 100 && log.count <= GroupLog.limit)
  }

  @Test func hostileReceiptsAreReadAsFarAsTheyGo() {
    var entries: [NamedReceipts.Entry] = []
    for number: UInt64 in 0..<5 {
      let isOdd = number % 2 == 1
      let name = MessageName(conversation: "b\(number)", isGroup: isOdd, number: number << 50 | 7)
      entries.append(NamedReceipts.Entry(name: name, isRead: !isOdd))
    }
    var body: [UInt8] = []
    TLV.append(.namedReceipts, NamedReceipts.encoded(entries), to: &body)
    let whole = body.span.bytes
    #expect(TLV.value(of: .namedReceipts, in: whole).map { NamedReceipts.decoded(whole, $0) } == entries)
    var random = TestGenerator(4)
    for _ in 0..<2_000 {
      var bytes = body
      bytes[Int.random(in: 6..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      let end = Int.random(in: 6...bytes.count, using: &random)
      #expect(NamedReceipts.decoded(bytes.span.bytes, 6..<end).count <= entries.count)
    }
  }

  // MARK: with a store

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "receipts-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  /// A talk through a server with a store, and what kills the server and starts it again.
  private func durable(_ mailbox: SQLiteMailbox) -> (talk: LevelTests.Talk, restart: () throws -> Void) {
    var seed: UInt64 = 1
    var configuration = ServerConfiguration(seed: seed)
    let talk = LevelTests.Talk {
      $0.isDurable = true
      configuration = $0
    }
    let simulation = talk.simulation
    simulation.onServerTurn = { core in
      do { try mailbox.apply(core.takeOperations()) } catch { Issue.record("\(error)") }
      core.stored(at: simulation.moment)
    }
    return (
      talk,
      {
        simulation.resetAll()
        seed += 100
        configuration.seed = seed
        simulation.server = ServerCore(configuration)
        simulation.server.setWallClock(unixSeconds: 1_700_000_000, at: simulation.moment)
        simulation.server.restore(try mailbox.load(), at: simulation.moment)
        simulation.run(until: simulation.now + 5)
      }
    )
  }

  @Test(arguments: [Duration.zero, .seconds(3_600)]) func receiptsOutliveTheServersProcess(expiry: Duration) throws {
    try withFolder { folder in
      let mailbox = try SQLiteMailbox(folder: folder)
      let (talk, restart) = durable(mailbox)
      let ann = try talk.come("ann") { $0.expiry = expiry }
      let ids = try (0..<20).map { try talk.say("\($0)", ann, to: "bob") }
      talk.wait()
      try restart()
      #expect(ids.allSatisfy { talk.last(ann.0, $0) == .accepted })
      reads([1], talk)
      _ = try talk.come("bob")
      talk.wait(3)
      #expect(ids.allSatisfy { talk.states[ann.0]?[$0]?.suffix(2) == [.delivered, .read] })
    }
  }

  /// Bob takes and reads while Ann is away, and the server is killed before she is back; then he reads what he took before.
  @Test func receiptsForWhoIsAwayAreKept() throws {
    try withFolder { folder in
      let mailbox = try SQLiteMailbox(folder: folder)
      let (talk, restart) = durable(mailbox)
      let ann = try talk.come("ann") { $0.expiry = .seconds(3_600) }
      let first = try talk.say("first", ann, to: "bob")
      talk.wait()
      leave(ann, talk)
      var last: ReceivedMessage?
      let told = talk.simulation.onClientEvent
      talk.simulation.onClientEvent = { client, event, inbox in
        told(client, event, inbox)
        if client == 1, case .message(let message) = event { last = message }
      }
      let bob = try talk.come("bob") { $0.expiry = .seconds(3_600) }
      talk.wait(2)
      #expect(try mailbox.load().receipts.map(\.number) == [1])
      try restart()
      #expect(talk.last(ann.0, first) == .accepted)
      try comeBack(ann, talk)
      #expect(talk.last(ann.0, first) == .delivered)
      #expect(try mailbox.load().receipts.isEmpty)
      // The server that passed the message on knows nothing of it any more: the receipt says what it is about.
      let message = try #require(last)
      try talk.simulation.clients[bob.0].markRead(
        message.sequence, in: bob.1, origin: message.origin, at: talk.simulation.moment)
      talk.simulation.settle(client: bob.0)
      talk.wait()
      #expect(talk.last(ann.0, first) == .read)
      // No receipt is accepted for what was never sent to him.
      var other = message
      other.origin?.number = 7
      try talk.simulation.clients[bob.0].markRead(
        SequenceNumber(.normal, 77), in: bob.1, origin: other.origin, at: talk.simulation.moment)
      talk.simulation.settle(client: bob.0)
      talk.wait()
      #expect(talk.simulation.server.pendingReceiptCount == 0)
    }
  }

  @Test func aGroupAndTheSendersOtherDevicesOutliveTheServersProcess() throws {
    try withFolder { folder in
      let mailbox = try SQLiteMailbox(folder: folder)
      let (talk, restart) = durable(mailbox)
      let long: (inout ClientConfiguration) -> Void = { $0.expiry = .seconds(3_600) }
      let ann = try talk.come("ann", long)
      let other = try talk.come("ann", long)
      leave(other, talk)
      for user in ["bob", "cid", "ann"] { talk.simulation.server.join(user, "team") }
      let id = try talk.simulation.clients[ann.0].send(
        Message(.text("to all"), group: "team"), in: ann.1, at: talk.simulation.moment)
      talk.simulation.settle(client: ann.0)
      talk.wait()
      let bob = try talk.come("bob", long)
      talk.wait()
      #expect(talk.heard[bob.0] == ["to all"] && talk.last(ann.0, id) == .accepted)
      try restart()
      let cid = try talk.come("cid", long)
      try comeBack(other, talk)
      talk.wait(3)
      #expect(talk.heard[cid.0] == ["to all"] && talk.last(ann.0, id) == .delivered)
      #expect(talk.heard[other.0] == ["to all"] && talk.heard[ann.0] == nil)
    }
  }

  /// All of a group have read a message, some of them before the server was killed; and a sender that no device is waited for.
  @Test(arguments: [Duration.zero, .seconds(3_600)]) func allHaveReadAcrossRestarts(expiry: Duration) throws {
    try withFolder { folder in
      let mailbox = try SQLiteMailbox(folder: folder)
      let (talk, restart) = durable(mailbox)
      var came: [Int: ReceivedMessage] = [:]
      let told = talk.simulation.onClientEvent
      talk.simulation.onClientEvent = { client, event, inbox in
        told(client, event, inbox)
        if case .message(let message) = event { came[client] = message }
      }
      let ann = try talk.come("ann") { $0.expiry = expiry }
      let others = try ["bob", "cid", "d:e"].map { try talk.come($0) { $0.expiry = .seconds(3_600) } }
      for user in ["ann", "bob", "cid", "d:e"] { talk.simulation.server.join(user, "team") }
      let id = try talk.simulation.clients[ann.0].send(
        Message(.text("to all"), group: "team"), in: ann.1, at: talk.simulation.moment)
      talk.simulation.settle(client: ann.0)
      talk.wait()
      #expect(talk.last(ann.0, id) == .delivered)
      func read(_ who: (Int, SessionID)) throws {
        let message = try #require(came[who.0])
        try talk.simulation.clients[who.0].markRead(
          message.sequence, in: who.1, origin: message.origin, group: "team", at: talk.simulation.moment)
        talk.simulation.settle(client: who.0)
        talk.wait()
      }
      try read(others[0])
      try restart()
      // Once more says nothing new.
      try read(others[0])
      try read(others[2])
      #expect(talk.last(ann.0, id) == .delivered)
      try restart()
      #expect(try mailbox.load().groupMessages.map(\.members) == [["bob", "cid", "d:e"]])
      try read(others[1])
      #expect(talk.last(ann.0, id) == .read)
      #expect(try mailbox.load().groupMessages.isEmpty)
    }
  }

  @Test func aDatabaseOfVersionOneIsBroughtUp() throws {
    try withFolder { folder in
      let letter = StoredLetter(
        id: 7, user: "bob", body: [1, 2, 3], isCompressed: false, category: .normal, sender: [], isDelivered: true)
      do {
        let mailbox = try SQLiteMailbox(folder: folder, sync: .normal)
        try mailbox.apply([.put(letter)])
        for column in ["own", "content", "parts"] { try mailbox.execute("ALTER TABLE letter DROP COLUMN \(column)") }
        try mailbox.execute("ALTER TABLE number DROP COLUMN identity")
        try mailbox.execute("DROP TABLE receipt")
        try mailbox.execute("DROP TABLE groupMessage")
        try mailbox.execute("PRAGMA user_version=1")
      }
      let key = [UInt8](repeating: 3, count: 16)
      let receipt = StoredReceipt(key: key, conversation: "team", isGroup: true, number: 1 << 56 | 5, isRead: true)
      var own = letter
      (own.id, own.skipsSender) = (8, true)
      for _ in 0..<2 {
        let mailbox = try SQLiteMailbox(folder: folder)
        try mailbox.apply([.put(own), .receipt(receipt, isPending: true)])
        let state = try mailbox.load()
        #expect(state.letters == [letter, own] && state.receipts == [receipt])
      }
      do {
        let mailbox = try SQLiteMailbox(folder: folder)
        try mailbox.apply([.receipt(receipt, isPending: false)])
        #expect(try mailbox.load().receipts.isEmpty)
        try mailbox.apply([.receipt(receipt, isPending: true), .forgot(key: key)])
        #expect(try mailbox.load().receipts.isEmpty)
        try mailbox.execute("PRAGMA user_version=99")
      }
      #expect(throws: MailboxError.self) { try SQLiteMailbox(folder: folder) }
    }
  }
}
