import Testing

@testable import IMFilter

@Suite struct PatternTests {
  static func matches(_ pattern: String, _ text: [UInt8]) throws -> Bool {
    try Pattern(Array(pattern.utf8)).matches(text.span.bytes)
  }

  @Test(arguments: [
    ("", "", true), ("", "abc", true), ("b", "abc", true), ("d", "abc", false), ("^b", "abc", false),
    ("^ab", "abc", true), ("bc$", "abc", true), ("ab$", "abc", false), ("^$", "", true), ("^$", "a", false),
    ("a.c", "abc", true), ("a.c", "a\nc", false), ("(?s)a.c", "a\nc", true), ("^.$", "张", true),
    ("^.$", "e\u{301}", false),
    ("[abc]", "xbx", true), ("[^abc]", "abc", false), ("[^abc]", "abcd", true), ("[a-c]x", "bx", true),
    ("[]a]", "]", true), ("[^]a]", "]", false), ("[a-]", "-", true), ("[-a]", "-", true), ("[\\]]", "]", true),
    ("[\\w-]+$", "a-b", true), ("[一-张]", "弃", true), ("[^\\d]", "5", false), ("[\\D]", "5", false),
    ("[\\s\\d]", "a1", true),
    ("\\d\\d", "a12", true), ("\\D", "12", false), ("\\w", "_", true), ("\\w", "é", false), ("\\W", "é", true),
    ("\\s", "a\tb", true), ("\\S", " \n", false), ("\\bcat\\b", "a cat.", true), ("\\bcat\\b", "cats", false),
    ("\\Bat", "cat", true), ("\\Bat", "at", false), ("a*", "", true), ("^a+$", "aaa", true), ("^a+$", "", false),
    ("^ab?c$", "ac", true), ("^ab?c$", "abbc", false), ("^a{2}$", "aa", true), ("^a{2}$", "aaa", false),
    ("^a{2,}$", "aaaa", true), ("^a{2,}$", "a", false), ("^a{1,3}$", "aaa", true), ("^a{1,3}$", "aaaa", false),
    ("^a{0}$", "", true), ("^a{0}$", "a", false), ("^(ab){2}$", "abab", true), ("^(a|bc)*$", "abcabc", true),
    ("^(a|bc)*$", "abca b", false), ("^(?:a|b|)c$", "c", true), ("a|b|cd", "xxcd", true), ("^(a*)*$", "aaa", true),
    ("^(a*)+b$", "aab", true), ("^(|a)+$", "aa", true), ("a*?b", "aab", true), ("a+?$", "aa", true),
    ("(?i)straße", "STRAßE", true), ("(?i)ÉCOLE", "école", true), ("(?i)[a-c]", "B", true), ("(?i)[^a]", "A", false),
    ("(?i)x", "y", false), ("(?is)a.b", "A\nB", true), ("école", "École", false), ("\\x41", "A", true),
    ("\\u{5f20}三", "张三", true), ("\\.", "a", false), ("\\.", ".", true), ("\\\\", "\\", true), ("\\/", "/", true),
    ("\\n", "\n", true), ("a^b", "ab", false), ("a$b", "ab", false), ("(^|x)a", "xa", true), ("^*a", "ba", true),
    ("]", "]", true), ("}", "}", true), ("(a{2}){2}", "aaaa", true), ("^(a{2}){2}$", "aaa", false),
  ] as [(String, String, Bool)])
  func answers(_ pattern: String, _ text: String, _ expected: Bool) throws {
    #expect(try Self.matches(pattern, Array(text.utf8)) == expected, "\(pattern) on \(text)")
  }

