import IMEngine
import IMTestSupport
import Testing

@testable import IMProfile

/// A profile that is wrong says what is wrong, and where: file, line and column, from 1.
@Suite struct ProfileErrorTests {
  /// A small profile without a mistake. The tests change one line of it.
  static let lines = [
    "profile: chat",  // 1
    "version: 1",
    "ports: [9000, 9001]",
    "header:",
    "  length: 8",  // 5
    "  magic: { offset: 0, bytes: CAFE }",
    "length: { offset: 4, size: 2, maximum: 1024 }",
    "fields:",
    "  type: { offset: 2, size: 1 }",
    "  sequence: { offset: 6, size: 2 }",  // 10
    "sequence: { kind: counter, bits: 16 }",
    "types:",
    "  1: { name: text, role: message, answered: true }",
    "  2: { name: ok, role: acknowledgment, answers: [text], body: raw }",
    "tlv:",  // 15
    "  tag: { size: 1 }",
    "  length: { size: 1 }",
    "timing: { answer: 6s, heartbeat: 15s }",
  ]

  private static let known =
    "profile, version, title, description, ports, place, framing, header, length, trailer, fields, checksum, sequence, "
    + "types, acknowledgment, handshake, receipts, status, tlv, timing, variable, heartbeat, identity, named, content, "
    + "counters, preface, from-server, compression"

  private static let sums =
    "crc32, crc32c, crc16-arc, crc16-modbus, crc16-ccitt-false, crc16-xmodem, crc16-x25, crc16-kermit, adler32, fletcher16, "
    + "fletcher32, xor, sum8, sum16, sum32"

  @Test func soundOne() throws {
    let plan = try ProfileCompiler.compile(Self.lines.joined(separator: "\n"), source: "chat.yaml")
    #expect(plan.name == "chat")
    #expect(plan.version == "1")
    #expect(plan.ports == [9_000, 9_001])
    #expect(plan.typeNames == ["text", "ok"])
  }

