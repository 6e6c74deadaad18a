import IMEngine
import Testing

@testable import IMProfile

/// Mistakes in what a profile says of contents, paths and types of several parts, each with its place and with what is accepted there.
@Suite struct ContentErrorTests {
  private static let page = [
    "profile: calls",  // 1
    "version: 1",
    "framing: { kind: message }",
    "content: json",
    "fields: { type: [side, { at: \"0\" }], sequence: { at: id }, status: { at: code } }",  // 5
    "types:",
    "  \"client 2\": { name: call, role: message, answered: true, also: [\"server 2\"] }",
    "  \"* 3\": { name: result, role: acknowledgment, answers: [call], number: [ref, id] }",
    "named: { messages: { call: [paths: { id: id, n: { at: n.m, type: integer } }] } }",
  ]

  @Test func soundOne() throws {
    let plan = try ProfileCompiler.compile(Self.page.joined(separator: "\n"), source: "a.yaml")
    #expect(plan.typeNames == ["call", "result", "unreadable"])
  }

  @Test(
    arguments: [
      (
        3, "framing: { kind: mesage }",
        "3:18: the kind of framing must be delimited, line, message, terminated, headers, resp, xml or pairs; did you mean message?"
      ),
      (
        3, "framing: { kind: message, ends: 00 }",
        "3:27: 'ends' is not known here; expected one of: kind, records, maximum"
      ),
      (3, "framing: { kind: terminated }", "3:10: 'ends' is missing"),
      (
        4, "content: jason",
        "4:10: a content must be one of: json, protobuf, headers, words, resp, xml, messagepack, ber, pairs; did you mean json?"
      ),
      (4, "content: { kind: json, lead: [] }", "4:30: a lead must have 1 to 8 steps"),
      (
        4, "content: { kind: json, lead: [{ digits: 2, into: tipe }] }",
        "4:50: what a lead reads must be the type or the sequence; did you mean type?"
      ),
      (
        5, "fields: { type: [side, { at: \"0\" }], session: { at: [a, b, c, d, e] } }",
        "5:53: expected 1 to 4 paths, of which the first present counts"
      ),
      (
        5, "fields: { type: [side, { at: \"0\" }] }\nfrom-server: { feelds: 1 }",
        "6:16: 'feelds' is not known here; expected one of: header, length, fields"
      ),
      (
        5, "fields: { type: [side, { at: \"0\" }] }\nfrom-server: { header: { length: 1 } }",
        "6:24: frames of this kind have no 'header': they end where 'framing' says"
      ),
      (
        5, "fields: { type: [side, { at: \"0\" }] }\nfrom-server: { fields: { type: side } }",
        "6:14: the types of both sides must have the same number of parts"
      ),
      (
        5, "fields: { type: [sides, { at: \"0\" }] }",
        "5:18: a part of a type must be side, lead, or have an offset, a path 'at', 'which', a 'word', or 'element'; did you mean side?"
      ),
      (
        5, "fields: { type: [side, { at: a.b.c.d.e }] }",
        "5:30: a path must be 1 to 4 names, numbers or * with dots between them"
      ),
      (
        5, "fields: { type: [side, { offset: 0 }] }",
        "5:24: these frames have no header: a part has a path 'at', or a 'word'"
      ),
      (
        7, "  \"client\": { name: call, role: message }",
        "7:3: a type has 2 parts with spaces between them, but this one has 1"
      ),
      (
        7, "  \"clint 2\": { name: call, role: message }", "7:3: part 1 of a type must be client or server, not 'clint'"
      ),
      (
        7, "  \"client 2\": { name: call, role: message, answered: true, also: [\"* 3\"] }",
        "7:67: the type '* 3' is taken"
      ),
      (
        7, "  \"client 2\": { name: call, role: message, answered: true, refuses: always }",
        "7:69: 'refuses: always' is for an acknowledgment"
      ),
      (
        8, "  \"* 3\": { name: result, role: message, through: last }",
        "8:50: 'through' is for an acknowledgment that names numbers"
      ),
      (
        8,
        "  \"* 3\": { name: result, role: acknowledgment, answers: [call], body: [until: { byte: 20, into: sequense }] }",
        "8:97: known here: answered, identity, keep-alive, reference, sequence, status, subject; did you mean sequence?"
      ),
      (
        9, "named: { messages: { call: [{ field: n, at: a, type: intger }] } }",
        "9:54: a type must be text, integer, flag or bytes here; did you mean integer?"
      ),
      (
        9, "named: { messages: { call: [paths: { id: a..b }] } }",
        "9:42: a path must be 1 to 4 names, numbers or * with dots between them"
      ),
    ]) func mistakes(_ line: Int, _ text: String, _ message: String) throws
  {
    var lines = Self.page
    lines[line - 1] = text
    let error = #expect(throws: ProfileError.self) {
      try ProfileCompiler.compile(lines.joined(separator: "\n"), source: "a.yaml")
    }
    #expect(error.map { "\($0)" } == "a.yaml:\(message)")
  }

  private static let counted = [
    "profile: counted", "version: 1", "header: { length: 6 }", "length: { offset: 1, size: 2 }",
  ]
  private static let call = "types:\n  1: { name: call, role: message }"

  private static func compile(_ text: String) throws(ProfileError) {
    _ = try ProfileCompiler.compile((counted + [text]).joined(separator: "\n"), source: "a.yaml")
  }

  /// Fields at positions that every frame has.
  @Test(
    arguments: [
      "fields: { type: [{ offset: 0 }], time: { offset: 2, size: 4 } }\n" + call,
      "fields: { type: [{ offset: 0, after: length }] }\ncompression: { kind: zlib }\n" + call,
      "fields: { type: [{ offset: 0 }] }\ntypes:\n  1: { name: call, role: message, length: absent }",
    ] as [String]) func soundPlaces(_ text: String) throws
  {
    try Self.compile(text)
  }

  /// Fields at positions that some frames do not have.
  @Test(
    arguments: [
      (
        "fields: { type: [{ offset: 0 }], time: { offset: 3, size: 4 } }\n" + call,
        "5:40: 'time' must be at a fixed place of the header"
      ),
      (
        "fields: { type: [{ offset: 0 }], time: { offset: 2, size: 4 } }\nfrom-server: { header: { length: 8 } }\n"
          + call, "6:14: 'time' and 'checksum' are for fields that both sides' frames have at one place"
      ),
      (
        "fields: { type: [{ offset: 0 }] }\ncompression: { kind: zlib }\n" + call,
        "6:14: with compressed bodies, the offset of a field must count from the body, with 'after: length'"
      ),
      (
        "fields: { type: [{ offset: 3 }] }\ntypes:\n  1: { name: call, role: message, length: absent }",
        "7:43: a length is absent where the type is one number in front of it"
      ),
    ] as [(String, String)]) func unsoundPlaces(_ text: String, _ message: String) throws
  {
    let error = #expect(throws: ProfileError.self) { try Self.compile(text) }
    #expect(error.map { "\($0)" } == "a.yaml:\(message)")
  }

  /// A part in front of a length of variable size must not depend on what follows that length.
  @Test(arguments: [(1, 3), (2, 2), (3, 1), (3, 3)]) func partsAroundTheLength(_ at: Int, _ when: Int) throws {
    let text = [
      "profile: parts", "version: 1",
      "header: { length: 6, parts: [{ when: { offset: \(when) }, at: \(at), length: 2 }] }",
      "length: { offset: 2, encoding: varint }", "fields: { type: [{ offset: 0 }] }", Self.call,
    ].joined(separator: "\n")
    guard at <= 2 else {
      _ = try ProfileCompiler.compile(text, source: "a.yaml")
      return
    }
    let error = #expect(throws: ProfileError.self) { _ = try ProfileCompiler.compile(text, source: "a.yaml") }
    #expect(
      error.map { "\($0)" } == "a.yaml:4:9: a part in front of the length depends on a number in front of it, too")
  }
}