  /// Bytes that are no UTF-8 stand for themselves and match `.`, negated classes and their own `\xNN`.
  @Test(
    arguments: [
      ("^.$", [0xff], true), ("^\\xff$", [0xff], true), ("^\\xfe$", [0xff], false), ("^..$", [0xc3, 0x28], true),
      ("^é$", [0xc3, 0xa9], true), ("\\xc3", [0xc3, 0xa9], false), ("^...$", [0xed, 0xa0, 0x80], true),
      ("^..$", [0xc0, 0x80], true), ("^.{4}$", [0xf4, 0x90, 0x80, 0x80], true),
      ("^.$", [0xf4, 0x8f, 0xbf, 0xbf], true),
      ("^[^a]$", [0x80], true), ("[\\x80-\\xff]", [0x41, 0x9f], true), ("(?i)^\\xe9$", [0xe9], true),
      ("^..$", [0xe4, 0xbd], true),
      ("\\x00", [0x00], true),
    ] as [(String, [UInt8], Bool)])
  func answersOnBytes(_ pattern: String, _ text: [UInt8], _ expected: Bool) throws {
    #expect(try Self.matches(pattern, text) == expected, "\(pattern) on \(text)")
  }

  @Test(arguments: [
    ("(a", 0, "this \"(\" is not closed"), ("a)", 1, "this \")\" closes no group"),
    ("[a", 0, "this \"[\" is not closed"),
    ("[]", 0, "this \"[\" is not closed"), ("*a", 0, "nothing to repeat"), ("a|+", 2, "nothing to repeat"),
    ("{2}", 0, "nothing to repeat; a brace itself is \\{"), ("(?)", 0, "expected (?i), (?s) or (?:"),
    ("a**", 2, "two repeats in a row; write (…) around the first"),
    ("a*+", 2, "two repeats in a row; write (…) around the first"),
    ("a{", 1, "expected {m}, {m,} or {m,n}; a brace itself is \\{"),
    ("a{x}", 1, "expected {m}, {m,} or {m,n}; a brace itself is \\{"),
    ("a{2,1}", 1, "2 to 1 times is never"), ("a\\", 1, "expected a character after the backslash"),
    ("\\q", 0, "unknown escape; expected \\d \\w \\s \\D \\W \\S \\b \\B \\n \\t \\r \\xNN or punctuation"),
    ("(a)\\1", 3, "back-references are not supported"), ("\\xg0", 0, "expected two hex digits after \\x"),
    ("\\u{d800}", 0, "expected a character's number as \\u{4e2d}"), ("[b-a]", 1, "this range runs backwards"),
    ("[[:alpha:]]", 1, "classes such as [:alpha:] are not supported; write \\w, \\d, \\s or a-z"),
    ("a(?=b)", 1, "of the (? forms only (?:…) is supported, and (?i) and (?s) at the beginning"),
    ("(?=b)", 0, "expected (?i), (?s) or (?:"),
    ("[a-\\d]", 3, "unknown escape; expected \\d \\w \\s \\D \\W \\S \\b \\B \\n \\t \\r \\xNN or punctuation"),
  ])
  func refuses(_ pattern: String, _ offset: Int, _ message: String) {
    #expect(throws: PatternError(offset: offset, message: message)) { try Pattern(Array(pattern.utf8)) }
  }

  /// Steps, not time: each state is visited at most twice for a character.
  @Test(arguments: [
    "(a*)*b", "(a+)+b", "(a|a)*b", "(a|aa)+b", "(a?){20}a{20}b", "(.*)*(.*)*b", "((a*)*)*b", "^(a*)*b$", "(a|b|ab)*bc",
    "(?i)(a*)*b", "(x+x+)+y", "a{1,20}a{1,20}b",
  ])
  func catastrophicPatternsAreLinear(_ text: String) throws {
    let pattern = try Pattern(Array(text.utf8))
    var perCharacter: [Int] = []
    for count in [1_024, 65_536] {
      var steps = 0
      let input = [UInt8](repeating: UInt8(ascii: "a"), count: count)
      #expect(!pattern.matches(input.span.bytes, steps: &steps))
      #expect(steps <= 2 * pattern.stateCount * (count + 1))
      perCharacter.append(steps / count)
    }
    #expect(perCharacter[1] <= perCharacter[0] * 21 / 20 + 1)
  }

  @Test func repeatsAreWrittenOutOnce() throws {
    #expect(try Pattern(Array("a+".utf8)).stateCount == 3)
    #expect(try Pattern(Array("((((a+)+)+)+)+".utf8)).stateCount == 7)
  }
}
