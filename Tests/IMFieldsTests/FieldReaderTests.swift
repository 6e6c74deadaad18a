import IMEngine
import IMFields
import IMProfile
import IMTestSupport
import IMYAML
import Testing

/// Reads `body` behind `header` by the named fields of a small profile whose only type is `say`.
private struct Page {
  static let front = """
    profile: chat
    version: 1
    header: { length: 2 }
    length: { offset: 1, size: 1 }
    fields: { type: { offset: 0, size: 1 } }
    types: { 1: { name: say, role: message }, 2: { name: beat, role: heartbeat } }
    """

  static func plan(_ named: String) throws -> FieldPlan {
    let text = front + "\nnamed:\n" + named.split(separator: "\n").map { "  " + $0 + "\n" }.joined()
    return try #require(try ProfileCompiler.compile(text, source: "chat.yaml").fields)
  }

  /// The fields as text: `name=value`, in their order.
  static func read(_ named: String, _ body: [UInt8], header: [UInt8] = [1, 0]) throws -> String {
    let plan = try plan(named)
    var memory = FieldMemory()
    let frame = FieldFrame(bytes: header + body, body: header.count, type: "say")
    return text(FieldReader.fields(of: frame, plan, &memory), plan)
  }

  static func text(_ fields: [NamedField], _ plan: FieldPlan) -> String {
    fields.map { field in
      plan.fields[field.field].name + "=" + text(field.value, plan) + (plan.name(of: field).map { "/" + $0 } ?? "")
    }.joined(separator: " ")
  }

  static func text(_ value: FieldValue, _ plan: FieldPlan) -> String {
    switch value {
    case .unsigned(let number): "\(number)"
    case .signed(let number): "\(number)"
    case .decimal(let units, let places): "\(units)e-\(places)"
    case .flag(let flag): "\(flag)"
    case .text(let text): "'\(text)'"
    case .bytes(let bytes): "\(bytes)"
    case .list(let values): "[" + values.map { text($0, plan) }.joined(separator: " ") + "]"
    case .object(let fields): "{" + text(fields, plan) + "}"
    case .hidden: "hidden"
    }
  }
}

