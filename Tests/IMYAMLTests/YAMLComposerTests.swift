import Testing

@testable import IMYAML

/// What stands in a file is what YAML 1.1 says of it; what is refused is refused where it stands.
@Suite struct YAMLComposerTests {
  /// From the examples of YAML 1.1's second and fifth chapter, whose meaning is given there.
  @Test(
    arguments: [
      ("- Mark McGwire\n- Sammy Sosa\n- Ken Griffey\n", #"["Mark McGwire", "Sammy Sosa", "Ken Griffey"]"#),
      ("hr:  65    # Home runs\navg: 0.278 # Batting average\n", #"{"hr": "65", "avg": "0.278"}"#),
      (
        "american:\n  - Boston Red Sox\nnational:\n  - New York Mets\n",
        #"{"american": ["Boston Red Sox"], "national": ["New York Mets"]}"#
      ),
      (
        "-\n  name: Mark McGwire\n  hr:   65\n-\n  name: Sammy Sosa\n  hr:   63\n",
        #"[{"name": "Mark McGwire", "hr": "65"}, {"name": "Sammy Sosa", "hr": "63"}]"#
      ),
      (
        "- [name        , hr, avg  ]\n- [Mark McGwire, 65, 0.278]\n",
        #"[["name", "hr", "avg"], ["Mark McGwire", "65", "0.278"]]"#
      ),
      (
        "Mark McGwire: {hr: 65, avg: 0.278}\nSammy Sosa: {\n    hr: 63,\n    avg: 0.288\n  }\n",
        #"{"Mark McGwire": {"hr": "65", "avg": "0.278"}, "Sammy Sosa": {"hr": "63", "avg": "0.288"}}"#
      ),
      (
        "? - Detroit Tigers\n  - Chicago cubs\n:\n  - 2001-07-23\n",
        #"{["Detroit Tigers", "Chicago cubs"]: ["2001-07-23"]}"#
      ),
      ("# ASCII Art\n--- |\n  \\//||\\/||\n  // ||  ||__\n", "\"\\//||\\/||\n// ||  ||__\n\""),
      (
        "---\n  Mark McGwire's\n  year was crippled\n  by a knee injury.\n",
        #""Mark McGwire's year was crippled by a knee injury.""#
      ),
      (
        ">\n Sammy Sosa completed another\n fine season with great stats.\n\n   63 Home Runs\n   0.288 Batting Average\n\n What a year!\n",
        "\"Sammy Sosa completed another fine season with great stats.\n\n  63 Home Runs\n  0.288 Batting Average\n\nWhat a year!\n\""
      ),
      (#"single: '"Howdy!" he cried.'"#, #"{"single": ""Howdy!" he cried."}"#),
      (#"quoted: ' # not a ''comment''.'"#, #"{"quoted": " # not a 'comment'."}"#),
      (#"unicode: "Sosa did fine.\u263A""#, #"{"unicode": "Sosa did fine.☺"}"#),
      (#"hexesc:  "\x0d\x0a is \r\n""#, "{\"hexesc\": \"\r\n is \r\n\"}"),
      (
        "plain:\n  This unquoted scalar\n  spans many lines.\n", #"{"plain": "This unquoted scalar spans many lines."}"#
      ),
    ] as [(String, String)])
  func standard(_ text: String, _ expected: String) { #expect(tree(text) == expected) }

  /// Types are the reader's: nothing is taken for a number, a truth or nothing at all, and tags say nothing.
  @Test(
    arguments: [
      (
        "[1, 0x10, 1.5, yes, ~, null, 2001-07-23, '', .inf]",
        #"["1", "0x10", "1.5", "yes", "~", "null", "2001-07-23", "", ".inf"]"#
      ),
      ("{!!str a: !own b, !!int '1': !!seq [c]}", #"{"a": "b", "1": ["c"]}"#),
      ("a:\n<<: {b: c}\n", #"{"a": "", "<<": {"b": "c"}}"#), ("a\u{0}b", "1:2: control characters are not allowed"),
      (#""a\0b""#, "\"a\u{0}b\""),
    ] as [(String, String)])
  func untyped(_ text: String, _ expected: String) { #expect(tree(text) == expected) }

  @Test(
    arguments: [
      ("", "nothing"), ("\n\n", "nothing"), ("# a comment", "nothing"), ("\u{FEFF}", "nothing"), ("---", "\"\""),
      ("\u{FEFF}a: 1\nb: 2\n", #"{"a": "1", "b": "2"}"#), ("\u{FEFF}# a comment\na: 1\n", #"{"a": "1"}"#),
      ("%YAML 1.1\n---\na: 1\n...\n", #"{"a": "1"}"#), ("a: 1\r\nb: 2\rc: 3", #"{"a": "1", "b": "2", "c": "3"}"#),
    ] as [(String, String)])
  func documents(_ text: String, _ expected: String) { #expect(tree(text) == expected) }

  @Test(
    arguments: [
      ("a: 1\n---\nb: 2\n", "2:1: another document begins here; a file is one"),
      ("--- a\n--- b\n--- c\n", "2:1: another document begins here; a file is one"),
      ("a\n...\n---\n", "3:1: another document begins here; a file is one"),
      ("a: 1\n...\nb: 2\n", "3:1: did not find expected <document start>"),
      ("%YAML 1.3\n---\na\n", "1:1: found incompatible YAML document"),
      ("a: 1\nb: 2\na: 3\n", "1:1: 'a' is given twice in the same mapping"),
      ("x: {a: 1, b: 2, 'b': 3, \"a\": 4}", "1:11: 'b' is given twice in the same mapping"),
      ("a: {b: 1}\nc: {b: 1}\na: 2\n", "1:1: 'a' is given twice in the same mapping"),
      ("a: [1\n", "2:1: did not find expected ',' or ']'"), ("a: 'b\n", "2:1: found unexpected end of stream"),
      ("a: @b", "1:4: found character that cannot start any token"),
      ("a: b: c", "1:5: mapping values are not allowed in this context"),
      ("\ta: 1", "1:1: found character that cannot start any token"),
      (#""\q""#, "1:2: found unknown escape character"),
      ("\"\\ud800\"", "1:4: found invalid Unicode character escape code"),
    ] as [(String, String)])
  func refused(_ text: String, _ expected: String) { #expect(tree(text) == expected) }

  // MARK: Anchors

  /// Wherever they hide.
  @Test(
    arguments: [
      ("a: &b c", 1, 4), ("a: *b", 1, 4), ("a:\t&b [c]", 1, 4), ("- x\n- &b\n- *b", 2, 3), ("[x,&b y]", 1, 4),
      ("{x:\t*b}", 1, 5), ("&b {a: 1}", 1, 1), ("? &b a\n: c", 1, 3), ("--- &b\na: 1", 1, 5), ("a: !!str &b c", 1, 4),
      ("a: &b !!str c", 1, 4), ("{a: 1, ? *b : 2}", 1, 10),
      ("a0:\t&a0 [x]\na1:\t&a1 [\t*a0,\t*a0]\n", 1, 5),
    ] as [(String, Int, Int)])
  func anchors(_ text: String, _ line: Int, _ column: Int) {
    #expect(tree(text) == "\(line):\(column): anchors and aliases are not allowed in a file")
  }

  /// What only looks like one, or like nesting.
  @Test(
    arguments: [
      ("a: 'b & c'", #"{"a": "b & c"}"#), ("a: \"*b\"", #"{"a": "*b"}"#), ("a: b &c *d", #"{"a": "b &c *d"}"#),
      ("a: |\n  &b *c\n", "{\"a\": \"&b *c\n\"}"), ("# &a *b\na: 1 # *c &d [[[[", #"{"a": "1"}"#),
      ("a: 1 # \(String(repeating: "[{", count: 100))\n", #"{"a": "1"}"#),
      ("a: '\(String(repeating: "[", count: 40))'\n", "{\"a\": \"\(String(repeating: "[", count: 40))\"}"),
      ("a&b: c*d", #"{"a&b": "c*d"}"#), ("- - a-b---c", #"[["a-b---c"]]"#),
    ] as [(String, String)])
  func harmless(_ text: String, _ expected: String) { #expect(tree(text) == expected) }

  // MARK: Places

  /// Columns are of characters, also of those that need more bytes than one; a tab and a combining mark are one each.
  @Test(
    arguments: [
      ("é: ü\nb: c", ["é@1:1", "ü@1:4", "b@2:1", "c@2:4"]),
      ("{日本: [語, 😀, e\u{301}, x]}", ["日本@1:2", "語@1:7", "😀@1:10", "e\u{301}@1:13", "x@1:17"]),
      ("- ['ß', # ß\n  \tx]", ["ß@1:4", "x@2:4"]), ("\u{FEFF}a: b\nc: d", ["a@1:1", "b@1:4", "c@2:1", "d@2:4"]),
      (
        "a: b\r\nc: d\re: f\u{85}g: h\u{2028}i: j",
        ["a@1:1", "b@1:4", "c@2:1", "d@2:4", "e@3:1", "f@3:4", "g@4:1", "h@4:4", "i@5:1", "j@5:4"]
      ),
      ("? a\n:\n  - b\n", ["a@1:3", "b@3:5"]), ("a:\nb:", ["a@1:1", "@1:3", "b@2:1", "@2:3"]),
    ] as [(String, [String])])
  func columns(_ text: String, _ expected: [String]) throws { #expect(try places(text) == expected) }

  /// libyaml counts what it cannot read in bytes; what is told is a place like every other.
  @Test(
    arguments: [
      (Array("é: ü\u{7}".utf8), "1:5: control characters are not allowed"),
      (Array("\u{FEFF}é: 1\r\n日本: \u{1b}[31m".utf8), "2:5: control characters are not allowed"),
      (Array("a: 1\u{2028}\u{85}b\u{FFFF}".utf8), "3:2: control characters are not allowed"),
      (Array("ab: ".utf8) + [0xFF], "1:5: invalid leading UTF-8 octet"),
      (Array("é: ".utf8) + [0xC3], "1:4: incomplete UTF-8 octet sequence"),
      (Array("é: ".utf8) + [0xC3, 0x28], "1:5: invalid trailing UTF-8 octet"),
      (Array("a\nb: ".utf8) + [0xC0, 0xAF], "2:4: invalid length of a UTF-8 sequence"),
      (Array("a: ".utf8) + [0xED, 0xA0, 0x80], "1:4: invalid Unicode character"),
      ([0xFF, 0xFE, 0x61, 0x00], "1:1: invalid leading UTF-8 octet"),
      ([0xEF, 0xBB], "1:1: incomplete UTF-8 octet sequence"),
    ] as [([UInt8], String)])
  func unreadable(_ bytes: [UInt8], _ expected: String) { #expect(tree(bytes) == expected) }
}
