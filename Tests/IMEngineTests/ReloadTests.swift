import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// A profile that is read again while connections are open: none of them loses a message, wherever it happens.
@Suite struct ReloadTests {
  private static func text(_ name: String) throws -> String { try #require(BuiltInProfiles.text(name)) }

  /// Leads packets through an engine, and has `between` done in front of the packet `place`.
  private func lead(
    _ packets: [TimedPacket], _ plan: ProtocolPlan, at place: Int, _ between: (inout Engine) throws -> Void
  ) rethrows -> Recorder {
    var options = EngineOptions(plans: [plan])
    options.needs = [.frames, .resolved, .finished, .issues, .connections]
    let heard = Recorder()
    var engine = Engine(options: options, sink: heard)
    for (turn, part) in [packets[..<place], packets[place...]].enumerated() {
      if turn == 1 { try between(&engine) }
      let batch = CaptureBuilder([TimedPacket](part)).batch(firstNumber: UInt64(part.startIndex + 1))
      engine.process(batch.bytes.span.bytes, batch.records.span)
    }
    engine.finish()
    return heard
  }

  /// There is nothing to put a page in the place of: nothing changes.
  @Test func anUnknownPlace() throws {
    let packets = Chat.tjp.talk(.small).packets
    let text = try Self.text("tjp")
    let plan = try ProfileCompiler.compile(text, source: "x")
    let plain = lead(packets, plan, at: packets.count) { _ in }
    let again = try lead(packets, ProfileCompiler.compile(text, source: "x"), at: packets.count / 2) { engine in
      #expect(engine.reload(1, plan) == .refused)
      #expect(engine.reload(-1, plan) == .refused)
    }
    #expect(again.frames == plain.frames)
  }

  /// The same page again, in front of each packet: everything is told as without it. A page with another header: open
  /// connections keep theirs, so it is the same again.
  @Test(arguments: Chat.all.filter { $0.0 != .mqtt5 }) func everywhere(_ chat: Chat, _ shape: Chat.Shape) throws {
    let packets = chat.talk(shape).packets
    let text = try Self.text(chat.rawValue)
    // Another header: longer, or with a field more.
    let wider = text.replacing(
      chat == .tjp ? "length: 28" : "duplicate: { offset: 0", with: chat == .tjp ? "length: 40" : "status: { offset: 0")
    #expect(wider != text)
    let plain = try lead(packets, ProfileCompiler.compile(text, source: "x"), at: packets.count) { _ in }
    #expect(plain.frames.count > 20)
    for place in stride(from: 0, to: packets.count, by: max(1, packets.count / 12)) {
      for (again, name) in [(text, "same"), (wider, "wider")] {
        let plan = try ProfileCompiler.compile(text, source: "x")
        var outcome = ReloadOutcome.refused
        let heard = try lead(packets, plan, at: place) { engine in
          outcome = engine.reload(0, try ProfileCompiler.compile(again, source: "x", replacing: plan))
        }
        let isOpen = place > 0 && plain.frames.contains { $0.number <= UInt64(place) }
        if name == "same" { #expect(outcome == .moved(connections: isOpen ? 1 : 0)) }
        if name == "wider" { #expect(outcome == .kept(connections: isOpen ? 1 : 0)) }
        guard name == "same" || isOpen else { continue }
        #expect(heard.frames == plain.frames, "\(name), in front of packet \(place + 1)")
        #expect(heard.finished.map(\.fate) == plain.finished.map(\.fate))
        #expect(heard.reports.map(\.info.plan) == plain.reports.map(\.info.plan))
        #expect(heard.issues.map(\.issue.kind) == plain.issues.map(\.issue.kind))
      }
    }
  }

  /// Types keep their indices by their names, whatever the order of the page and the values.
  @Test func typesKeepTheirPlaces() throws {
    let page = """
      profile: p
      version: 1
      header: { length: 8 }
      length: { offset: 0, size: 4 }
      fields: { type: { offset: 4, size: 2 } }
      types:
      """
    let old = try ProfileCompiler.compile(
      page + """

          1: { name: a, role: message, answered: true }
          2: { name: b, role: heartbeat, answered: true }
          3: { name: c, role: acknowledgment, answers: [a, b] }
        """, source: "x")
    let fresh = try ProfileCompiler.compile(
      page + """

          9: { name: d, role: message, answered: true, timeout: 9s }
          3: { name: c, role: acknowledgment, answers: [d, a] }
          7: { name: a, role: control, answered: true }
        """, source: "x", replacing: old)
    #expect(fresh.typeNames == ["a", "b", "c", "d"])
    #expect(fresh.pointer.kind(7).pointee.index == 0)
    #expect(fresh.pointer.kind(7).pointee.role == .control)
    #expect(fresh.pointer.kind(3).pointee.index == 2)
    #expect(fresh.pointer.kind(3).pointee.answers == 0b1001)
    #expect(fresh.pointer.kind(9).pointee.index == 3)
    for gone: UInt64 in [1, 2] { #expect(fresh.pointer.kind(gone).pointee.index == FrameKind.unknownIndex) }
    var engine = Engine(options: EngineOptions(plans: [old]), sink: Recorder())
    #expect(engine.reload(0, fresh) == .moved(connections: 0))
    #expect(old.typeNames == ["a", "b", "c", "d"])
    #expect(old.typeRoles == [.control, .other, .acknowledgment, .message])
    // What is told of an exchange of `b` that was open is what it was.
    #expect(old.typeValues == [7, 2, 3, 9])
    #expect(old.kind(at: 3)?.timeout == .seconds(9))
  }

  @Test func rejections() throws {
    let text = try Self.text("goim")
    let old = try ProfileCompiler.compile(text, source: "x")
    #expect(throws: ProfileError.self) {
      try ProfileCompiler.compile(text.replacing("profile: goim", with: "profile: other"), source: "x", replacing: old)
    }
    // More types than there is room for, with those that were there before.
    let many = (0..<50).map { "  \(2_000 + $0): { name: t\($0), role: other }\n" }.joined()
    let start = try #require(text.firstRange(of: "types:\n"))
    let page = text[..<start.upperBound] + many
    #expect(throws: ProfileError.self) { try ProfileCompiler.compile(String(page), source: "x", replacing: old) }
  }

  /// Two layouts beside the present one are kept; a third is refused as long as all have connections.
  @Test func layouts() throws {
    let text = try Self.text("tjp")
    func page(_ count: Int) -> String { text.replacing("length: 28", with: "length: \(28 + count)") }
    let plan = try ProfileCompiler.compile(text, source: "x")
    let heard = Recorder()
    var engine = Engine(options: EngineOptions(plans: [plan]), sink: heard)
    /// A connection of its own that begins with two frames of the layout with `count` bytes more in its header.
    func begin(_ number: UInt16, _ count: Int, _ engine: inout Engine) {
      var conversation = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0xc000_0215), port: 40_000 + number), server: Talk.server(8_080))
      conversation.open(at: Timestamp(milliseconds: 1_700_000_000_000 + Int64(number)))
      var frame = TJPFrameBuilder.heartbeat(sequence: 0x0100_0000 + UInt32(number)).bytes
      frame += [UInt8](repeating: 0, count: count)
      conversation.send(frame + frame, .clientToServer, at: Timestamp(milliseconds: 1_700_000_000_500 + Int64(number)))
      let batch = CaptureBuilder(conversation.packets).batch(firstNumber: UInt64(number) * 10)
      engine.process(batch.bytes.span.bytes, batch.records.span)
    }
    var outcomes: [ReloadOutcome] = []
    for round in 0..<4 {
      begin(UInt16(round), round * 4, &engine)
      let fresh = try ProfileCompiler.compile(page(round * 4 + 4), source: "x", replacing: plan)
      outcomes.append(engine.reload(0, fresh))
    }
    #expect(outcomes == [.kept(connections: 1), .kept(connections: 1), .refused, .refused])
    engine.finish()
  }
}
