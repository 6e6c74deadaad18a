import IMEngine
import Testing

@testable import IMProfile

/// Mistakes in what a profile says of delimiters, lines, parts, trailers and checksums, each with its place and with what is
/// accepted there.
@Suite struct FramingErrorTests {
  private static let delimited = [
    "profile: flags",  // 1
    "version: 1",
    "framing:",
    "  kind: delimited",
    "  delimiter: 7E",  // 5
    "  escape: { byte: 7D, replaces: { 01: 7D, 02: 7E } }",
    "header:",
    "  length: 8",
    "  parts: [{ when: { offset: 2, mask: 0x80 }, at: 4, length: 2, session: { offset: 4, size: 6 } }]",
    "length: { offset: 2, size: 2, bits: 10 }",  // 10
    "trailer: { length: 1 }",
    "fields:",
    "  type: { offset: 0, size: 2 }",
    "  session: { offset: 4, size: 4, encoding: bcd, sensitive: true, unique: true }",
    "checksum: { algorithm: xor, covers: frame, in: trailer }",  // 15
    "types:",
    "  1: { name: text, role: message, body: [{ load: { size: 2, into: answered, order: little } }] }",
  ]

  private static let line = [
    "profile: words",  // 1
    "version: 1",
    "framing: { kind: line }",
    "fields: { type: { word: 1 }, sequence: { word: 2 } }",
    "types:",  // 5
    "  SAY: { name: say, role: message }",
  ]

  @Test func soundOnes() throws {
    let flags = try ProfileCompiler.compile(Self.delimited.joined(separator: "\n"), source: "a.yaml")
    #expect(flags.checksumName == "xor")
    #expect(flags.hasSession)
    #expect(try ProfileCompiler.compile(Self.line.joined(separator: "\n"), source: "a.yaml").typeNames == ["say"])
  }

