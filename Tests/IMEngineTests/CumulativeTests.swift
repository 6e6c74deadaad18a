import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Acknowledgments that answer everything up to their number, and those whose number is another than their message's.
@Suite struct CumulativeTests {
  private static func plan(
    _ more: String = "", bits: Int = 16, wraps: Int = 0x1_0000, outlives: String = "always"
  ) throws -> ProtocolPlan {
    try ProfileCompiler.compile(
      """
      profile: window
      version: 1
      header: { length: 8, magic: { offset: 0, bytes: C0DE } }
      length: { offset: 2, size: 2 }
      fields: { type: { offset: 4, size: 1 }, sequence: { offset: 6, size: 2 } }
      sequence: { kind: counter, bits: \(bits), wraps-at: \(wraps), outlives-connection: \(outlives) }
      types:
        1: { name: say, role: message, answered: true, numbered: true }
        2: { name: seen, role: acknowledgment, answers: [say], cumulative: true }
        3: { name: got, role: acknowledgment, answers: [say] }
        4: { name: beat, role: heartbeat, answered: true, numbered: true, echo: true }
      \(more)
      """, source: "window.yaml")
  }

  private static func frame(_ type: UInt8, _ number: Int) -> [UInt8] {
    var bytes: [UInt8] = [0xc0, 0xde, 0, 1, type, 0]
    bytes.append(big: UInt16(truncatingIfNeeded: number))
    return bytes + [UInt8(truncatingIfNeeded: number)]
  }

  /// What a script of frames comes to: `s5` and `b5` are the client's, `a5` (up to 5), `g5` (5 alone) and `e5` (the heartbeat's own
  /// type) the server's; `-` is a frame that the capture lacks.
  private static func run(_ script: String, _ plan: ProtocolPlan) -> Run {
    var talk = Talk(port: 7_000)
    var lost: [Int] = []
    for word in script.split(separator: " ") {
      let isLost = word.hasPrefix("-")
      let letters = isLost ? word.dropFirst() : word
      let type: UInt8 = ["s": 1, "a": 2, "g": 3, "b": 4, "e": 4][letters.first ?? " "] ?? 0
      let isClient = letters.first == "s" || letters.first == "b"
      talk.say(isClient ? .clientToServer : .serverToClient, frame(type, Int(letters.dropFirst()) ?? 0))
      if isLost, let piece = talk.pieces.last { lost.append(piece.packet) }
    }
    let packets = talk.packets.enumerated().filter { !lost.contains($0.offset) }.map(\.element)
    return Run(packets, plans: [plan])
  }

  @Test(
    arguments: [
      ("s1 s2 s3 a3", "1 2 3", "", 0),
      ("s1 s2 s3 a2", "1 2", "3", 0),
      ("s1 s2 s3 a2 a3", "1 2 3", "", 0),
      // Each once, however often it is covered.
      ("s1 a1 s2 a2 s3 s4 a4 a4", "1 2 3 4", "", 0),
      // One alone leaves those before it open; a later one up to a number takes them along, as far as they are open in a row.
      ("s1 s2 s3 g3", "3", "1 2", 0),
      ("s1 s2 g1 s3 a3", "1 2 3", "", 0),
      // Its own message was lost by the capture; those before it were not.
      ("s1 s2 -s3 a3", "1 2", "", 1),
      // What stands behind a hole is decoded when the hole is given up, after its answer.
      ("s1 -s2 s3 a3", "1 3", "", 1),
      ("s1 -s2 s3 s4 a4", "1 3 4", "", 1),
      // Numbers that a heartbeat drew.
      ("s1 b2 s3 a3", "1 3", "2", 0),
      ("b1 e1 s2 b3 e3 a2", "1 2 3", "", 0),
      ("a3", "", "", 1),
    ] as [(String, String, String, Int)],
    // On one connection it is the same whether numbers outlive it.
    ["always", "never"])
  func upTo(_ script: (words: String, answered: String, open: String, orphans: Int), _ outlives: String) throws {
    let (script, answered, open, orphans) = script
    let run = Self.run(script, try Self.plan(outlives: outlives))
    let known = Set(run.heard.resolved.filter(\.isAnswered).map { Int($0.sequence) }).sorted()
    #expect(known.map(String.init).joined(separator: " ") == answered, "\(script)")
    #expect(run.totals[0].reduce(0) { $0 + Int($1.fates[0].acked) } == known.count, "\(script)")
    let pending = run.totals[0].reduce(0) { $0 + Int($1.fates[0].pending) }
    #expect(pending == open.split(separator: " ").count, "\(script)")
    #expect(run.frames.count { $0.isOrphan } == orphans, "\(script)")
    run.expectLedgerAddsUp()
  }

  /// Behind the wrap, and with a category above the counter that is not touched.
  @Test func wrap() throws {
    let script = "s254 s255 s0 s1 a1"
    let run = Self.run(script, try Self.plan(bits: 8, wraps: 256))
    #expect(Set(run.heard.resolved.filter(\.isAnswered).map { Int($0.sequence) }) == [254, 255, 0, 1])
    let other = Self.run("s256 s511 s257 a257", try Self.plan(bits: 8, wraps: 256))
    #expect(Set(other.heard.resolved.filter(\.isAnswered).map { Int($0.sequence) }) == [256, 511, 257])
  }

  /// Acknowledgments that name what was never sent answer nothing, and hide nothing from the one that follows.
  @Test func unknownNumbers() throws {
    let script = (1...60).map { "s\($0)" } + (0..<60).map { "a\(20_000 + $0 * 7)" } + ["a60"]
    let run = Self.run(script.joined(separator: " "), try Self.plan())
    #expect(run.heard.resolved.count { $0.isAnswered } == 60)
    run.expectLedgerAddsUp()
  }

  @Test func plus() throws {
    let plan = try Self.plan("acknowledgment: { plus: 1 }", bits: 8, wraps: 256)
    let run = Self.run("s1 g2 s2 s255 g0 s7 g7", plan)
    #expect(Set(run.heard.resolved.filter(\.isAnswered).map { Int($0.sequence) }) == [1, 255])
    #expect(run.frames.count { $0.isOrphan } == 1)
  }

  @Test func mistakes() {
    func error(_ more: String) -> String {
      do {
        _ = try Self.plan(more)
        return ""
      } catch { return "\(error)" }
    }
    #expect(error("acknowledgment: { plus: 0 }").hasPrefix("window.yaml:"))
    #expect(error("acknowledgment: { plus: 0x10000 }").hasPrefix("window.yaml:"))
    #expect(error("  5: { name: x, role: message, cumulative: true }").contains("is for an acknowledgment with"))
    #expect(
      error("  5: { name: x, role: acknowledgment, answers: all, in-order: true, cumulative: true }")
        .contains("an acknowledgment with the number of a counter"))
  }
}
