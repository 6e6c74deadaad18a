import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// Messages to many.
@Suite struct GroupTests {
  private func join(_ talk: LevelTests.Talk, _ who: (Int, SessionID), _ group: String) {
    talk.simulation.clients[who.0].join(group, in: who.1, at: talk.simulation.moment)
    talk.simulation.settle(client: who.0)
    talk.wait(0.5)
  }

  private func say(_ text: String, _ talk: LevelTests.Talk, _ who: (Int, SessionID)) throws -> MessageID {
    let id = try talk.simulation.clients[who.0].send(
      Message(.text(text), group: "team"), in: who.1, at: talk.simulation.moment)
    talk.simulation.settle(client: who.0)
    return id
  }

  @Test func everyMemberHasItOnce() throws {
    let talk = LevelTests.Talk()
    let (ann, other) = try (talk.come("ann"), talk.come("ann"))
    let (bob, cid, dan) = try (talk.come("bob"), talk.come("cid"), talk.come("dan"))
    for member in [ann, bob, cid] { join(talk, member, "team") }
    #expect(talk.simulation.server.members(of: "team") == ["ann", "bob", "cid"])
    let ids = try (0..<20).map { try say("\($0)", talk, ann) }
    talk.wait(2)
    let all = (0..<20).map { "\($0)" }
    #expect(talk.heard == [other.0: all, bob.0: all, cid.0: all])
    #expect(ids.allSatisfy { talk.states[ann.0]?[$0] == [.created, .sending, .sent, .accepted, .delivered] })
    // Who is no member is told.
    let refused = try say("let me in", talk, dan)
    talk.wait()
    #expect(talk.last(dan.0, refused) == .failed && talk.reasons == [.notAMember])
    #expect(talk.simulation.server.mailboxBytes == 0)
  }

  /// A member is told who is in the group, also where its connection was lost after it asked; who is none gets no names; of one answer no more
  /// is told than was asked for.
  @Test func membersAreTold() throws {
    let talk = LevelTests.Talk()
    var told: [String] = []
    let former = talk.simulation.onClientEvent
    talk.simulation.onClientEvent = { client, event, inbox in
      former(client, event, inbox)
      guard case .members(let answer) = event else { return }
      let (group, members) = inbox.members(of: answer)
      told.append("\(client) \(group): \(members.joined(separator: " "))")
    }
    let (ann, bob, dan) = try (talk.come("ann"), talk.come("bob"), talk.come("dan"))
    func ask(_ who: (Int, SessionID), _ group: String) {
      talk.simulation.clients[who.0].askMembers(of: group, in: who.1, at: talk.simulation.moment)
      talk.simulation.settle(client: who.0)
      talk.wait(0.5)
    }
    for member in [bob, ann] { join(talk, member, "team") }
    ask(ann, "team")
    ask(dan, "team")
    ask(dan, "nobody's")
    #expect(told == ["\(ann.0) team: ann bob", "\(dan.0) team: ", "\(dan.0) nobody's: "])
    told = []
    // Asked without a connection: the next one asks.
    talk.simulation.clients[bob.0].forceDisconnect(bob.1, at: talk.simulation.moment)
    talk.simulation.settle(client: bob.0)
    ask(bob, "team")
    #expect(told.isEmpty)
    join(talk, dan, "team")
    try talk.simulation.clients[bob.0].connect(bob.1, at: talk.simulation.moment)
    talk.simulation.settle(client: bob.0)
    talk.wait(2)
    #expect(told == ["\(bob.0) team: ann bob dan"])
  }

  /// Answers of any bytes: names as far as they go, and none behind their end.
  @Test func answersAreReadAsFarAsTheyGo() {
    let value: [UInt8] = [3, 0, 4, 116, 101, 97, 109, 0, 1, 97, 0, 0, 0, 9, 98]
    func names(_ count: Int) -> [String] {
      let bytes = Array(value.prefix(count))
      return GroupMembers.names(bytes.span.bytes, 0..<bytes.count)
    }
    #expect(names(15) == ["team", "a", ""] && names(12) == ["team", "a", ""] && names(10) == ["team", "a"])
    #expect(names(9) == ["team"] && names(6) == [] && names(1) == [])
  }

  /// Delivered means to all, and who was away has it later.
  @Test func itIsDeliveredWhenAllHaveIt() throws {
    let talk = LevelTests.Talk()
    let (ann, bob, cid) = try (talk.come("ann"), talk.come("bob"), talk.come("cid"))
    for member in [ann, bob, cid] { join(talk, member, "team") }
    talk.simulation.clients[cid.0].forceDisconnect(cid.1, at: talk.simulation.moment)
    talk.simulation.settle(client: cid.0)
    talk.wait(100)
    let id = try say("where is cid?", talk, ann)
    talk.wait(2)
    #expect(talk.heard[bob.0] == ["where is cid?"] && talk.last(ann.0, id) == .accepted)
    // Another connection says again that it is a member; being away has not ended that.
    try talk.simulation.clients[cid.0].connect(cid.1, at: talk.simulation.moment)
    talk.simulation.settle(client: cid.0)
    talk.wait(2)
    #expect(talk.heard[cid.0] == ["where is cid?"] && talk.last(ann.0, id) == .delivered)
    // Each reads it.
    var read: [MessageState] = []
    for (client, session) in [bob, cid] {
      let place = try #require(talk.simulation.server.sessions(of: client == bob.0 ? "bob" : "cid").first)
      let sequence = try #require(lastData(talk, place))
      try talk.simulation.clients[client].markRead(sequence, in: session, at: talk.simulation.moment)
      talk.simulation.settle(client: client)
      talk.wait()
      read.append(talk.last(ann.0, id) ?? .created)
    }
    #expect(read == [.delivered, .read])
    talk.simulation.clients[cid.0].leave("team", in: cid.1, at: talk.simulation.moment)
    talk.simulation.settle(client: cid.0)
    talk.wait()
    #expect(talk.simulation.server.members(of: "team") == ["ann", "bob"])
  }

  /// The number of the only message that a server has sent in a session.
  private func lastData(_ talk: LevelTests.Talk, _ session: SessionID) -> SequenceNumber? {
    guard let place = talk.simulation.server.place(of: session) else { return nil }
    let next = talk.simulation.server.sessions[place].traffic.counters.upcoming(.broadcast)
    return SequenceNumber(.broadcast, (next.counter + SequenceNumber.modulus - 1) % SequenceNumber.modulus)
  }
}
