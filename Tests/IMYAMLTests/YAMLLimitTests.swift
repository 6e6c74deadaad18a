import Testing

@testable import IMYAML

/// Files that are made to be expensive end with an answer, and no bytes at all make a trap.
@Suite struct YAMLLimitTests {
  /// 32 collections are in each other, and not 33.
  @Test(
    arguments: [
      ("[", "]", 1), ("{? ", "}", 3), ("{a: ", "}", 4), ("- ", "", 2), ("? ", "", 2),
    ] as [(String, String, Int)])
  func depth(_ open: String, _ close: String, _ width: Int) {
    func nested(_ count: Int) -> String {
      String(repeating: open, count: count) + "x" + String(repeating: close, count: count)
    }
    #expect(tree(nested(32)).contains("\"x\""))
    let refused = "1:\(32 * width + 1): a file nests at most 32 levels"
    #expect(tree(nested(33)) == refused)
    #expect(tree(nested(10_000)) == refused)
  }

  /// Lists in lines of their own, each a blank further in, and the compact form of mappings in lists.
  @Test func depthOfBlocks() {
    func lists(_ count: Int) -> String {
      (0..<count).map { String(repeating: " ", count: $0) + "-\n" }.joined()
    }
    #expect(tree(lists(32)) == String(repeating: "[", count: 32) + "\"\"" + String(repeating: "]", count: 32))
    #expect(tree(lists(33)) == "33:33: a file nests at most 32 levels")
  }

  /// 256 KiB of one thing. Where a text is neither refused by us nor in order, the answer is libyaml's.
  @Test(
    arguments: [
      ("[", "1:33: a file nests at most 32 levels"), ("{", "1:33: a file nests at most 32 levels"),
      ("[\n", "33:1: a file nests at most 32 levels"), ("- ", "1:65: a file nests at most 32 levels"),
      ("? ", "1:65: a file nests at most 32 levels"), ("---\n", "2:1: another document begins here; a file is one"),
      ("&a ", "1:1: anchors and aliases are not allowed in a file"), ("\n", "nothing"), ("#\n", "nothing"),
      (" ", "nothing"), ("!", "\"\""), ("%TAG !a! tag:x,2000:\n", "2:1: found duplicate %TAG directive"),
      (": ", "1:1: did not find expected key"), (",", "1:1: did not find expected node content"),
      ("|", "1:2: did not find expected comment or line break"),
      ("\t", "1:1: found character that cannot start any token"), ("\"", "1:3: did not find expected <document start>"),
    ] as [(String, String)])
  func repeated(_ part: String, _ expected: String) {
    #expect(tree(String(repeating: part, count: YAMLReader.maximumBytes / part.utf8.count)) == expected)
  }

  /// What cost most of all that was tried: one text as long as a file may be, many keys, many pairs in a list, and so many
  /// directives that each is held against all before it.
  @Test func worst() throws {
    let long = String(repeating: "é", count: 100_000)
    #expect(tree("a: \"\(long)\"") == "{\"a\": \"\(long)\"}")
    #expect(tree("a: |\n  \(long)") == "{\"a\": \"\(long)\"}")
    #expect(tree("a: >\n\(String(repeating: "  b\n", count: 50_000))").utf8.count == 100_000 + 9)
    let keys = (0..<30_000).map { "k\($0):" }
    #expect(try places(keys.joined(separator: "\n")).count == 60_000)
    #expect(tree(keys.joined(separator: "\n") + "\nk7:") == "8:1: 'k7' is given twice in the same mapping")
    #expect(try places("[\(String(repeating: "a: b, ", count: 40_000))]").count == 80_000)
    let tags = (0..<10_000).map { "%TAG !\($0)! tag:x\n" }.joined()
    #expect(tree("\(tags)---\na") == "\"a\"")
  }

  /// Whatever is cut off, and whatever stands in a place, gives a tree or a place in the text.
  @Test func damage() {
    let text = Array(
      "%YAML 1.1\n--- # é\na: [1, 'b''c', \"\\u00e9\\x41\", {d: e}]\n? - f\n  - |+\n   g\n\n: !!str >-\n  h\n i:\n- &j *k\n...\n"
        .utf8)
    for end in 0...text.count { check(Array(text[..<end])) }
    let others = Array("\u{0}\t\n\r !\"#%&'*,-:>?@[]`a{|}~\u{7F}\u{85}\u{2028}\u{FEFF}".utf8) + [0xC0, 0xFF]
    for place in text.indices {
      for other in others {
        var copy = text
        copy[place] = other
        check(copy)
        copy = text
        copy.insert(other, at: place)
        check(copy)
      }
    }
  }

  private func check(_ bytes: [UInt8]) {
    do throws(SourceError) {
      _ = try bytes.withUnsafeBufferPointer { bytes throws(SourceError) in
        try YAMLComposer.compose(bytes, source: "x", subject: "file")
      }
    } catch {
      let breaks = bytes.count { $0 == 10 || $0 == 13 || $0 == 0x85 || $0 == 0xA8 }
      #expect((1...breaks + 2).contains(error.line ?? 0), "\(error)")
      #expect((1...bytes.count + 1).contains(error.column ?? 0), "\(error)")
      #expect(!error.message.isEmpty)
    }
  }
}