  @Test(
    arguments: [
      (
        4, "  kind: lengthy",
        "4:9: the kind of framing must be delimited, line, message, terminated, headers, resp, xml or pairs"
      ),
      (4, "  knd: line", "4:3: 'knd' is not known here; expected one of: kind, delimiter, escape, maximum"),
      (5, "", "4:3: 'delimiter' is missing"),
      (5, "  delimiter: 7E7E", "5:14: expected 1 to 1 bytes in hexadecimal"),
      (5, "  delimiter: 7E\n  maximum: 2000000", "6:12: 2000000 is not between 1 and 1048576"),
      (6, "  escape: { byte: 7E, mask: 20 }", "6:19: the escape must not be the delimiter"),
      (6, "  escape: { byte: 7D }", "6:11: an escape must have a 'mask', or 'replaces'"),
      (
        6, "  escape: { byte: 7D, mask: 20, replaces: { 01: 02 } }", "6:29: an escape must have a 'mask', or 'replaces'"
      ),
      (6, "  escape: { byte: 7D, replaces: {} }", "6:33: 'replaces' must have 1 to 4 bytes"),
      (6, "  escape: { byte: 7D, replaces: { 7E: 01 } }", "6:35: the delimiter must not follow an escape"),
      (6, "  escape: { byte: 7D, replaces: { aa: 01, AA: 02 } }", "6:43: 'AA' is given twice"),
      (9, "  parts: []", "9:10: a header must have 1 to 4 parts"),
      (9, "  parts: [{ at: 4, length: 2 }]", "9:11: 'when' is missing"),
      (9, "  parts: [{ when: { offset: 2 } }]", "9:19: 'mask' is missing"),
      (9, "  parts: [{ when: { offset: 9, mask: 1 } }]", "9:19: the field ends at byte 10, but the header at 8"),
      (9, "  parts: [{ when: { offset: 2, mask: 1 }, at: 9, length: 1 }]", "9:47: 9 is not between 0 and 8"),
      (9, "  parts: [{ when: { offset: 2, mask: 1 }, at: 3 }]", "9:47: 'at' needs 'length'"),
      (
        9, "  parts: [{ when: { offset: 2, mask: 1 }, body: tlv }]",
        "9:49: the body of a frame with such a part must be raw"
      ),
      (
        9, "  parts: [{ when: { offset: 2, mask: 1 }, session: { offset: 4, size: 5 } }]",
        "9:52: the field ends at byte 9, but the header at 8"
      ),
      (10, "length: { offset: 2, size: 2, maximum: 9 }", "10:40: between delimiters the maximum must be in 'framing'"),
      (
        10, "length: { offset: 2, encoding: varint }",
        "10:32: the encoding must be integer, or varint with a length that counts the body"
      ),
      (11, "trailer: { length: 0 }", "11:20: 0 is not between 1 and 64"),
      (11, "trailer: { length: 1, counted: 1 }", "11:32: '1' is neither true nor false"),
      (14, "  session: { offset: 4, size: 4, encoding: ebcdic }", "14:44: the encoding must be binary or bcd"),
      (14, "  session: { offset: 4, size: 4, sensitive: maybe }", "14:45: 'maybe' is neither true nor false"),
      (15, "checksum: { algorithm: xor, in: middle }", "15:33: a checksum must be in the header or trailer"),
      (
        15, "checksum: { algorithm: crc16-x25, in: trailer }",
        "15:39: a trailer for crc16-x25 needs at least 2 bytes, but this one has 1"
      ),
      (15, "checksum: { algorithm: xor }", "15:11: 'fields' has no checksum"),
      (
        15, "checksum: { algorithm: xor, in: trailer, order: middle }",
        "15:11: 'order' must be big or either, and little in a trailer"
      ),
      (15, "checksum: { algorithm: xor, in: trailer, covers: { from: 9 } }", "15:58: 9 is not between 0 and 8"),
      (
        17, "  1: { name: text, role: message, body: [{ load: { size: 2, into: answered, order: up } }] }",
        "17:84: 'order' must be big or little"
      ),
      (
        17, "  1: { name: text, role: message, body: [{ load: { size: 2, into: answered, encoding: up } }] }",
        "17:87: the encoding must be bcd, without an order"
      ),
      (
        17,
        "  1: { name: text, role: message, body: [{ skip: 2, unless: { offset: 7, size: 2, mask: 1, value: 0 } }] }",
        "17:80: 2 is not between 1 and 1"
      ),
    ] as [(Int, String, String)])
  func delimited(_ line: Int, _ text: String, _ expected: String) {
    expect(Self.delimited, line, text, expected)
  }

  @Test(
    arguments: [
      (3, "framing: { kind: line, delimiter: 0A }", "3:35: lines end with a line feed: 'delimiter' has no effect"),
      (4, "fields: { sequence: { word: 2 } }", "4:9: 'type' is missing"),
      (4, "fields: { type: { word: 17 } }", "4:25: 17 is not between 1 and 16"),
      (4, "fields: { type: { offset: 0 } }", "4:19: 'offset' is not known here; expected one of: word"),
      (4, "fields: { type: { word: 1 } }\nheader: { length: 4 }", "5:9: lines have words, and no 'header'"),
      (6, "  'A B': { name: say, role: message }", "6:3: a line's type must be a word of 1 to 32 printable characters"),
    ] as [(Int, String, String)])
  func lines(_ line: Int, _ text: String, _ expected: String) { expect(Self.line, line, text, expected) }

  @Test func partsWantDelimiters() {
    let text = """
      profile: a
      version: 1
      header: { length: 4, parts: [{ when: { offset: 0, mask: 1 } }] }
      """
    #expect(throws: ProfileError.self) { try ProfileCompiler.compile(text, source: "a") }
  }

  private func expect(_ sound: [String], _ line: Int, _ text: String, _ expected: String) {
    var lines = sound
    lines[line - 1] = text
    do {
      _ = try ProfileCompiler.compile(lines.joined(separator: "\n"), source: "a.yaml")
      Issue.record("no error for: \(text)")
    } catch {
      #expect("\(error)" == "a.yaml:\(expected)")
    }
  }
}
