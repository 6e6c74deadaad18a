import Foundation
import FoundationXML
import IMEngine
import IMOutput
import IMWire
import Testing

@testable import IMReport

/// A ladder as SVG: XML that Foundation's parser accepts, with a row for each frame.
@Suite struct LadderSVGTests {
  /// Collects the elements and texts that the parser reports.
  private final class Reader: NSObject, XMLParserDelegate {
    var elements: [(name: String, attributes: [String: String])] = []
    var texts: [String] = []
    private var open: [String] = []

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String] = [:]
    ) {
      elements.append((name, attributes))
      open.append("")
    }
    func parser(_ parser: XMLParser, foundCharacters text: String) {
      if !open.isEmpty { open[open.count - 1] += text }
    }
    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
      let text = open.removeLast()
      if name == "text" || name == "title" { texts.append(text) }
    }
  }

  private static func read(_ ladder: Ladder, clock: LocalZone? = nil) throws -> Reader {
    let parser = XMLParser(data: Data(LadderSVG(clock: clock).file(ladder))), reader = Reader()
    parser.delegate = reader
    try #require(parser.parse(), "\(parser.parserError.map { "\($0)" } ?? "")")
    return reader
  }

  private static func ladder(_ steps: [Ladder.Step]) -> Ladder {
    var ladder = Ladder(
      serial: 3, client: "192.0.2.1:40000", server: "192.0.2.9:8080", profile: "tjp", session: "7",
      firstSeen: Timestamp(seconds: 100, fraction: 0))
    ladder.rows = steps.enumerated().map { i, step in
      Ladder.Row(at: Timestamp(seconds: 100 + Int64(i), fraction: 0), event: .step(step))
    }
    return ladder
  }

  private static func step(
    _ label: String, _ facts: Ladder.Facts = [], copy: UInt16 = 1, isFromClient: Bool = true, fate: Fate? = .acked,
    packet: UInt64? = nil
  ) -> Ladder.Step {
    Ladder.Step(
      label: label, sequence: nil, isFromClient: isFromClient, facts: facts, copy: copy, fate: fate, packet: packet)
  }

  @Test func aFrameIsAnArrow() throws {
    let found = try Self.read(
      Self.ladder([
        Self.step("text 1", fate: .unanswered, packet: 12), Self.step("text 1", [.retry], copy: 2, packet: 15),
        Self.step("ack 1", [.answer], copy: 0, isFromClient: false, fate: nil),
      ]))
    #expect(
      found.texts == [
        "Ladder of connection #3 192.0.2.1:40000 to 192.0.2.9:8080, tjp, session 7", "time", "packet", "client",
        "server",
        "+0.000", "12", "!", "text 1", "no answer", "+1.000", "15", "R1", "text 1 retry", "+2.000", "ack 1",
      ])
    let arrows = found.elements.compactMap { $0.attributes["class"].flatMap { $0.hasPrefix("go") ? $0 : nil } }
    #expect(arrows == ["go", "go again", "go back"])
    // From the client's line to the server's, and back.
    let paths = found.elements.filter { $0.attributes["class"]?.hasPrefix("go") == true }.compactMap {
      $0.attributes["d"]
    }
    #expect(paths == ["M198 63H580", "M198 87H580", "M580 111H198"])
    #expect(found.elements.filter { $0.name == "g" && $0.attributes["class"] == "bad" }.count == 2)
    // Three rows of 24 below a head of 44.
    #expect(found.elements[0].attributes["viewBox"] == "0 0 960 116" && found.elements[0].attributes["height"] == "116")
  }

  @Test func aClockGivesTheTimeOfDay() throws {
    let found = try Self.read(Self.ladder([Self.step("a")]), clock: LocalZone { _ in (3_600, "CET") })
    #expect(found.texts.contains("01:01:40.000"))
  }

  @Test func silencesAndNotesAreWords() throws {
    var ladder = Self.ladder([Self.step("a")])
    ladder.rows.append(
      Ladder.Row(at: Timestamp(seconds: 200, fraction: 0), event: .note("reset by the server", isTrouble: true)))
    (ladder.leftOutBefore, ladder.leftOutBehind) = (2, 1)
    let found = try Self.read(ladder)
    for words in [
      "2 earlier frames left out", "100.0 s without a frame", "reset by the server", "1 later frame left out",
    ] {
      #expect(found.texts.contains(words), "\(words)")
    }
    #expect(found.elements.filter { $0.attributes["class"] == "hush" }.count == 3)
  }

  /// Text from traffic is escaped, and cut to the width of the drawing.
  @Test func hostileTextIsText() throws {
    var ladder = Self.ladder([
      Self.step("</text><script>x</script>&\u{0}\u{1b}\u{ffff}"), Self.step(String(repeating: "x", count: 9_999)),
    ])
    ladder.session = "\"><script>"
    let found = try Self.read(ladder)
    #expect(!found.elements.contains { $0.name == "script" })
    #expect(found.texts.contains("</text><script>x</script>&\\x00\\x1b\u{fffd}"))
    #expect(found.texts.first?.hasSuffix("session \"><script>") == true)
    #expect(found.texts.allSatisfy { $0.count <= 130 })
    #expect(LadderSVG().file(ladder) == LadderSVG().file(ladder))
  }
}
