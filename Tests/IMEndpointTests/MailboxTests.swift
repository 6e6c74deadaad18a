import IMWire
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// What a server keeps, for whom, and until when.
@Suite struct MailboxTests {
  private func letter(_ id: UInt64, _ count: Int = 10) -> Letter {
    Letter(
      id: MessageID(rawValue: id), body: [UInt8](repeating: 0, count: count), isCompressed: false, category: .normal,
      sender: .none, at: .seconds(1))
  }

  @Test func lettersAreFoundByTheirNumber() {
    var box = Mailbox(user: "a")
    for number in 0..<5_000 { box.append(letter(UInt64(number) * 3)) }
    for _ in 0..<4_000 { _ = box.removeFirst() }
    #expect(box.base == 4_000 && box.end == 5_000 && box.count == 1_000)
    #expect(box.byteCount == 1_000 * (10 + Letter.overhead))
    for place: UInt64 in 4_000..<5_000 { #expect(box.place(of: MessageID(rawValue: place * 3)) == place) }
    #expect(box.place(of: MessageID(rawValue: 3_999 * 3)) == nil && box.place(of: MessageID(rawValue: 12_001)) == nil)
  }

  @Test func aCursorKnowsWhatItsDeviceHas() {
    var cursor = MailboxCursor(at: 10)
    let isSent = cursor.add(10)
    #expect(!isSent)
    cursor.next = 15
    var done: [UInt64] = []
    for place: UInt64 in [12, 12, 10, 11] {
      let isNew = cursor.add(place)
      done.append(isNew ? cursor.done : 0)
      #expect(cursor.has(place))
    }
    #expect(done == [10, 0, 11, 13] && !cursor.has(13))
    cursor.next = 13 + MailboxCursor.width
    #expect(!cursor.isOpen)
    // In any order, over the edge of the window many times.
    var random = TestGenerator(5)
    var other = MailboxCursor(at: 0)
    for start in stride(from: UInt64(0), to: 20_000, by: 500) {
      other.next = start + 500
      for place in (start..<start + 500).shuffled(using: &random) {
        let isNew = other.add(place)
        #expect(isNew)
      }
      #expect(other.done == start + 500)
    }
  }

  @Test func aWindowOfNumbersIsASetOfThem() {
    var random = TestGenerator(3)
    var window = NumberWindow(floor: 1)
    var known: Set<UInt64> = []
    for _ in 0..<20_000 {
      let number = window.floor + UInt64.random(in: 0..<200, using: &random)
      let isNew = window.insert(number)
      #expect(isNew == known.insert(number).inserted)
    }
    for number in 1..<window.floor { #expect(known.contains(number)) }
    #expect(!known.contains(window.floor))
    // Too far ahead: what is passed counts as come.
    let far = window.floor + 100_000
    let isNew = [window.insert(far), window.insert(far - NumberWindow.width), window.insert(far - 1)]
    #expect(isNew == [true, false, true])
    let largest = window.insert(.max)
    #expect(!largest)
  }
}

/// Letters between users of a server that forwards, over a network that behaves.
@Suite struct LevelTests {
  final class Talk {
    let simulation: Simulation
    var states: [Int: [MessageID: [MessageState]]] = [:]
    var heard: [Int: [String]] = [:]
    var reasons: [FailureReason] = []
    /// What clients that do not take anything are sent.
    init(_ change: (inout ServerConfiguration) -> Void = { _ in }) {
      var server = ServerConfiguration(seed: 1)
      server.service = .forward
      change(&server)
      simulation = Simulation(server: server, seed: 1)
      simulation.onClientEvent = { [unowned self] client, event, inbox in
        switch event {
        case .progress(let id, _, let state): states[client, default: [:]][id, default: []].append(state)
        case .failure(_, _, let reason): reasons.append(reason)
        case .message(let message):
          if case .text(let text)? = try? inbox.content(of: message).content { heard[client, default: []].append(text) }
        default: break
        }
      }
    }

    func come(_ user: String, _ change: (inout ClientConfiguration) -> Void = { _ in }) throws -> (Int, SessionID) {
      var configuration = simulation.configuration(simulation.clients.count)
      configuration.user = user
      change(&configuration)
      let new = try simulation.addClient(configuration)
      simulation.run(until: simulation.now + 0.5)
      return (new.client, new.session)
    }

    @discardableResult
    func say(_ text: String, _ who: (Int, SessionID), to user: String?) throws -> MessageID {
      let id = try simulation.clients[who.0].send(Message(.text(text), to: user), in: who.1, at: simulation.moment)
      simulation.settle(client: who.0)
      return id
    }

    func wait(_ seconds: Double = 1) { simulation.run(until: simulation.now + seconds) }
    func last(_ client: Int, _ id: MessageID) -> MessageState? { states[client]?[id]?.last }
  }

  @Test func acceptedIsNotDelivered() throws {
    let talk = Talk()
    let ann = try talk.come("ann")
    let early = try talk.say("early", ann, to: "bob")
    talk.wait()
    #expect(talk.last(ann.0, early) == .accepted)
    // His application has not taken it.
    let bob = try talk.come("bob") { $0.acknowledges = .manual }
    talk.wait(5)
    #expect(talk.heard[bob.0] == ["early"] && talk.last(ann.0, early) == .accepted)
    #expect(talk.simulation.server.mailbox(of: "bob").letters == 1)
    // It is gone, and the next has it.
    talk.simulation.clients[bob.0].forceDisconnect(bob.1, at: talk.simulation.moment)
    talk.simulation.settle(client: bob.0)
    talk.wait()
    let second = try talk.come("bob")
    talk.wait()
    #expect(talk.heard[second.0] == ["early"])
    // The first may only have lost its network: it is waited for a minute.
    #expect(talk.simulation.server.mailbox(of: "bob").letters == 1)
    talk.wait(61)
    #expect(talk.states[ann.0]?[early] == [.created, .sending, .sent, .accepted, .delivered])
    #expect(talk.simulation.server.mailbox(of: "bob").letters == 0 && talk.simulation.server.mailboxBytes == 0)
  }

  @Test func whatCannotArriveIsRefusedWithTheReason() throws {
    let talk = Talk {
      $0.mailboxes = MailboxLimits(letters: 3)
      $0.users = ["ann", "bob"]
    }
    let ann = try talk.come("ann")
    let ids = try [nil, "zoe"].map { try talk.say("to whom?", ann, to: $0) }
    let letters = try (0..<5).map { try talk.say("\($0)", ann, to: "bob") }
    talk.wait()
    #expect(ids.map { talk.last(ann.0, $0) } == [.failed, .failed])
    #expect(letters.map { talk.last(ann.0, $0) } == [.accepted, .accepted, .accepted, .failed, .failed])
    #expect(talk.reasons == [.noRecipient, .unknownUser, .mailboxFull, .mailboxFull])
    #expect(talk.simulation.clients[ann.0].waiting(in: ann.1) == (0, 0))
    let bob = try talk.come("bob")
    talk.wait()
    #expect(
      talk.heard[bob.0] == ["0", "1", "2"] && letters.prefix(3).allSatisfy { talk.last(ann.0, $0) == .delivered })
  }

  @Test func everyDeviceHasItOnceAndNoSessionTwice() throws {
    let talk = Talk()
    let ann = try talk.come("ann")
    let bobs = try (0..<3).map { _ in try talk.come("bob") }
    let media = talk.simulation.clients[bobs[0].0].addSession(.media, at: talk.simulation.moment)
    try talk.simulation.clients[bobs[0].0].connect(media, at: talk.simulation.moment)
    talk.simulation.settle(client: bobs[0].0)
    talk.wait()
    for number in 0..<50 { try talk.say("\(number)", ann, to: "bob") }
    talk.wait(2)
    for bob in bobs { #expect(talk.heard[bob.0] == (0..<50).map { "\($0)" }) }
    #expect(talk.simulation.server.mailbox(of: "bob").letters == 0)
  }

  /// One that does not take what comes is sent so many and no more; the others go on.
  @Test func whoTakesNothingIsSentNoMore() throws {
    let talk = Talk()
    let ann = try talk.come("ann")
    let (slow, quick) = try (talk.come("bob") { $0.acknowledges = .manual }, talk.come("bob"))
    for number in 0..<1_500 { try talk.say("\(number)", ann, to: "bob") }
    talk.wait(3)
    #expect(talk.heard[slow.0]?.count == Int(MailboxCursor.width))
    #expect(talk.heard[quick.0] == (0..<1_500).map { "\($0)" })
    #expect(talk.simulation.server.mailbox(of: "bob").letters == 1_500)
    // When it is gone for longer than a network is away, nothing is kept for it.
    talk.simulation.clients[slow.0].forceDisconnect(slow.1, at: talk.simulation.moment)
    talk.simulation.settle(client: slow.0)
    talk.wait(61)
    #expect(talk.simulation.server.mailbox(of: "bob").letters == 0)
  }

  /// A known identity is not enough to be somebody: without the secret it is another device.
  @Test func whoKnowsAnIdentityIsNotTheDevice() throws {
    let talk = Talk()
    let ann = try talk.come("ann")
    let identity = ClientIdentity(high: 77, low: 78)
    let bob = try talk.come("bob") { $0.identity = identity }
    let thief = try talk.come("mallory") { $0.identity = identity }
    var origins: [MessageOrigin?] = []
    let before = talk.simulation.onClientEvent
    talk.simulation.onClientEvent = { client, event, inbox in
      if client == ann.0, case .message(let message) = event { origins.append(message.origin) }
      before(client, event, inbox)
    }
    try talk.say("for bob", ann, to: "bob")
    try talk.say("from bob", bob, to: "ann")
    talk.wait()
    try talk.say("from mallory", thief, to: "ann")
    talk.wait()
    #expect(talk.heard[thief.0] == nil && talk.heard[bob.0] == ["for bob"])
    // Nor are its messages taken for the other's.
    #expect(talk.heard[ann.0] == ["from bob", "from mallory"])
    #expect(origins.map { $0?.device == identity } == [true, false])
    #expect(origins.map { $0?.number } == [1, 1])
  }

  /// The same client as another process: what the one before did not take comes to it, and nothing else.
  @Test func anotherProcessTakesTheDeviceOver() throws {
    let talk = Talk()
    let ann = try talk.come("ann")
    let (identity, secret) = (ClientIdentity(high: 5, low: 6), DeviceSecret.random())
    func come(_ seed: UInt64) throws -> (Int, SessionID) {
      try talk.come("bob") {
        ($0.identity, $0.secret, $0.seed, $0.expiry) = (identity, secret, seed, .seconds(3_600))
        $0.acknowledges = seed == 2 ? .manual : .onTake
      }
    }
    let first = try come(1)
    try talk.say("one", ann, to: "bob")
    talk.wait()
    talk.simulation.clients[first.0].forceDisconnect(first.1, at: talk.simulation.moment)
    talk.simulation.settle(client: first.0)
    talk.wait(300)
    try talk.say("two", ann, to: "bob")
    talk.wait()
    let second = try come(2)
    talk.wait()
    let third = try come(3)
    talk.wait(3)
    #expect(talk.heard == [first.0: ["one"], second.0: ["two"], third.0: ["two"]])
    #expect(talk.simulation.clients[second.0].state(of: second.1) == .disconnected)
    #expect(talk.simulation.server.mailbox(of: "bob").letters == 0)
  }

  /// What overtakes on the way waits for what it has overtaken, not for ever.
  @Test func theOrderIsRestored() throws {
    let identity = ClientIdentity(high: 1, low: 1)
    var order = ArrivalOrder(first: 1)
    func held(_ number: UInt64, _ at: Double) -> ArrivalOrder.Held {
      ArrivalOrder.Held(
        header: FrameHeader(kind: .data, sequence: SequenceNumber(.normal, UInt32(number)), time: 0, session: 1),
        body: [UInt8(number)], origin: MessageOrigin(device: identity, number: number, milliseconds: 0), place: 0,
        connection: ConnectionID(place: 0, generation: 0), at: .seconds(at))
    }
    func take(_ number: UInt64, _ at: Double = 1) -> ArrivalOrder.Verdict {
      let verdict = order.take(number)
      if verdict == .held { order.hold(held(number, at), number) }
      return verdict
    }
    let verdicts = [1, 3, 4, 3, 7].map { take($0, Double($0)) }
    #expect(verdicts == [.told, .held, .held, .duplicate, .held])
    let early = order.releaseNext()
    #expect(early == nil && order.waitingSince == .seconds(3))
    let second = take(2)
    #expect(second == .told)
    let released = [order.releaseNext(), order.releaseNext(), order.releaseNext()].map { $0?.body }
    #expect(released == [[3], [4], nil] && order.waitingSince == .seconds(7))
    let missing = order.skip()
    #expect(missing == 5...6)
    let seventh = order.releaseNext()
    #expect(seventh?.body == [7] && !order.isWaiting && order.waitingSince == nil)
    let late = [take(6), take(6), take(5), take(8)]
    #expect(late == [.late, .duplicate, .late, .told])
  }
}
