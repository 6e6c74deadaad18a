import Foundation
import Testing

@testable import IMContent

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// XML elements, against the values that stand here and against libxml2, which Foundation parses with.
@Suite struct XMLScannerTests {
  /// The outermost element's name, and what paths lead to.
  private struct Scan {
    var result: ContentResult
    var element: String?
    var texts: [String?]

    init(_ bytes: [UInt8], _ paths: [String] = []) throws {
      var builder = ContentPlanBuilder()
      for path in paths {
        let slot = builder.slot(try #require(ContentPath.steps(path, .xml)))
        #expect(slot != nil)
      }
      let place = try #require(builder.slot([.element]))
      let plan = builder.plan(.xml, stream: Array("stream".utf8))
      var values = [ContentValue](repeating: ContentValue(), count: ContentPlan.maximumSlots)
      var result = ContentResult.cut
      // The copy is exactly as long as the content: an address sanitizer finds what is read behind it.
      bytes.withUnsafeBufferPointer { memory in
        values.withUnsafeMutableBufferPointer { target in
          guard let base = memory.baseAddress, let start = target.baseAddress else { return }
          result = plan.scan(base, memory.count, start)
        }
      }
      func text(_ slot: Int) -> String? {
        let value = values[slot]
        guard value.kind != .absent else { return nil }
        let raw = bytes[value.offset..<value.offset + value.count]
        return (value.isEndTag ? "/" : "")
          + (value.isEscaped ? XMLText.meaning(of: raw) : String(decoding: raw, as: UTF8.self))
      }
      self.result = result
      element = text(place)
      texts = paths.indices.map(text)
    }

    init(_ text: String, _ paths: [String] = []) throws { try self.init(Array(text.utf8), paths) }
  }

  static let elements: [(String, String, [String], [String?])] = [
    ("<a/>", "a", ["@id"], [nil]),
    (#"<message id="m1" to='bob'><body>hi</body></message>"#, "message", ["@id", "@to", "body"], ["m1", "bob", "hi"]),
    (
      "<m><body>1 &lt; 2 &#65;&#x263a;<![CDATA[ </body> & ]]>.</body></m>", "m", ["body"],
      ["1 < 2 A\u{263a} </body> & ."]
    ),
    ("<m><a>1<b>2</b>3</a><a>4</a></m>", "m", ["a", "a.b"], ["1", "2"]),
    (
      "<iq type='error'><error  type = \"cancel\" /></iq>", "iq", ["@type", "error.@type", "error"],
      ["error", "cancel", ""]
    ),
    (#"<x:iq xmlns:id="u" xml:id="i" y:id="j"/>"#, "iq", ["@id"], ["i"]),
    ("<q><x><item n='1'/></x><item n='2'/></q>", "q", ["*.item.@n", "item.@n"], ["1", "2"]),
    ("<s:features><ver/></s:features>", "features", ["ver"], [""]),
    ("<stream:stream id='s' >", "stream", ["@id"], ["s"]),
    ("<?xml version='1.0' ?>\n<stream>", "stream", ["@id"], [nil]),
    ("</stream:stream>", "/stream", ["@id"], [nil]),
    (" <a>\u{4f60}</a>", "a", ["@a"], [nil]),
  ]

  @Test(arguments: elements) func values(
    _ text: String, _ element: String, _ paths: [String], _ wanted: [String?]
  ) throws {
    let scan = try Scan(text, paths)
    #expect(scan.result == .whole(text.utf8.count))
    #expect(scan.element == element)
    #expect(scan.texts == wanted)
    // Nothing that follows changes it, and all its beginnings are cut.
    #expect(try Scan(text + "<", paths).result == .whole(text.utf8.count))
    for count in 1..<text.utf8.count { #expect(try Scan(Array(text.utf8.prefix(count)), paths).result == .cut) }
  }

  @Test(arguments: [
    "text", "<a><b></a></b>", "<a></b>", "</a>", "<!DOCTYPE a>", "<!-- --><a/>", "<a><!-- --></a>", "<a><?p?></a>",
    "<a>&nbsp;</a>",
    "<a>& </a>", "<a b/>", "<a b=c/>", "<a b='<'/>", "<a b='&x;'/>", "<1/>", "<a/ >", "< a/>", "<a>&#0;</a>",
    "<a>&#xd800;</a>",
    "<a b='1'c='2'/>", "<![CDATA[x]]>",
  ]) func malformed(_ text: String) throws {
    guard case .malformed = try Scan(text).result else {
      Issue.record("\(text) is taken for an element")
      return
    }
  }

  @Test func bounds() throws {
    let deep = String(repeating: "<a>", count: 64) + String(repeating: "</a>", count: 64)
    #expect(try Scan(deep).result == .whole(deep.utf8.count))
    #expect(try Scan(String(repeating: "<a>", count: 1 << 20)).result == .malformed(64 * 3))
    #expect(try Scan("<a b='" + String(repeating: "x", count: 10_000)).result == .malformed(0))
    #expect(try Scan("<" + String(repeating: "x", count: 10_000)).result == .malformed(0))
    #expect(try Scan("<?xml " + String(repeating: "x", count: 10_000)).result == .malformed(0))
  }

  /// What libxml2 reads of the same bytes.
  private final class Reading: NSObject, XMLParserDelegate {
    var open: [String] = []
    var attributes: [String: String] = [:]
    var bodies: [String] = []
    var others = 0

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      open.append(name)
      if open.count == 1 { self.attributes = attributes }
      if open.count == 2, name == "body" { bodies.append("") }
    }
    func parser(_ parser: XMLParser, foundCharacters text: String) {
      if open.count == 2, open.last == "body" { bodies[bodies.count - 1] += text }
    }
    func parser(_ parser: XMLParser, foundCDATA data: Data) {
      self.parser(parser, foundCharacters: String(decoding: data, as: UTF8.self))
    }
    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
      open.removeLast()
    }
    func parser(_ parser: XMLParser, foundComment comment: String) { others += 1 }
    func parser(_ parser: XMLParser, foundProcessingInstructionWithTarget target: String, data: String?) { others += 1 }
  }

  /// Random numbers that are the same in every run.
  private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ state >> 29
    }
  }

