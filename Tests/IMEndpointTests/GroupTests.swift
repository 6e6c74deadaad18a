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
