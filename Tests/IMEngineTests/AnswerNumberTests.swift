import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Answers whose number is missing.
@Suite struct AnswerNumberTests {
  private static let profile = """
    profile: lines
    version: 1
    framing: { kind: terminated, ends: 0A, maximum: 1024 }
    content: json
    fields: { type: { at: type }, sequence: { at: id } }
    types:
      ask: { name: ask, role: message, answered: true, from: client }
      reply: { name: reply, role: acknowledgment, answers: [ask], from: server }
      note: { name: note, role: other }
    """

  private static func line(_ type: String, _ id: Int?) -> [UInt8] {
    Array("{\"type\":\"\(type)\",\"text\":\"hello\"\(id.map { ",\"id\":\($0)" } ?? "")}\n".utf8)
  }

  /// An answer without a number answers nothing: neither the frame before it nor the message with the number 0.
  @Test(arguments: [true, false]) func anAnswerWithoutANumberAnswersNothing(_ hasNumbers: Bool) throws {
    let plan = try ProfileCompiler.compile(Self.profile, source: "lines")
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_0215), port: 40_001),
      server: Endpoint(address: IPAddress(v4: 0xcb00_710a), port: 7_000))
    talk.open(at: Scene.ms(0))
    for id in 0..<10 {
      let at = Int64(id + 1) * 100
      talk.send(Self.line("ask", id), .clientToServer, at: Scene.ms(at))
      talk.send(Self.line("reply", hasNumbers ? id : nil), .serverToClient, at: Scene.ms(at + 40))
    }
    let run = Run(talk.packets, plans: [plan], end: Scene.ms(600_000))
    run.expectLedgerAddsUp()
    #expect(run.frames.count == 20)
    #expect(run.heard.finished.map(\.fate) == Array(repeating: hasNumbers ? .acked : .unanswered, count: 10))
  }
}
