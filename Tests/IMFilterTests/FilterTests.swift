import IMFilter
import IMWire
import Testing

@Suite struct FilterTests {
  /// A data message of session 6854, acknowledged after 612.5 ms.
  static var message: StubRecord {
    StubRecord(
      [
        "ts": [.time(Timestamp(seconds: 1_795_219_906, fraction: 123_456_000))],
        "number": [.unsigned(17)], "conn": [.integer(3)],
        "client.ip": [.address(IPAddress(v4: 0x0a01_0203))], "client.port": [.integer(52_344)],
        "server.ip": [.address(IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 1))], "server.port": [.integer(8_080)],
        "ip": [
          .address(IPAddress(v4: 0x0a01_0203)), .address(IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 1)),
        ],
        "port": [.integer(52_344), .integer(8_080)],
        "dir": [.word(0)], "type": [.integer(0)], "seq": [.unsigned(.max)], "session": [.integer(6_854)],
        "len": [.integer(189)], "crc": [.word(0)], "rtt_ms": [.real(612.5)], "rtt_us": [.integer(612_500)],
        "fate": [.word(1)], "retries": [.integer(0)], "retry": [.flag(false)], "ack": [.flag(true)],
      ],
      texts: ["type": ["data"], "profile": ["tjp"]],
      tlv: [
        ([0x1001], Array("晚上 x吃什么".utf8)), ([0x0011], [0x0a, 0x0b, 0x0c]), ([0x0011], [0xff, 0x00]),
        ([0xffff], [0x00, 0x20]), ([0xffff, 0x0020], [0x01]),
      ])
  }

  @Test(arguments: [
    // The examples of the manual's first page.
    ("type == data && rtt_ms > 500", true), ("session == 6854", true), ("fate in {unanswered, damaged}", false),
    ("tlv[0x1001] contains \"x\"", true), ("client.ip == 10.0.0.0/8", true),
    // Whole numbers.
    ("len == 189", true), ("len==0xBD", true), ("len != 189", false), ("len < 189", false), ("len <= 189", true),
    ("len > 188", true), ("len >= 190", false), ("len eq 189", true), ("len ne 1", true), ("len lt 190", true),
    ("len le 188", false), ("len gt 189", false), ("len ge 189", true), ("len > -1", true),
    ("seq == 18446744073709551615", true), ("seq > 9223372036854775807", true), ("seq < 0", false),
    ("number in {1, 5..9, 17}", true), ("number in {1..16, 18..20}", false), ("number in {10..17}", true),
    ("number in {17..17}", true), ("number in {5..18, 1..3, 4..6}", true), ("number in {1,2,3}", false),
    // Numbers with fractions, and whole literals for them.
    ("rtt_ms == 612.5", true), ("rtt_ms > 612.5", false), ("rtt_ms >= 612.5", true), ("rtt_ms < 6.13e2", true),
    ("rtt_ms > .5", true), ("rtt_ms in {0..1, 612.25..612.75}", true), ("rtt_ms > 0x200", true),
    // Times.
    ("ts == 1795219906.123456", true), ("ts > 1795219906.123455999", true), ("ts > 1795219906.123456", false),
    ("ts >= \"2026-11-21T00:11:46Z\"", true), ("ts < \"2026-11-21 08:11:47+08:00\"", true),
    ("ts in {\"2026-11-21T00:00:00Z\"..\"2026-11-21T00:10:00Z\"}", false), ("ts in {1795219906..1795219907}", true),
    // Addresses.
    ("client.ip == 10.1.2.3", true), ("client.ip != 10.1.2.3", false), ("client.ip == 10.1.2.4/30", false),
    ("client.ip == 10.9.9.9/8", true), ("client.ip == 0.0.0.0/0", true), ("client.ip == ::/0", false),
    ("client.ip in {10.1.2.0..10.1.2.2}", false), ("client.ip in {10.1.2.0..10.1.2.3}", true),
    ("client.ip in {192.168.0.0/16, 10.1.2.3}", true), ("server.ip == 2001:db8::/32", true),
    ("server.ip == 2001:db8::1/128", true), ("server.ip == 2001:db8::1", true), ("server.ip == \"2001:db8::2\"", false),
    ("server.ip in {fe80::..fe80::ffff}", false), ("client.ip == ::ffff:10.1.2.3", false),
    // Several values: one suffices; != wants none.
    ("ip == 10.1.2.3", true), ("ip == 2001:db8::1", true), ("ip == 10.1.2.4", false), ("ip != 10.1.2.3", false),
    ("ip != 10.1.2.4", true), ("port == 8080", true), ("port == 52344", true), ("port > 60000", false),
    ("port != 8080", false), ("port != 80", true),
    // Closed words.
    ("dir == c2s", true), ("dir != c2s", false), ("dir in {s2c}", false), ("crc == le", false),
    ("crc in {le, be}", true), ("type == in", false),
    ("type eq ge or ack", true), ("dir == \"c2s\"", true),
    ("fate matches \"^acked\"", true), ("fate contains after", true), ("fate contains \"pend\"", false),
    ("not fate matches \"(?i)RETRY$\"", false),
    // Names with numbers.
    ("type == \"data\"", true), ("type == 0", true), ("type == 1", false), ("type != data", false),
    ("type != 0", false), ("type != ack", true), ("type in {ack, data}", true), ("type in {5..9, 0..0}", true),
    ("type < 1", true), ("type matches \"^d.t.$\"", true), ("type contains at", true), ("type matches \"^0$\"", false),
    ("session == 0x1ac6", true), ("session > 6853", true), ("session in {6000..7000}", true),
    ("session contains \"85\"", true), ("session matches \"^68\"", true), ("session == alice", false),
    ("session != alice", true), ("profile == tjp", true), ("profile == 5", false), ("profile != 5", true),
    ("profile > 5", false),
    // Bytes.
    ("tlv[0x1001]", true), ("tlv[4097]", true), ("tlv[0x1002]", false), ("tlv", true), ("tlv[0x11] == 0a:0b:0c", true),
    ("tlv[0x11] == 0x0A0b0C", true), ("tlv[0x11] == ff:00", true), ("tlv[0x11] != ff:00", false),
    ("tlv[0x11] != ff:01", true), ("tlv[0x11] contains 0b:0c", true), ("tlv[0x11] contains 0c:0b", false),
    ("tlv[0x11] matches \"^\\xff\\x00$\"", true), ("tlv[0xFFFF.0x0020] == 0x01", true), ("tlv[0xFFFF.0x0021]", false),
    ("tlv[ 65535.32 ]", true), ("tlv[0x20]", false), ("tlv contains \"吃什么\"", true),
    ("tlv[0x1001] matches \"晚.\\sx[吃喝]\"", true), ("tlv[0x11] in {\"a\", \"\\n\\x0b\\x0c\"}", true),
    ("tlv[0x1001] == \"晚上 x吃什么\"", true), ("tlv[0x1001] == \"晚上\"", false),
    // Flags.
    ("ack", true), ("retry", false), ("heartbeat", false), ("retry == false", true), ("heartbeat == false", true),
    ("ack != true", false), ("heartbeat != true", true), ("!retry", true), ("!ack", false),
    // Presence, and absent values.
    ("rtt_ms", true), ("retries", true), ("ack_of", false), ("ack_of == 5", false), ("ack_of != 5", false),
    ("ack_of < 5", false), ("ack_of in {5}", false), ("not (ack_of == 5)", true), ("not ack_of == 5", true),
    ("not (ack_of != 5)", true), ("tlv[0x1002] != \"x\"", false), ("not tlv[0x1002] == \"x\"", true),
    // Precedence: not before and before or.
    ("ack or retry and retry", true), ("(ack or retry) and retry", false), ("retry and retry or ack", true),
    ("retry and (retry or ack)", false), ("not ack or ack", true), ("not (ack or ack)", false),
    ("not retry and ack", true), ("not not ack", true), ("!!!ack", false), ("!(!ack)&&ack||retry", true),
    ("retry || ack && !retry", true), ("(((ack)))", true), ("not retry or retry and retry", true),
    (" \t\n ack \r\n", true),
  ] as [(String, Bool)])
  func answers(_ text: String, _ expected: Bool) throws {
    #expect(try Filter(text, schema: .messages).matches(Self.message) == expected, "\(text)")
  }

  @Test func looksAtNoMoreFieldsThanItMust() throws {
    func fields(_ text: String) throws -> [String] {
      var record = Self.message
      let log = StubRecord.Log()
      record.log = log
      _ = try Filter(text, schema: .messages).matches(record)
      return log.fields.map { FilterSchema.messages.fields[$0].name }
    }
    #expect(try fields("retry and len > 5 and rtt_ms > 5") == ["retry"])
    #expect(try fields("ack or len > 5 or rtt_ms > 5") == ["ack"])
    #expect(try fields("retry and len > 5 or conn == 3 or seq == 1") == ["retry", "conn"])
    #expect(try fields("not (ack or len > 5) or conn == 3") == ["ack", "conn"])
    #expect(try fields("type == data") == ["type"])
    #expect(try fields("port == 80") == ["port", "port", "port"])
    #expect(try fields("len == 80") == ["len"])
  }

  @Test func tellsTheFieldsItUses() throws {
    let filter = try Filter("rtt_ms > 5 and (ts > 0 or not rtt_ms) and tlv[1] and port == 5", schema: .messages)
    #expect(filter.fieldsUsed.map { FilterSchema.messages.fields[$0].name } == ["ts", "port", "tlv", "rtt_ms"])
  }

  @Test func knownNames() throws {
    let schema = FilterSchema.messages.naming("type", known: ["data", "ack"])
    #expect(try Filter("type == data", schema: schema).matches(Self.message))
    #expect(try Filter("type in {ack, 0..3}", schema: schema).matches(Self.message))
    #expect(try Filter("type contains at", schema: schema).matches(Self.message))
    #expect(
      throws: FilterError(
        code: .value, column: 9, message: "expected data, ack or a number, found \"dta\"; did you mean \"data\"?")
    ) {
      try Filter("type == dta", schema: schema)
    }
    #expect(schema.naming("len", known: ["x"]).fields == schema.fields)
  }

  @Test func aValueOfAnotherKindIsAbsent() throws {
    let record = StubRecord(["len": [.real(5)], "rtt_ms": [.address(IPAddress(v4: 1))], "dir": [.flag(true)]])
    for text in ["len == 5", "rtt_ms < 5", "dir == c2s"] {
      #expect(try !Filter(text, schema: .messages).matches(record))
    }
    #expect(try Filter("rtt_ms == 5", schema: .messages).matches(StubRecord(["rtt_ms": [.integer(5)]])))
  }

  @Test func messageFieldsStandAtTheirIndices() {
    for field in MessageField.allCases {
      #expect(FilterSchema.messages.index(of: field.field.name) == field.rawValue)
    }
  }
}
