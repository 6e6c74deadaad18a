import IMFilter
import Testing

@Suite struct FilterErrorTests {
  @Test(
    arguments: [
      // Grammar.
      ("", 1, .syntax, "the filter is empty; expected a field name, \"not\" or \"(\""),
      ("  ", 3, .syntax, "the filter is empty; expected a field name, \"not\" or \"(\""),
      ("ack and", 8, .syntax, "expected a field name, \"not\" or \"(\", found the end of the filter"),
      ("and ack", 1, .syntax, "expected a field name, \"not\" or \"(\", found \"and\""),
      ("ack && || retry", 8, .syntax, "expected a field name, \"not\" or \"(\", found \"||\""),
      ("\"x\" == type", 1, .syntax, "expected a field name, \"not\" or \"(\", found \"x\""),
      ("(ack", 1, .syntax, "this \"(\" is not closed"),
      ("ack and (retry or (gap)", 9, .syntax, "this \"(\" is not closed"),
      ("ack)", 4, .syntax, "this \")\" closes no \"(\""),
      ("()", 2, .syntax, "expected a field name, \"not\" or \"(\", found \")\""),
      ("ack retry", 5, .syntax, "expected a comparison, \"and\", \"or\" or the end of the filter, found \"retry\""),
      ("len == 5 retry", 10, .syntax, "expected \"and\", \"or\" or the end of the filter, found \"retry\""),
      ("len == 5 == 6", 10, .syntax, "expected \"and\", \"or\" or the end of the filter, found \"==\""),
      ("(len == 5 }", 11, .syntax, "expected \"and\", \"or\" or \")\", found \"}\""),
      ("len = 5", 5, .syntax, "expected \"==\" for equality, found \"=\""),
      ("ack & retry", 5, .syntax, "expected \"&&\" or \"and\", found \"&\""),
      ("ack | retry", 5, .syntax, "expected \"||\" or \"or\", found \"|\""),
      ("type ~ \"x\"", 6, .syntax, "expected \"matches\", found \"~\""),
      ("type == 'x'", 9, .syntax, "expected text in double quotes, found \"'\""),
      ("type == \"x", 9, .syntax, "this quote is not closed"),
      ("type == \"x\\\"", 9, .syntax, "this quote is not closed"),
      ("type == “x”", 9, .syntax, "unexpected \"“\"; text goes in double quotes"),
      ("len == 5；", 9, .syntax, "unexpected \"；\"; text goes in double quotes"),
      ("len == \u{7}", 8, .syntax, "unexpected \"\\u{7}\"; text goes in double quotes"),
      (
        "type not in {data}", 6, .syntax,
        "expected a comparison, \"and\", \"or\" or the end; \"not\" goes before a test, found \"not\""
      ),
      (
        "type == not", 9, .syntax,
        "expected a name or a number, found the keyword \"not\"; put it in quotes to use it as a value"
      ),
      ("len ==", 7, .syntax, "expected a whole number, found the end of the filter"),
      ("len in 5", 8, .syntax, "expected a set such as {1, 5..9}, found \"5\""),
      ("len in {", 9, .syntax, "expected a whole number, found the end of the filter"),
      ("len in {}", 9, .syntax, "expected a whole number, found \"}\""),
      ("len in {1,}", 11, .syntax, "expected a whole number, found \"}\""),
      ("len in {1", 8, .syntax, "this \"{\" is not closed"),
      ("len in {1 2}", 11, .syntax, "expected \",\" or \"}\", found \"2\""),
      ("len in {1..}", 12, .syntax, "expected a whole number, found \"}\""),
      ("tlv[", 5, .syntax, "expected a path such as 0x1001 or 0xFFFF.0x0020, found the end of the filter"),
      ("tlv[1", 6, .syntax, "expected \"]\", found the end of the filter"),
      ("tlv[x]", 5, .value, "expected a path such as 0x1001 or 0xFFFF.0x0020, found \"x\""),
      ("tlv[-1]", 5, .value, "expected a path such as 0x1001 or 0xFFFF.0x0020, found \"-1\""),
      ("tlv[1..2]", 6, .syntax, "expected \"]\", found \"..\""),
      ("tlv[1.]", 5, .value, "expected a path such as 0x1001 or 0xFFFF.0x0020, found \"1.\""),
      // Columns count characters, not bytes.
      ("tlv contains \"张三é\" and x", 24, .unknownField, "unknown field \"x\"; imdump-filter(7) lists the fields"),
      ("tlv contains \"e\u{301}👍🏽\" and x", 23, .unknownField, "unknown field \"x\"; imdump-filter(7) lists the fields"),
      // Unknown fields.
      ("rtt > 5", 1, .unknownField, "unknown field \"rtt\"; did you mean \"rtt_ms\"?"),
      ("ack and rtt_sm > 5", 9, .unknownField, "unknown field \"rtt_sm\"; did you mean \"rtt_ms\"?"),
      ("Client.IP == 1.2.3.4", 1, .unknownField, "unknown field \"Client.IP\"; did you mean \"client.ip\"?"),
      ("sesion == 5", 1, .unknownField, "unknown field \"sesion\"; did you mean \"session\"?"),
      ("heart", 1, .unknownField, "unknown field \"heart\"; did you mean \"heartbeat\"?"),
      ("tcp.port == 80", 1, .unknownField, "unknown field \"tcp.port\"; imdump-filter(7) lists the fields"),
      ("5 < len", 1, .unknownField, "unknown field \"5\"; imdump-filter(7) lists the fields"),
      // Operators that do not go with the field.
      ("rtt_ms contains \"x\"", 8, .kind, "\"contains\" needs text, bytes or a name, and \"rtt_ms\" is a number"),
      ("ts matches \"x\"", 4, .kind, "\"matches\" needs text, bytes or a name, and \"ts\" is a time"),
      ("fate < acked", 6, .kind, "\"<\" needs a number or a time, and \"fate\" is a word"),
      ("client.ip ge 10.0.0.1", 11, .kind, "\"ge\" needs a number or a time, and \"client.ip\" is an address"),
      ("retry > 0", 7, .kind, "\">\" needs a number or a time, and \"retry\" is a flag"),
      ("retry in {true}", 7, .kind, "\"in\" needs a field with more than two values, and \"retry\" is a flag"),
      ("tlv[1] <= \"x\"", 8, .kind, "\"<=\" needs a number or a time, and \"tlv\" is bytes"),
      ("len[5] == 5", 4, .kind, "\"len\" has no elements to pick with \"[\""),
      ("type > data", 8, .kind, "names have no order; expected a number"),
      ("type in {a..b}", 10, .kind, "a range goes from a number to a number, or between addresses of one kind"),
      ("ip in {1.2.3.4..::1}", 8, .kind, "a range goes from a number to a number, or between addresses of one kind"),
      ("fate in {acked..pending}", 15, .kind, "\"..\" needs a number, a time or an address, and \"fate\" is a word"),
      // Literals that the field cannot have.
      ("len == x", 8, .value, "expected a whole number, found \"x\""),
      ("len == \"5\"", 8, .value, "expected a whole number, found \"5\""),
      ("len == 1.5", 8, .value, "expected a whole number, found \"1.5\""),
      ("len == 18446744073709551616", 8, .value, "expected a whole number, found \"18446744073709551616\""),
      ("len == -9223372036854775809", 8, .value, "expected a whole number, found \"-9223372036854775809\""),
      ("len == 0x", 8, .value, "expected a whole number, found \"0x\""),
      (
        "rtt_ms > 500ms", 10, .value,
        "expected a number without unit, which is in the field's name, found \"500ms\""
      ),
      ("rtt_ms > nan", 10, .value, "expected a number, found \"nan\""),
      ("rtt_ms > 1e999", 10, .value, "expected a number, found \"1e999\""),
      (
        "ts > \"2026-02-29T00:00:00Z\"", 6, .value,
        "expected a time such as \"2026-11-21T00:11:46Z\" or \"00:11:46\", or seconds since 1970, found \"2026-02-29T00:00:00Z\""
      ),
      (
        "client.ip == 10.0.0.0/33", 14, .value,
        "expected an address or a network such as 10.0.0.0/8, found \"10.0.0.0/33\""
      ),
      ("client.ip == 10.0.0", 14, .value, "expected an address or a network such as 10.0.0.0/8, found \"10.0.0\""),
      ("retry == yes", 10, .value, "expected true or false, found \"yes\""),
      (
        "fate == ackd", 9, .value,
        "expected acked, acked_after_retry, rejected, unanswered, damaged, pending, unacknowledged, unknown, lost or failed, found \"ackd\"; did you mean \"acked\"?"
      ),
      ("dir in {c2s, up}", 14, .value, "expected c2s or s2c, found \"up\""),
      ("tlv[1] == 10", 11, .value, "expected text in quotes or bytes such as 0a:0b:0c, found \"10\""),
      ("tlv[1] == 0x123", 11, .value, "expected text in quotes or bytes such as 0a:0b:0c, found \"0x123\""),
      ("tlv[1] contains word", 17, .value, "expected text in quotes or bytes such as 0a:0b:0c, found \"word\""),
      ("tlv contains \"\"", 14, .value, "every text contains the empty text"),
      ("len in {9..5}", 9, .value, "this range is empty: its end is below its beginning"),
      ("type == \"a\\qb\"", 11, .syntax, "unknown escape; expected \\\" \\\\ \\n \\t \\r or \\xNN"),
      ("type == \"a\\x4\"", 11, .syntax, "expected two hex digits after \\x"),
      // Regular expressions.
      ("type matches data", 14, .syntax, "expected a regular expression in quotes, found \"data\""),
      ("type matches \"é(a\"", 16, .pattern, "this \"(\" is not closed"),
      ("type matches \"a)\"", 16, .pattern, "this \")\" closes no group"),
      ("type matches \"a{5000}\"", 17, .limit, "more than 4096 times"),
      ("type matches \"a{9}{9}\"", 19, .pattern, "two repeats in a row; write (…) around the first"),
    ] as [(String, Int, FilterError.Code, String)])
  func refuses(_ text: String, _ column: Int, _ code: FilterError.Code, _ message: String) {
    #expect(throws: FilterError(code: code, column: column, message: message)) {
      try Filter(text, schema: .messages)
    }
  }

  @Test func descriptionNamesTheColumn() {
    let error = FilterError(code: .syntax, column: 8, message: "this quote is not closed")
    #expect("\(error)" == "column 8: this quote is not closed")
  }

  @Test func limits() throws {
    func error(_ text: String) -> FilterError? {
      do {
        _ = try Filter(text, schema: .messages)
        return nil
      } catch { return error }
    }
    func nested(_ depth: Int) -> String {
      String(repeating: "(", count: depth) + "ack" + String(repeating: ")", count: depth)
    }
    #expect(error(nested(64)) == nil)
    #expect(
      error(nested(65)) == FilterError(code: .limit, column: 65, message: "parentheses may be nested 64 deep"))
    #expect(error(String(repeating: "(", count: 60_000))?.code == .limit)
    #expect(error(String(repeating: "!", count: 65_000) + "ack") == nil)
    #expect(error("ack" + String(repeating: " ", count: 65_533)) == nil)
    #expect(
      error("ack" + String(repeating: " ", count: 65_534))
        == FilterError(code: .limit, column: 1, message: "the filter is longer than 65536 bytes"))
    func set(_ count: Int) -> String { "len in {" + (1...count).map { "\($0)" }.joined(separator: ",") + "}" }
    #expect(error(set(4_096)) == nil)
    #expect(error(set(4_097))?.message == "a set may have 4096 members")
    #expect(error(set(4_097))?.column == set(4_096).count + 1)
    #expect(error("tlv[" + (1...16).map { "\($0)" }.joined(separator: ".") + "]") == nil)
    #expect(error("tlv[" + (1...17).map { "\($0)" }.joined(separator: ".") + "]")?.code == .limit)
    #expect(error(String(repeating: "ack||", count: 13_000) + "ack") == nil)
    #expect(error("type matches \"a{4095}\"") == nil)
    let states = "regular expressions may take 4096 states in a filter"
    #expect(error("type matches \"a{4096}\"") == FilterError(code: .limit, column: 15, message: states))
    #expect(error("type matches \"a{4000}\" or type matches \"b{100}\"")?.message == states)
    #expect(error("type matches \"((((a{99}){99}){99}){99}){99}\"")?.message == states)
    #expect(error("type matches \"(((((){999}){999}){999}){999}){999}\"")?.message == states)
    #expect(error("type matches \"" + String(repeating: "(", count: 60_000) + "\"")?.code == .limit)
    let long = "x" + String(repeating: "y", count: 1_000)
    #expect(error(long)?.message == "unknown field \"\(long.prefix(40))…\"; imdump-filter(7) lists the fields")
  }
}
