import IMFilter
import IMTestSupport
import IMWire
import Testing

@Suite struct HostileFilterTests {
  /// Whatever the bytes are, a filter is compiled or refused at a column inside its text or just behind it.
  static func compile(_ text: String, _ record: StubRecord) {
    do {
      let filter = try Filter(text, schema: .messages)
      _ = filter.matches(record)
      _ = filter.matches(StubRecord())
    } catch {
      let isPlaced = (1...text.count + 1).contains(error.column)
      let isPrintable = error.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
      if !isPlaced || !isPrintable { Issue.record("\(error) in \(text.debugDescription)") }
    }
  }

  @Test func randomBytes() {
    let record = FilterTests.message
    var random = SplitMix(state: 1)
    for _ in 0..<LongRun.times(20_000, of: 100_000) {
      let bytes = (0..<Int.random(in: 0...48, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      Self.compile(String(decoding: bytes, as: UTF8.self), record)
    }
  }

  /// Words of the language in random order get further than random bytes do.
  @Test func randomWords() {
    let words =
      MessageField.allCases.map(\.field.name) + [
        "==", "!=", "<", "<=", ">", ">=", "eq", "in", "contains", "matches", "and", "or", "not", "&&", "||", "!", "(",
        ")",
        "{", "}", "[", "]", ",", "..", "5", "0x1001", "-1", "1.5", "\"x\"", "\"(a|b)*\"", "\"[a-\"", "10.0.0.0/8",
        "::1",
        "0a:0b", "data", "acked", "true", "\"\\x", "\"", "张", "\u{0}", "tlv[0xFFFF.1]", "{1..5,9}", "type == data",
        "ip in {1.2.3.4..1.2.3.9}", "tlv matches \"(?i)^a{2,5}[^b-d]$\"", "ts > \"2026-11-21T00:11:46Z\"",
      ]
    let record = FilterTests.message
    var random = SplitMix(state: 2)
    for _ in 0..<LongRun.times(8_000, of: 30_000) {
      let count = Int.random(in: 1...9, using: &random)
      let separator = Bool.random(using: &random) ? " " : ""
      Self.compile(
        (0..<count).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: separator), record)
    }
  }

  /// One byte of a good filter replaced, removed or doubled.
  @Test func mutatedFilters() {
    let seeds = [
      "type == data && rtt_ms > 500 or not (fate in {unanswered, damaged})", "tlv[0xFFFF.0x0020] contains \"x\\x41\"",
      "client.ip == 10.0.0.0/8 and port in {80, 8000..8999}", "ts >= \"2026-11-21T00:11:46.5+08:00\"",
      "tlv matches \"(?i)^(a|b)*[^x-z]{2,5}\\d+$\"",
    ].map { Array($0.utf8) }
    let record = FilterTests.message
    var random = SplitMix(state: 3)
    for _ in 0..<LongRun.times(8_000, of: 30_000) {
      var bytes = seeds.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0x20...0x7e, using: &random)
        case 1: bytes.remove(at: place)
        default: bytes.insert(bytes[place], at: place)
        }
      }
      Self.compile(String(decoding: bytes, as: UTF8.self), record)
    }
  }

  /// Random expressions of and, or and not against their own tree: the jumps of the program lead where they should.
  @Test func programsAgreeWithTheirTrees() throws {
    func expression(_ depth: Int, _ random: inout SplitMix) -> (text: String, value: Bool) {
      switch Int.random(in: 0..<(depth > 0 ? 5 : 2), using: &random) {
      case 0: return ("ack", true)
      case 1: return ("retry", false)
      case 2:
        let inner = expression(depth - 1, &random)
        return ("not (\(inner.text))", !inner.value)
      case 3:
        let parts = (0..<Int.random(in: 1...4, using: &random)).map { _ in expression(depth - 1, &random) }
        return ("(" + parts.map(\.text).joined(separator: " and ") + ")", parts.allSatisfy(\.value))
      default:
        let parts = (0..<Int.random(in: 1...4, using: &random)).map { _ in expression(depth - 1, &random) }
        return ("(" + parts.map(\.text).joined(separator: " || ") + ")", parts.contains(where: \.value))
      }
    }
    var random = SplitMix(state: 4)
    for _ in 0..<LongRun.times(1_000, of: 3_000) {
      let (text, value) = expression(6, &random)
      #expect(try Filter(text, schema: .messages).matches(FilterTests.message) == value, "\(text)")
    }
  }

  /// A filter of which some tests are not answered yet may match exactly where some answers make it match: all are tried. Each test
  /// stands once, so none depends on another.
  @Test func whatMayMatchIsWhatSomeAnswersMatch() throws {
    let words = [
      "ack", "retry", "dup > 0", "seq == 5", "copy == 1", "len > 3", "type == 0x20", "ip == 10.0.0.1", "late", "gap",
    ]
    func expression(_ words: ArraySlice<String>, _ random: inout SplitMix) -> String {
      let not = Int.random(in: 0..<4, using: &random) == 0 ? "not " : ""
      guard words.count > 1 else { return not + words[words.startIndex] }
      let middle = words.startIndex + Int.random(in: 1..<words.count, using: &random)
      let joint = Bool.random(using: &random) ? " and " : " or "
      let (left, right) = (expression(words[..<middle], &random), expression(words[middle...], &random))
      return not + "(" + left + joint + right + ")"
    }
    var random = SplitMix(state: 9)
    for _ in 0..<LongRun.times(300, of: 2_000) {
      let count = Int.random(in: 1...words.count, using: &random)
      let filter = try Filter(expression(words.prefix(count)[...], &random), schema: .messages)
      let known = (0..<count).map { _ in [true, false, nil].randomElement(using: &random) ?? nil }
      let open = known.indices.filter { known[$0] == nil }
      let expected = (0..<1 << open.count).contains { answers in
        filter.outcome { test in known[test] ?? (answers >> (open.firstIndex(of: test) ?? 0) & 1 == 1) }
      }
      #expect(filter.mayMatch { known[$0] } == expected)
      #expect(filter.testFields.count == count)
    }
    // In parts it says what it says at once.
    let filter = try Filter("type == 0x20 and not (retry or seq > 4)", schema: .messages)
    #expect(
      filter.outcome { filter.holds($0, for: FilterTests.message) } == filter.matches(FilterTests.message))
  }

  /// Searching for text costs the same for the worst text and needle as for any other; a quadratic search would need
  /// 2³² comparisons here.
  @Test func containsIsLinear() throws {
    let needle = String(repeating: "a", count: 32_000) + "b"
    let filter = try Filter("tlv[1] contains \"\(needle)\"", schema: .messages)
    #expect(!filter.matches(StubRecord(tlv: [([1], [UInt8](repeating: UInt8(ascii: "a"), count: 131_072))])))
    #expect(filter.matches(StubRecord(tlv: [([1], [UInt8](repeating: UInt8(ascii: "a"), count: 40_000) + [0x62])])))
  }
}
