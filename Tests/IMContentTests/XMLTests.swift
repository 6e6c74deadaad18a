import Foundation
import Testing

@testable import IMContent

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// XML elements, against values written by hand and against libxml2, which Foundation parses with.
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
      let slot = builder.slot([.element])
      let place = try #require(slot)
      var form = ContentForm(.xml)
      form.stream = Array("stream".utf8)
      let plan = builder.plan(form)
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
          + (value.isEscaped ? XMLText.decoded(raw) : String(decoding: raw, as: UTF8.self))
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

  /// libxml2 reads the same values of random elements.
  @Test func randomElements() throws {
    var dice = Dice(state: 11)
    for _ in 0..<1_000 {
      let text = element(0, &dice)
      let scan = try Scan(text, ["@id", "@to", "body"])
      #expect(scan.result == .whole(text.utf8.count), "\(text)")
      let parser = XMLParser(data: Data(text.utf8))
      let reading = Reading()
      parser.delegate = reading
      #expect(parser.parse())
      #expect(scan.texts == [reading.attributes["id"], reading.attributes["to"], reading.bodies.first], "\(text)")
    }
  }

  /// Mutants end somewhere in their bytes, and what is found lies in them.
  @Test func mutants() throws {
    var dice = Dice(state: 12)
    let others = Array("<>/&;'\"= ae!?[]".utf8)
    for _ in 0..<5_000 {
      var bytes = Array(element(0, &dice).utf8)
      for _ in 0..<Int.random(in: 1...3, using: &dice) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &dice)
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: bytes[place] = others.randomElement(using: &dice) ?? 0x20
        case 1: bytes.remove(at: place)
        default: bytes.insert(others.randomElement(using: &dice) ?? 0x20, at: place)
        }
      }
      if case .whole(let count) = try Scan(bytes, ["@id", "body", "x.@q"]).result {
        #expect(count <= bytes.count)
        #expect(try Scan(Array(bytes[..<count]), []).result == .whole(count))
      }
    }
  }

  @Test(arguments: ["@id.x", "@", "a..b", "a.b.c.d.e", ""]) func paths(_ text: String) {
    #expect(ContentPath.steps(text, .xml) == nil)
  }
}