@Suite("Field reader") struct FieldReaderTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var name: String
    var named: String
    var body: [UInt8]
    var fields: String
    var testDescription: String { name }
  }

  private static func say(_ steps: String) -> String { "messages: { say: [\(steps)] }" }

  static let cases = [
    Case(
      name: "numbers: big and little endian, signed, sign and magnitude",
      named: say(
        "{ field: a, size: 2 }, { field: b, size: 2, order: little }, { field: c, size: 1, type: signed },"
          + " { field: d, size: 2, type: sign-magnitude }"),
      body: [1, 2, 1, 2, 0xFF, 0x80, 5], fields: "a=258 b=513 c=-1 d=-5"),
    Case(
      name: "a scale, and a sign in a bit of another field",
      named: say("{ size: 1, bits: { _south: { low: 2 } } }, { field: latitude, size: 4, scale: 1e-6, sign: _south }"),
      body: [4, 0x01, 0x31, 0x2D, 0x00], fields: "latitude=-20000000e-6"),
    Case(
      name: "parts of a number, a flag, and a name",
      named: say(
        "{ field: all, size: 1, bits: { qos: { low: 1, count: 2, enum: { 2: twice } }, keep: { low: 0, type: flag } } }"
      ),
      body: [0x05], fields: "all=5 qos=2/twice keep=true"),
    Case(
      name: "the names of set bits",
      named: "enums: { alarms: { 0: fire, 3: water } }\n"
        + say("{ field: alarm, size: 1, set: { field: alarms, enum: alarms } }"),
      body: [0x0B], fields: "alarm=11 alarms=['fire' 'water']"),
    Case(
      name: "texts: counted, ended by zero, of a length told before, trimmed",
      named: say(
        "{ field: a, counted: 2, type: text }, { field: b, zero: 4, type: text }, { field: _n, size: 1 },"
          + " { field: c, size: _n, type: text }, { field: d, size: 4, type: text, trim: true }"),
      body: [0, 2, 65, 66, 67, 0, 1, 68, 0, 69, 32, 0], fields: "a='AB' b='C' c='D' d='E'"),
    Case(
      name: "an encoding that another field tells",
      named: say(
        "{ field: coding, size: 1 },"
          + " { field: text, size: rest, type: text, encoding: { of: coding, by: { 0: gsm7, 8: utf-16 } } }"),
      body: [8, 0x65, 0xE5], fields: "coding=8 text='日'"),
    Case(
      name: "an encoding that is not known",
      named: say(
        "{ field: coding, size: 1 },"
          + " { field: text, size: rest, type: text, encoding: { of: coding, by: { 0: gsm7, 8: utf-16 } } }"),
      body: [4, 0x65, 0xE5], fields: "coding=4"),
    Case(
      name: "decimal digits and their times",
      named: say(
        "{ field: phone, size: 3, type: bcd, zeros: dropped }, { field: at, size: 6, type: bcd-time, zone: +08:00 },"
          + " { field: bad, size: 6, type: bcd-time }"),
      body: [0x00, 0x13, 0x80, 0x25, 0x12, 0x31, 0x23, 0x59, 0x58, 0x25, 0x13, 0x01, 0, 0, 0],
      fields: "phone='1380' at='2025-12-31T23:59:58+08:00'"),
    Case(
      // RFC 868: 2,208,988,800 is 1 January 1970; a day later is 2,209,075,200, 0x83AB_D000.
      name: "seconds since 1900, and addresses",
      named: say(
        "{ field: t, size: 4, type: time-1900 }, { field: a, size: 4, type: ipv4 }, { field: b, size: 6, type: address }"
      ),
      body: [0x83, 0xAB, 0xD0, 0x00, 192, 0, 2, 7, 0, 1, 10, 0, 0, 1],
      fields: "t='1970-01-02T00:00:00Z' a='192.0.2.7' b='10.0.0.1'"),
    Case(
      name: "conditions on values that were read",
      named: say(
        "{ field: v, size: 1 }, { when: { v: [1, 2] }, field: a, size: 1 }, { unless: { v: 1 }, field: b, size: 1 },"
          + " { when: { v: { from: 2 }, b: absent }, field: c, size: 1 }, { when: { _left: 1 }, field: d, size: 1 }"),
      body: [1, 7, 9], fields: "v=1 a=7 d=9"),
    Case(
      name: "lists to the end, by a count, within sizes",
      named: say(
        "{ list: pairs, count: 1, each: [{ field: k, size: 1 }, { field: v, size: 1 }] },"
          + " { list: parts, count: 1, each: [{ within: [{ field: k, size: 1 }], counted: 1 }] },"
          + " { list: rest, each: { size: 2 } }"),
      body: [2, 1, 2, 3, 4, 2, 3, 9, 9, 9, 1, 8, 0, 7, 0, 8],
      fields: "pairs=[{k=1 v=2} {k=3 v=4}] parts=[{k=9} {k=8}] rest=[7 8]"),
    Case(
      name: "a list that the bytes cut",
      named: say(
        "{ list: pairs, count: 1, each: [{ field: k, size: 1 }, { field: v, size: 1 }] }, { field: z, size: 1 }"),
      body: [2, 1, 2, 3], fields: "pairs=[{k=1 v=2}]"),
    Case(
      name: "elements by tag and vendor, in groups, padded; the first of two counts, unless they repeat",
      named: """
        fields: { many: { repeated: true } }
        elements:
          avps:
            tag: { size: 2 }
            length: { offset: 3, size: 1 }
            counts: all
            vendor: { size: 1, flag: 2, mask: 0x80 }
            padding: 2
            known:
              1: { field: one, size: 1 }
              "9/1": { field: other, type: bytes }
              2: { field: group, group: true }
              3: { field: many, size: 1 }
        messages: { say: [{ elements: avps }] }
        """,
      body: [
        0, 1, 0, 5, 7, 0, 0, 1, 0x80, 6, 9, 8, 0, 1, 0, 5, 6, 0, 0, 2, 0, 10, 0, 1, 0, 5, 3, 0, 0, 3, 0, 5, 1, 0, 0, 3,
        0,
        5, 2, 0, 0, 9, 0, 4, 0, 1, 0, 9,
      ],
      fields: "one=7 other=[8] group={one=3} many=[1 2]"),
    Case(
      name: "a second list of the same elements has names of its own",
      named: """
        elements: { p: { tag: varint, known: { 1: { field: delay, size: 1 }, 0x81: { field: far, size: 1 } } } }
        messages: { say: [{ elements: p, counted: 1 }, { elements: p, counted: 1, prefix: will_ }] }
        """,
      body: [2, 1, 5, 3, 0x81, 0x01, 6], fields: "delay=5 will_far=6"),
    Case(
      name: "made of others: the first that is there, a sum, what is left, an object, a default",
      named: say("{ field: n, size: 1 }, { field: m, size: 1 }, { field: left, left: true }, { field: z, size: 2 }")
        + """

        derived:
          - { field: first, first: [z, m] }
          - { field: sum, of: n, plus: -1 }
          - { field: both, gather: { x: n, y: m } }
        """,
      body: [5, 6, 7], fields: "n=5 m=6 left=1 first=6 sum=4 both={x=5 y=6}"),
    Case(
      name: "a default where no byte is left",
      named: say("{ field: n, size: 1 }, { field: status, size: 1, default: 0, enum: { 0: ok } }"),
      body: [5], fields: "n=5 status=0/ok"),
    Case(
      name: "keys in a text",
      named: say(
        "{ field: text, size: rest, type: text },"
          + " { field: receipt, keys: { of: text, keys: { id: id, done: done date }, rest: { text: text }, required: [id] } }"
      ),
      body: Array("ID:7 done date:2301 text: Hi id:8".utf8),
      fields: "text='ID:7 done date:2301 text: Hi id:8' receipt={id='7' done='2301' text='Hi id:8'}"),
    Case(
      name: "members of JSON, of their kinds only",
      named: say("{ json: { mid: integer, key: text, accepts: integers, room: text } }"),
      body: Array(#"{"mid":-7,"key":"a\u00e9","accepts":[1,2.5,"x",3],"room":4}"#.utf8),
      fields: "mid=-7 key='aé' accepts=[1 3]"),
    Case(
      name: "what is no JSON has no members", named: say("{ json: { mid: integer } }"), body: Array(#"{"mid":7"#.utf8),
      fields: ""),
    Case(
      name: "a credential is not kept",
      named: "fields: { password: { sensitive: credential } }\n"
        + say("{ field: password, counted: 1, type: text }, { field: n, size: 1 }"),
      body: [2, 65, 66, 3], fields: "password=hidden n=3"),
    Case(
      name: "fields in front of the body's end stand",
      named: say("{ field: a, size: 1 }, { field: b, size: 4 }, { field: c, size: 1 }"),
      body: [1, 2, 3], fields: "a=1"),
  ]

  @Test("reads", arguments: cases) func reads(_ one: Case) throws {
    #expect(try Page.read(one.named, one.body) == one.fields)
  }

  @Test("an alias stands for what came with it, in its direction") func alias() throws {
    let plan = try Page.plan(
      Self.say(
        "{ field: topic, counted: 1, type: text }, { field: alias, size: 1 },"
          + " { field: resolved, alias: { key: alias, of: topic } }"))
    var memory = FieldMemory()
    func read(_ body: [UInt8], back: Bool = false) -> String {
      var frame = FieldFrame(bytes: body, body: 0, type: "say")
      frame.isBack = back
      return Page.text(FieldReader.fields(of: frame, plan, &memory), plan)
    }
    #expect(read([1, 65, 7]) == "topic='A' alias=7")
    #expect(read([0, 7]) == "topic='' alias=7 resolved='A'")
    #expect(read([0, 7], back: true) == "topic='' alias=7")
    memory.forget(0)
    #expect(read([0, 7]) == "topic='' alias=7")
  }

  @Test(
    "mistakes name their place",
    arguments: [
      ("messages: { said: [] }", "chat.yaml:8:15: no type 'said'"),
      ("messages: { say: [{ field: a }] }", "chat.yaml:8:21: a number needs a size of 1 to 8"),
      (
        "messages: { say: [{ when: { b: 1 }, field: a, size: 1 }] }",
        "chat.yaml:8:31: no field 'b' before this"
      ),
      ("messages: { say: [{ layout: x }] }", "chat.yaml:8:31: no layout 'x' before this"),
      (
        "messages: { say: [{ field: A, size: 1 }] }",
        "chat.yaml:8:30: a field's name must be 1 to 64 of a-z, 0-9 and _, not beginning with a digit"
      ),
      (
        "fields: { a: { sensitive: no } }",
        "chat.yaml:8:29: a value must be of identity, credential, payload or location"
      ),
    ]) func mistakes(_ named: String, _ message: String)
  {
    #expect(throws: SourceError.self) { try Page.plan(named) }
    do { _ = try Page.plan(named) } catch { #expect("\(error)" == message) }
  }
}

@Suite("Fields of built-in profiles") struct BuiltInFieldTests {
  @Test(
    "passwords are credentials",
    arguments: [
      ("mqtt", "password"), ("smpp", "password"), ("diameter", "user_password"), ("jt808", "authentication_code"),
    ])
  func credentials(_ profile: String, _ name: String) throws {
    let plan = try #require(try BuiltInProfiles.plan(profile).fields)
    let field = try #require(plan.fields.firstIndex { $0.name == name })
    #expect(plan.fields[field].sensitivity == .credential)
    #expect(plan.hides(field))
  }

  /// Bytes that were drawn, and messages of which some bytes were: whatever they are, reading them ends, and what comes of
  /// it is bounded.
  @Test("drawn bytes end nothing", arguments: ["mqtt", "smpp", "diameter", "jt808", "goim"])
  func drawn(_ profile: String) throws {
    let protocolPlan = try BuiltInProfiles.plan(profile)
    let plan = try #require(protocolPlan.fields)
    var random = SeededRandom(30)
    var memory = FieldMemory()
    for round in 0..<6_000 {
      let type = protocolPlan.typeNames[Int.random(in: 0..<protocolPlan.typeNames.count, using: &random)]
      let header = 20
      let count = Int.random(in: 0...(round % 10 == 0 ? 600 : 60), using: &random)
      // Small numbers make lengths that fit.
      let top: UInt8 = round % 3 == 0 ? 255 : 8
      let bytes = (0..<header + count).map { _ in UInt8.random(in: 0...top, using: &random) }
      var frame = FieldFrame(bytes: bytes, body: header, type: type)
      frame.connection = UInt32(round % 50)
      frame.isVariant = round % 2 == 0
      let fields = FieldReader.fields(of: frame, plan, &memory)
      #expect(fields.count <= plan.fields.count)
    }
  }

  @Test("groups within groups end at the deepest that is read") func nesting() throws {
    let plan = try #require(try BuiltInProfiles.plan("diameter").fields)
    // Failed-AVP within Failed-AVP, 2,000 deep: code 279, no flags, the length of all that follows.
    var body: [UInt8] = []
    for level in (1...2_000).reversed() {
      let count = (2_001 - level) * 8
      _ = level
      body = [0, 0, 1, 0x17, 0, UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255)] + body
    }
    var memory = FieldMemory()
    let frame = FieldFrame(bytes: [UInt8](repeating: 0, count: 20) + body, body: 20, type: "cca")
    let fields = FieldReader.fields(of: frame, plan, &memory)
    var depth = 0
    var value = fields.first { plan.fields[$0.field].name == "failed_avp" }?.value
    while case .list(let list)? = value, case .object(let inner)? = list.first {
      depth += 1
      value = inner.first?.value
    }
    #expect(depth == FieldReader.maximumDepth + 1)
  }
}

@Suite("Values that are not shown") struct SecretTests {
  @Test("their place in the frame is known") func places() throws {
    let plan = try Page.plan(
      "fields: { password: { sensitive: credential } }\n"
        + "messages: { say: [{ field: n, size: 1 }, { field: password, zero: 9, type: text }, { field: m, size: 1 }] }")
    var memory = FieldMemory()
    let frame = FieldFrame(bytes: [1, 0, 7, 65, 66, 0, 8], body: 2, type: "say")
    #expect(FieldReader.read(frame, plan, &memory).secrets == [3..<6])
  }
}