  /// The line, what stands there instead, and the error without the file's name.
  @Test(
    arguments: [
      (1, "profile: Chat!", "1:10: a profile's name must be 1 to 32 of a-z, 0-9, - and _"),
      (1, "profile: ''", "1:10: a profile's name must be 1 to 32 of a-z, 0-9, - and _"),
      (1, "profile: [a]", "1:10: expected a single value"),
      (1, "", "2:1: 'profile' is missing"),
      (
        2, "verzion: 1",
        "2:1: 'verzion' is not known here; expected one of: \(known)"
      ),
      (3, "ports: 9000", "3:8: expected a list"),
      (3, "ports: [9000, 70000]", "3:15: 70000 is not between 1 and 65535"),
      (3, "ports: [http]", "3:9: 'http' is not a whole number"),
      (5, "  length: 0", "5:11: 0 is not between 1 and 256"),
      (5, "  length: 257", "5:11: 257 is not between 1 and 256"),
      (5, "  length: 99999999999999999999", "5:11: '99999999999999999999' is not a whole number"),
      (6, "  magic: { offset: 0, bytes: CAF }", "6:30: expected 1 to 8 bytes in hexadecimal"),
      (6, "  magic: { offset: 0, bytes: XY }", "6:30: expected 1 to 8 bytes in hexadecimal"),
      (
        6, "  magic: { offset: 7, bytes: CAFE }",
        "6:10: magic and version must be in the first eight bytes of the header"
      ),
      (6, "  magic: { bytes: CAFE }", "6:10: 'offset' is missing"),
      (6, "  magic: { offset: -1, bytes: CAFE }", "6:20: -1 is not between 0 and 7"),
      (7, "length: { offset: 7, size: 2 }", "7:9: the field ends at byte 9, but the header at 8"),
      (7, "length: { offset: 4, size: 9 }", "7:28: 9 is not between 1 and 8"),
      (7, "length: { offset: 4, size: 2, order: middle }", "7:9: 'order' must be big or little"),
      (
        7, "length: { offset: 4, size: 2, counts: all }",
        "7:39: 'counts' must be body, frame, or the byte that it counts from"
      ),
      (7, "length: { offset: 4, size: 2, maximum: 2000000000 }", "7:40: 2000000000 is not between 0 and 1073741824"),
      (
        7, "length: { offset: 1, encoding: huffman }",
        "7:32: the encoding must be integer, or varint with a length that counts the body"
      ),
      (
        7, "length: { offset: 4, size: 2, sise: 2 }",
        "7:31: 'sise' is not known here; expected one of: offset, size, order, low-bit, bits, mask, encoding, counts, maximum, after"
      ),
      (9, "  type: { offset: 2, size: 1, low-bit: 8 }", "9:40: 8 is not between 0 and 7"),
      (9, "  type: { offset: 2, size: 1, low-bit: 4, bits: 5 }", "9:49: 5 is not between 1 and 4"),
      (9, "  type: { offset: 2, mask: 0x100 }", "9:28: 0x100 is not between 1 and 255"),
      (9, "  type: { offset: 2, mask: 3, bits: 2 }", "9:37: a field must have a 'mask', or 'low-bit' and 'bits'"),
      (9, "  type: { offset: 2, mask: 0xF0 }", "13:3: the field 'type' cannot have the value 1"),
      (11, "status: { accepted: [0, 0] }", "11:9: a status must have a 'tag', be in 'fields', or be loaded by a step"),
      (11, "status: { tag: 7, accepted: [9, 0] }", "11:33: 0 is not between 9 and 4294967295"),
      (11, "status: { tag: [1, 2, 3] }", "11:16: a status has one tag, or a list of two"),
      (
        13, "  1: { name: text, role: message, body: [tlv, skip: 1] }",
        "13:47: 'tlv' and 'end' must be a body's last step"
      ),
      (
        13, "  1: { name: text, role: message, body: [soup] }",
        "13:42: a step must be tlv, end, or one of skip, load, text, string, bytes, expect, digits, until, at, tlv and each"
      ),
      (13, "  1: { name: text, role: message, body: [bytes: { size: 5 }] }", "13:57: 5 is not between 1 and 4"),
      (13, "  1: { name: text, role: message, body: [string: { into: identity }] }", "13:50: 'maximum' is missing"),
      (
        14, "  2: { name: ok, role: acknowledgment, answers: some }", "14:49: 'answers' must be all, or a list of types"
      ),
      (16, "  tag: { size: 2, offset: 13 }", "16:27: 13 is not between 0 and 12"),
      (17, "  length: { size: 1 }\n  padding: 3", "18:12: the padding must be to 1, 2, 4 or 8 bytes"),
      (17, "  length: { size: 1 }\n  header: 1", "18:11: 1 is not between 2 and 16"),
      (
        17, "  length: { size: 1 }\n  optional: { offset: 2, mask: 1, adds: 4 }",
        "18:13: the flags are at byte 2, but the header ends at 2"
      ),
      (9, "  type: { offset: 2, sise: 1 }", "9:22: 'sise' is not known in a field"),
      (3, "ports: [9000", "4:7: did not find expected ',' or ']'"),
      (2, "version: \u{7}", "2:10: control characters are not allowed"),
      (4, "\theader:", "4:1: found character that cannot start any token"),
      (
        9, "  typo: { offset: 2, size: 1 }",
        "9:3: 'typo' is not known here; expected one of: type, sequence, time, encryption, compression, session, checksum, duplicate, status, end-to-end"
      ),
      (9, "", "10:3: 'type' is missing"),
      (11, "sequence: { kind: ticket }", "11:19: the kind must be counter or identifier"),
      (11, "sequence: { kind: counter, bits: 33 }", "11:34: 33 is not between 1 and 32"),
      (11, "sequence: { kind: counter, bits: 8, wraps-at: 257 }", "11:47: 257 is not between 2 and 256"),
      (11, "checksum: { algorithm: md5 }", "11:24: the algorithm must be one of: \(sums)"),
      (
        11, "checksum: { algorithm: crc32, covers: all }",
        "11:39: a checksum must cover the body, the frame, or everything from a byte on"
      ),
      (11, "checksum: { algorithm: crc32 }", "11:11: 'fields' has no checksum"),
      (
        13, "  1: { name: text, role: shout }",
        "13:26: a role must be message, acknowledgment, heartbeat, control, receipt or other"
      ),
      (
        11, "sequence: { kind: counter, shared-by: moon }",
        "11:39: 'shared-by' must be server, and is only for a counter"
      ),
      (
        11, "sequence: { kind: identifier, shared-by: server }",
        "11:42: 'shared-by' must be server, and is only for a counter"
      ),
      (13, "  1: { name: 'a\"b', role: message }", "13:14: a name must be 1 to 64 of a-z, A-Z, 0-9, - and _"),
      (2, "version: a b", "2:10: a profile's version must be 1 to 32 of a-z, 0-9, -, _ and ."),
      (2, #""a\e[31m\n\u202E": 1"#, #"2:1: 'a\u{1b}[31m\u{a}\u{202e}' is not known here; expected one of: \#(known)"#),
      (13, "  1: { name: text, role: message, answered: yes }", "13:45: 'yes' is neither true nor false"),
      (13, "  one: { name: text, role: message }", "13:3: 'one' is not a whole number"),
      (13, "  2: { name: text, role: message }", "13:3: '2' is given twice in the same mapping"),
      (13, "  0x2: { name: text, role: message }", "14:3: type 2 is given twice"),
      (13, "  1: { name: ok, role: message }", "14:6: the name 'ok' is taken"),
      (13, "  1: { name: other, role: message }", "13:6: the name 'other' is taken"),
      (13, "  1: { name: text, role: message, from: moon }", "13:41: 'from' must be client or server"),
      (13, "  1: { name: text, role: message, length: 1025 }", "13:43: 1025 is not between 0 and 1024"),
      (
        13, "  1: { name: text, role: message, body: soup }", "13:41: a body must be tlv, raw, none, or a list of steps"
      ),
      (
        13, "  1: { name: text, role: message, body: [{ hop: 1 }] }",
        "13:44: 'hop' is not known here; expected one of: at, json, skip, load, text, string, bytes, expect, tlv, each, digits, until, into, unless, when, optional"
      ),
      (
        13, "  1: { name: text, role: message, body: [{}] }",
        "13:42: a step must be tlv, end, or one of skip, load, text, string, bytes, expect, digits, until, at, tlv and each"
      ),
      (13, "  1: { name: text, role: message, body: [{ skip: 0 }] }", "13:50: 0 is not between 1 and 65535"),
      (
        13, "  1: { name: text, role: message, body: [{ load: { size: 2, into: pocket } }] }",
        "13:67: known here: answered, bits, keep-alive, last, reference, sequence, status"
      ),
      (13, "  1: { name: text, role: message, timeout: 6 }", "13:44: '6' is not a time such as 6s or 250ms"),
      (14, "  2: { name: ok, role: acknowledgment, body: raw }", "14:6: an acknowledgment needs 'answers'"),
      (14, "  2: { name: ok, role: acknowledgment, answers: [txt] }", "14:50: no type 'txt'"),
      (16, "  tag: { size: 5 }", "16:16: 5 is not between 1 and 4"),
      (
        17, "  size: { size: 1 }",
        "17:3: 'size' is not known here; expected one of: tag, length, header, counts, optional, padding, repeats, nested, depth, identity, sensitive, tags, keep-alive"
      ),
      (3, "variable: status", "3:11: 'status' has a meaning of its own"),
      (3, "heartbeat: { factor: 0.5 }", "3:22: a factor must be a number from 1 to 100 such as 1.5"),
      (3, "heartbeat: { factor: 1.5000 }", "3:22: a factor must be a number from 1 to 100 such as 1.5"),
      (3, "identity: { sensitive: maybe }", "3:24: 'maybe' is neither true nor false"),
      (13, "  1: { name: text, role: message, when: { level: 5 } }", "13:41: the profile has no 'variable'"),
      (
        13, "  1: { name: text, role: message, body: [{ when: { level: 5 }, skip: 1 }] }",
        "13:52: 'level' is not known here; expected one of: mask, value, of, offset, size"
      ),
      (
        13, "  1: { name: text, role: message, body: [end, skip: 1] }",
        "13:47: 'tlv' and 'end' must be a body's last step"
      ),
      (13, "  1: { name: text, role: message, body: [tlv: { size: 5 }] }", "13:55: 5 is not between 1 and 4"),
      (
        18, "  tags: { 1: { name: a, value: 9 } }",
        "18:32: a value must be 1 to 8, a number of that many bytes, or varint, text, bytes or pair"
      ),
      (18, "  tags: { 1: { name: a, value: text }, 2: b }", "16:3: where one tag has a 'value', every tag has one"),
      (18, "handshake: { type: txt }", "18:20: no type 'txt'"),
      (18, "handshake: { type: ok }", "18:20: a handshake's type must be one that is answered"),
      (18, "handshake: { type: text, answer: 2 }", "18:12: 'answer' needs 'request'"),
      (18, "handshake: { type: text, request: -1 }", "18:35: -1 is not between 0 and 4294967294"),
      (18, "receipts: { type: txt, tag: 1 }", "18:19: no type 'txt'"),
      (
        18, "receipts: { type: ok, tag: 1 }",
        "18:19: a receipt's type must be one that is answered, and not the handshake's"
      ),
      (18, "receipts: { type: text }", "18:11: 'tag' is missing"),
      (18, "receipts: { type: text, tag: 1, size: 9 }", "18:39: 9 is not between 1 and 8"),
      (18, "receipts: { type: text, delivered: -1 }", "18:36: -1 is not between 0 and 4294967294"),
      (18, "timing: { answer: soon }", "18:19: 'soon' is not a time such as 6s or 250ms"),
      (18, "timing: { answer: 0s }", "18:19: '0s' is not a time such as 6s or 250ms"),
      (18, "timing: &a { answer: 6s }", "18:9: anchors and aliases are not allowed in a profile"),
      (18, "timing: *a", "18:9: anchors and aliases are not allowed in a profile"),
      (18, "version: 2", "2:1: 'version' is given twice in the same mapping"),
    ] as [(Int, String, String)])
  func oneLine(_ line: Int, _ text: String, _ expected: String) {
    var lines = Self.lines
    lines[line - 1] = text
    #expect(error(lines.joined(separator: "\n")) == "chat.yaml:\(expected)")
  }

  /// Texts that are no profile at all.
  @Test(arguments: [
    ("", "chat.yaml: the profile is empty"),
    ("# nothing but a comment", "chat.yaml: the profile is empty"),
    ("- a\n- b", "chat.yaml:1:1: expected a mapping"),
    ("plain", "chat.yaml:1:1: expected a mapping"),
  ])
  func noProfile(_ text: String, _ expected: String) { #expect(error(text) == expected) }

  // MARK: Limits

  @Test func size() {
    let fits = String(repeating: "#", count: 256 << 10)
    #expect(error(fits) == "chat.yaml: the profile is empty")
    #expect(error(fits + "#") == "chat.yaml: a profile has at most 262144 bytes")
  }

  /// What is one too deep is told with its place, however much more comes behind it.
  @Test(arguments: [33, 1_000, 100_000]) func depth(_ levels: Int) {
    let expected = "a profile nests at most 32 levels"
    #expect(error("a: " + String(repeating: "[", count: levels)) == "chat.yaml:1:35: \(expected)")
    #expect(error("a: " + String(repeating: "{a: ", count: min(levels, 60_000))) == "chat.yaml:1:128: \(expected)")
    #expect(error(String(repeating: "- ", count: levels) + "a") == "chat.yaml:1:65: \(expected)")
  }

  /// What is indented far is not deep.
  @Test func indentation() {
    let text = Self.lines.map { String(repeating: " ", count: 2_256) + $0 }.joined(separator: "\n")
    #expect(error(text) == nil)
    #expect(error(String(repeating: "- ", count: 32) + "a") == "chat.yaml:1:1: expected a mapping")
  }

  /// The "billion laughs" are refused at the first anchor.
  @Test func laughs() {
    var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for i in 1...20 { text += "a\(i): &a\(i) [\((0..<9).map { _ in "*a\(i - 1)" }.joined(separator: ", "))]\n" }
    #expect(error(text) == "chat.yaml:1:5: anchors and aliases are not allowed in a profile")
  }

  /// 64 types are one too many.
  @Test func types() throws {
    for count in [63, 64] {
      var lines = Array(Self.lines.prefix(12))
      for i in 0..<count { lines.append("  \(i): { name: t\(i), role: message }") }
      let text = lines.joined(separator: "\n")
      #expect(error(text) == (count == 63 ? nil : "chat.yaml:13:3: a profile has 1 to 63 types"))
    }
  }

  /// Prefixes and damaged copies of the built-in profiles compile or fail with an error, and never trap.
  @Test(arguments: BuiltInProfiles.names) func damaged(_ name: String) throws {
    let bytes = Array(try #require(BuiltInProfiles.text(name)).utf8)
    for end in stride(from: 0, to: bytes.count, by: LongRun.isWanted ? 1 : 29) {
      _ = error(String(decoding: bytes[..<end], as: UTF8.self))
    }
    var state: UInt64 = 42
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    for _ in 0..<(LongRun.isWanted ? 3_000 : 150) {
      var copy = bytes
      for _ in 0...next(4) { copy[next(copy.count)] = UInt8(32 + next(95)) }
      if let message = error(String(decoding: copy, as: UTF8.self)) {
        #expect(message.hasPrefix("chat.yaml"))
        #expect(!message.contains("\n"))
      }
    }
  }

  private func error(_ text: String) -> String? {
    do {
      _ = try ProfileCompiler.compile(text, source: "chat.yaml")
      return nil
    } catch { return "\(error)" }
  }
}