  private func element(_ depth: Int, _ dice: inout Dice) -> String {
    let name = depth == 1 ? ["body", "x", "y"].randomElement(using: &dice) ?? "x" : "e\(depth)"
    var text = "<\(name)"
    for attribute in ["id", "to", "q"] where Int.random(in: 0..<3, using: &dice) == 0 {
      text +=
        " \(attribute)=" + (["'a&amp;b'", "\"c'd\"", "''", "'\u{4f60} &#x41;'"].randomElement(using: &dice) ?? "''")
    }
    guard Int.random(in: 0..<5, using: &dice) > 0 else { return text + "/>" }
    text += ">"
    for _ in 0..<Int.random(in: 0...4, using: &dice) {
      switch Int.random(in: 0..<(depth > 4 || name == "body" ? 4 : 6), using: &dice) {
      case 0: text += "plain text that is longer than eight bytes"
      case 1: text += "&lt;&#65;&quot;"
      case 2: text += "<![CDATA[<x>&amp;]]>"
      case 3: text += " "
      default: text += element(depth + 1, &dice)
      }
    }
    return text + "</\(name)>"
  }

  @Test func randomElementsAndTheirMutants() throws {
    var dice = Dice(state: 11)
    var whole = 0
    for _ in 0..<3_000 {
      var bytes = Array(element(0, &dice).utf8)
      for _ in 0..<Int.random(in: 0...2, using: &dice) {
        let place = Int.random(in: 0..<bytes.count, using: &dice)
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: bytes[place] = Array("<>/&;'\"= ae!?[]").randomElement(using: &dice).flatMap(\.asciiValue) ?? 0x20
        case 1: bytes.remove(at: place)
        default: bytes.insert(0x3c, at: place)
        }
        if bytes.isEmpty { bytes = [0x20] }
      }
      let scan = try Scan(bytes, ["@id", "@to", "body"])
      let parser = XMLParser(data: Data(bytes))
      parser.shouldProcessNamespaces = false
      let reading = Reading()
      parser.delegate = reading
      let text = String(decoding: bytes, as: UTF8.self)
      if case .whole(let count) = scan.result {
        guard count == bytes.count else { continue }
        whole += 1
        guard parser.parse() else {
          // It refuses two attributes of one name, "]]>" in text, and names that XML forbids.
          let isKnown = text.contains("]]>") || parser.parserError != nil && hasTwins(text)
          #expect(isKnown, "\(text)")
          continue
        }
        #expect(scan.texts[0] == reading.attributes["id"], "\(text)")
        #expect(scan.texts[1] == reading.attributes["to"], "\(text)")
        #expect(scan.texts[2] == reading.bodies.first, "\(text)")
      } else if parser.parse() {
        // What RFC 6120 forbids and XML has.
        #expect(reading.others > 0 || text.contains("<!"), "\(text) is XML, and \(scan.result)")
      }
    }
    #expect(whole > 1_000)
  }

  /// Whether some tag may have two attributes of one name.
  private func hasTwins(_ text: String) -> Bool {
    text.split(separator: "<").contains { tag in
      ["id=", "to=", "q="].contains { tag.components(separatedBy: $0).count > 2 }
    }
  }

  @Test(arguments: ["@id.x", "@", "a..b", "a.b.c.d.e", ""]) func paths(_ text: String) {
    #expect(ContentPath.steps(text, .xml) == nil)
  }
}
