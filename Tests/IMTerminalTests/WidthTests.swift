import Testing

@testable import IMTerminal

/// Widths of characters.
@Suite struct WidthTests {
  @Test(arguments: [
    ("abc", 3), ("张三", 4), ("晚上吃什么", 10), ("한글", 4), ("ｶﾅ", 2), ("ｆｕ", 4), ("é", 1), ("e\u{301}", 1), ("👍", 2),
    ("👍🏽", 2),
    ("👨‍👩‍👧", 2), ("🇩🇪", 2), ("☺", 1), ("☺️", 2), ("🖼️", 2), ("1️⃣", 2), ("│", 1), ("…", 1), ("“", 1), ("", 0), ("\u{200b}", 0),
    ("𠮷", 2), ("ก็", 1), ("עברית", 5),
  ]) func widths(_ text: String, _ width: Int) {
    #expect(cells(text) == width)
  }

  /// The table against what the standard library knows, for characters that both know.
  @Test func theTableAgreesWithTheStandardLibrary() {
    var (marks, pictures) = (0, 0)
    for value in UInt32(0x300)...0x1_ffff {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let properties = scalar.properties
      switch properties.generalCategory {
      case .nonspacingMark, .enclosingMark:
        marks += 1
        #expect(cells(scalar) == 0, "U+\(String(value, radix: 16))")
      case .unassigned, .privateUse: continue
      default:
        guard properties.isEmojiPresentation else { continue }
        pictures += 1
        #expect(cells(scalar) == 2, "U+\(String(value, radix: 16))")
      }
    }
    #expect(marks > 1_500 && pictures > 1_000)
  }

  @Test func theTableIsInOrder() {
    for edges in [WidthTable.wide, WidthTable.zero] {
      #expect(edges.count % 2 == 0)
      #expect(zip(edges, edges.dropFirst()).allSatisfy { $0 < $1 })
    }
    #expect(WidthTable.unicodeVersion.split(separator: ".").count == 3)
  }

  @Test func prefixesFit() {
    #expect(prefix("张三😀a", cells: 5) == "张三")
    #expect(prefix("张三😀a", cells: 6) == "张三😀")
    #expect(prefix("abc", cells: 0) == "")
  }

  @Test(arguments: [
    ("a", false), ("张", false), ("é", false), ("e\u{301}", false), ("👍", true), ("🖼️", true), ("🇩🇪", true), ("क्षि", true),
  ])
  func extraEvidence(_ cluster: String, _ isDoubted: Bool) {
    #expect(isDoubtful(cluster) == isDoubted)
  }

  /// The examples of RFC 4648, section 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ]) func base64OfRFC4648(_ text: String, _ wanted: String) {
    #expect(base64(text.utf8) == wanted)
  }
}
