import IMEngine
import Testing

@testable import IMProfile

/// What a profile says of the values of tags.
@Suite struct TagTests {
  private static func profile(_ tags: String) -> String {
    """
    profile: tags
    version: 1
    header: { length: 6, magic: { offset: 0, bytes: CAFE0001 } }
    length: { offset: 4, size: 1 }
    fields: { type: { offset: 5, size: 1 } }
    types: { 1: { name: say, role: message } }
    tlv:
      tag: { size: 1 }
      length: { size: 1 }
      nested: 9
      tags: { \(tags) }
    """
  }

  @Test func namesAndTypes() throws {
    let text = Self.profile(
      "1: { name: n, type: signed, order: little, sensitive: true }, 2: two, 8: { name: l, type: list }")
    let plan = try ProfileCompiler.compile(text, source: "a.yaml")
    #expect(plan.tagTypes == [1: ValueType(.signed, littleEndian: true), 8: ValueType(.list)])
    #expect(plan.tagNames == [1: "n", 2: "two", 8: "l"] && plan.sensitiveTags == [1])
    for (tags, error) in [
      ("1: { type: text }", "a.yaml:11:14: 'name' is missing"),
      ("1: { name: n, order: big }", "a.yaml:11:30: 'order' needs 'type'"),
      (
        "1: { name: n, type: real }",
        "a.yaml:11:29: a type is one of: unsigned, signed, text, bytes, time, time-ms, time-1900, address, bcd, list"
      ),
      ("1: { name: n, type: unsigned, order: up }", "a.yaml:11:46: 'order' is big or little"),
    ] {
      let found = #expect(throws: ProfileError.self) {
        try ProfileCompiler.compile(Self.profile(tags), source: "a.yaml")
      }
      #expect(found.map { "\($0)" } == error)
    }
  }
}
