import Foundation
import IMWire
import Testing

@testable import IMOutput

@Suite("Lines of JSON for readers without limits")
struct WholeLineTests {
  private func parsed(_ body: (inout JSONLines) -> Void) throws -> [String: Any] {
    var out = ByteWriter(capacity: 64)
    out.literal("before\n")
    JSONLines.line(to: &out, body)
    #expect(out.text.hasPrefix("before\n{") && out.text.hasSuffix("}\n"))
    let object = try JSONSerialization.jsonObject(with: Data(out.text.dropFirst("before\n".count).utf8))
    return try #require(object as? [String: Any])
  }

  @Test("numbers and texts are whole, above 2^63 and 1 KiB, too")
  func nothingIsCut() throws {
    let text = String(repeating: "\u{1f600}\"", count: 3_000)
    let object = try parsed { lines in
      lines.exact("number", UInt64.max)
      lines.exact(named: "other", UInt16(7))
      lines.string("text", text)
      lines.digits("digits", "18446744073709551615")
    }
    #expect(object["number"] as? UInt64 == .max)
    #expect(object["other"] as? Int == 7)
    #expect(object["text"] as? String == text)
    #expect(object["digits"] as? UInt64 == .max)
  }

  @Test("lists and objects in one another have their commas")
  func nests() throws {
    let object = try parsed { lines in
      lines.openList("none")
      lines.closeList()
      lines.openList("numbers")
      for number: Int64 in [1, -2, .min] { lines.item(number) }
      lines.closeList()
      lines.openList("nested")
      lines.item("a\n")
      lines.openList()
      lines.item(name: "b")
      lines.openItem()
      lines.flag("c", true)
      lines.flag("d", false)
      lines.close()
      lines.closeList()
      lines.openItem()
      lines.close()
      lines.closeList()
      lines.endpoint("server", Endpoint(address: IPAddress(v4: 0xC000_0201), port: 80))
    }
    #expect((object["none"] as? [Any])?.isEmpty == true)
    #expect(object["numbers"] as? [Int64] == [1, -2, .min])
    let nested = try #require(object["nested"] as? [Any])
    #expect(nested.count == 3)
    #expect(nested[0] as? String == "a\n")
    let inner = try #require(nested[1] as? [Any])
    #expect(inner[0] as? String == "b")
    #expect(inner[1] as? [String: Bool] == ["c": true, "d": false])
    #expect((nested[2] as? [String: Any])?.isEmpty == true)
    #expect(object["server"] as? String == "192.0.2.1:80")
  }

  @Test("what is known later goes into the line that was written last, and into no other")
  func amends() throws {
    var out = ByteWriter(capacity: 64)
    for number in 1...2 as ClosedRange<UInt64> { JSONLines.line(to: &out) { $0.exact("number", number) } }
    JSONLines.amend(&out) { $0.string("late", "\\") }
    #expect(out.text == "{\"number\":1}\n{\"number\":2,\"late\":\"\\\\\"}\n")
  }
}
