import Foundation
import IMEndpoint
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
      ("1: { name: n, order: big }", "a.yaml:11:32: 'order' needs 'type'"),
      (
        "1: { name: n, type: real }",
        "a.yaml:11:31: a type must be one of: unsigned, signed, text, bytes, time, time-ms, time-1900, address, bcd, list"
      ),
      ("1: { name: n, type: unsigned, order: up }", "a.yaml:11:48: 'order' must be big or little"),
    ] {
      let found = #expect(throws: ProfileError.self) {
        try ProfileCompiler.compile(Self.profile(tags), source: "a.yaml")
      }
      #expect(found.map { "\($0)" } == error)
    }
  }

  /// The profile `tjp` names every tag that the library IMEndpoint writes, and hides those that let a client in.
  @Test func theLibrarysTags() throws {
    let yaml = try #require(BuiltInProfiles.yaml("tjp"))
    let plan = try ProfileCompiler.compile(String(decoding: yaml, as: UTF8.self), source: "tjp")
    #expect(plan.sensitiveTags == [UInt32(IMEndpoint.Tag.secret.rawValue), UInt32(IMEndpoint.Tag.token.rawValue)])
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
    let source = try String(
      contentsOf: root.appendingPathComponent("Sources/IMEndpointCore/Wire/TLV.swift"), encoding: .utf8)
    let tags = source.matches(of: #/Tag\(rawValue: 0x([0-9a-f]{4})\)/#).compactMap { UInt32($0.1, radix: 16) }
    #expect(tags.count > 30, "the declarations of tags have another form")
    for tag in tags {
      #expect(plan.tagNames[tag] != nil, "0x\(String(tag, radix: 16)) has no name")
    }
  }
}
