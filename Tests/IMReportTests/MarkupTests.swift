import IMOutput
import Testing

@testable import IMReport

/// What comes from traffic is text on a page, whatever it is.
@Suite struct MarkupTests {
  private static func written(_ text: String) -> String {
    var page = Markup()
    page.text(text)
    return String(decoding: page.bytes, as: UTF8.self)
  }

  @Test(arguments: [
    ("plain, 张三 and é", "plain, 张三 and é"),
    ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    ("\" onload='x' & y", "&quot; onload=&#39;x&#39; &amp; y"),
    ("a\u{1b}[31mb", "a\\x1b[31mb"),
    ("a\u{202e}b\u{2066}c", "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c"),
    ("a\u{fffe}b\u{ffff}", "a\u{fffd}b\u{fffd}"),
    ("&lt;", "&amp;lt;"),
  ]) func textIsEscaped(_ text: String, _ expected: String) {
    #expect(Self.written(text) == expected)
  }

  /// No character that is markup, commands a terminal or turns text round is ever written, whatever stands around it.
  @Test func nothingUnsafeIsWritten() {
    for value in [UInt32](0...0x2100) + [UInt32](0xd7f0...0xd7ff) + [UInt32](0xfe00...0x1_0010)
      + [UInt32](0xe_0000...0xe_0100)
    {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = Self.written("x\(Character(scalar))y")
      for found in text.unicodeScalars {
        let isControl = found.value < 0x20 || (0x7f...0x9f).contains(found.value)
        let isTurning = found.properties.isBidiControl || found.properties.isNoncharacterCodePoint
        #expect(
          !isControl && !isTurning && !"<>\"'".unicodeScalars.contains(found), "U+\(String(value, radix: 16)): \(text)")
      }
    }
  }

  @Test(arguments: [
    (0.04, "0"), (12.34, "12.3"), (-0.06, "-0.1"), (99.96, "100"), (.nan, "0"), (.infinity, "0"), (1e18, "99999"),
    (-1e18, "-9999"),
  ]) func placesAreNumbers(_ value: Double, _ expected: String) {
    var page = Markup()
    page.place(value)
    #expect(String(decoding: page.bytes, as: UTF8.self) == expected)
  }

  /// RFC 4648, section 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ]) func base64(_ text: String, _ expected: String) {
    #expect(Base64.text(Array(text.utf8)) == expected)
  }

  @Test(
    arguments: [
      (412, "0.412 ms"), (61_000, "61.0 ms"), (3_200_000, "3.2 s"), (130_000_000, "130.0 s"),
      (725_000_000, "12 min 5 s"),
      (7_500_000_000, "2 h 5 min"), (180_000_000_000, "2 d 2 h"), (-5_000, "-5.0 ms"),
    ] as [(Int64, String)]) func lengths(_ value: Int64, _ expected: String)
  {
    #expect(Words.length(value) == expected)
  }
}
