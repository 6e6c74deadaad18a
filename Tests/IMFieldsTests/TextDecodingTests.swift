import Testing

@testable import IMFields

/// Texts of each encoding, by bytes whose meaning the standards tell.
@Suite("Text decoding") struct TextDecodingTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var encoding: TextEncoding
    var bytes: [UInt8]
    var text: String
    var testDescription: String { "\(encoding.rawValue) \(bytes)" }
  }

  static let cases = [
    Case(encoding: .utf8, bytes: [0xE6, 0x97, 0xA5, 0xFF], text: "日\u{FFFD}"),
    Case(encoding: .ascii, bytes: [0x41, 0x80, 0x42], text: "A\u{FFFD}B"),
    Case(encoding: .latin1, bytes: [0x41, 0xE9, 0x80], text: "Aé\u{80}"),
    // GSM 03.38: 0x00 is @, 0x11 an underscore, 0x1B 0x65 the euro, an escape in the end a space.
    Case(encoding: .gsm7, bytes: [0x00, 0x11, 0x1B, 0x65, 0x1B, 0x41, 0x80, 0x1B], text: "@_€A\u{FFFD} "),
    Case(encoding: .gsm7, bytes: [0x7F, 0x24, 0x40], text: "à¤¡"),
    Case(encoding: .utf16, bytes: [0x65, 0xE5, 0xD8, 0x3D, 0xDE, 0x00, 0x41], text: "日😀"),
    Case(encoding: .utf16, bytes: [0xD8, 0x3D, 0x00, 0x41], text: "\u{FFFD}A"),
    // GB 2312 has 0xD6D0 and 0xB9FA for 中国; GBK 0x8140 for 丂; 0xFF begins nothing, and 0x7F ends nothing.
    Case(encoding: .gbk, bytes: [0xD6, 0xD0, 0xB9, 0xFA, 0x41], text: "中国A"),
    Case(encoding: .gbk, bytes: [0x81, 0x40, 0xFF, 0x81, 0x7F], text: "丂\u{FFFD}\u{FFFD}\u{7F}"),
    Case(encoding: .gbk, bytes: [0xD6], text: "\u{FFFD}"),
  ]

  @Test("is what the standard says", arguments: cases) func texts(_ one: Case) {
    #expect(TextDecoding.text(one.bytes[...], one.encoding) == one.text)
  }

  /// UTF-16 as the standard library reads it, which is a second implementation: pairs, halves of pairs, and everything between.
  @Test func utf16IsThatOfTheStandardLibrary() {
    var state: UInt64 = 5
    func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 33
    }
    for _ in 0..<5_000 {
      let units = (0..<Int(next() % 12)).map { _ -> UInt16 in
        let draw = UInt16(truncatingIfNeeded: next())
        switch next() % 4 {
        case 0: return draw & 0x7F
        case 1: return 0xD800 | draw & 0x7FF
        case 2: return draw & 0x7FF
        default: return draw
        }
      }
      let bytes = units.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
      let expected = String(decoding: units, as: UTF16.self)
      #expect(Array(TextDecoding.text(bytes[...], .utf16).utf8) == Array(expected.utf8), "\(units)")
    }
  }
}
