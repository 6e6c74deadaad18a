import IMEngine
import IMFields
import IMProfile
import Testing

/// Where values are that paths lead to and that are not to be shown.
@Suite struct PathSecretTests {
  /// A content of one kind with a user's name and a password.
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// How frames are found, and the path of the type.
    var layout: String
    /// The type's value.
    var type: String
    /// The path of the password.
    var path: String
    var bytes: [UInt8]
  }

  private static let secret = Array("s3cr3t".utf8)
  private static let counted = "header: { length: 2 }\nlength: { offset: 0, size: 2 }"

  static let cases = [
    Case(
      testDescription: "json", layout: "\(counted)\ncontent: json\nfields: { type: { at: t } }", type: "login",
      path: "auth.password",
      bytes: Array(#"{"t":"login","user":"bob","auth":{"x":[1],"password":"s3cr3t"}}"#.utf8)),
    Case(
      testDescription: "xml", layout: "framing: { kind: xml }\ncontent: xml\nfields: { type: { element: true } }",
      type: "login", path: "password",
      bytes: Array("<login><user>bob</user><password>s3cr3t</password></login>".utf8)),
    Case(
      testDescription: "headers",
      layout: "framing: { kind: headers, ends: \"00\" }\ncontent: headers\nfields: { type: { word: 1 } }",
      type: "CONNECT", path: "passcode", bytes: Array("CONNECT\nlogin:bob\npasscode:s3cr3t\n\n\0".utf8)),
    Case(
      testDescription: "pairs",
      layout:
        "framing: { kind: pairs, separator: 01, begins: \"8=\", length: 9, checksum: 10 }\ncontent: pairs\nfields: { type: { at: \"35\" } }",
      type: "A", path: "\"554\"", bytes: Array("8=F\u{1}9=22\u{1}35=A\u{1}553=bob\u{1}554=s3cr3t\u{1}10=000\u{1}".utf8)),
    Case(
      testDescription: "protobuf", layout: "\(counted)\ncontent: protobuf\nfields: { type: { at: \"1\" } }", type: "1",
      path: "\"3\"", bytes: [0x08, 1, 0x12, 3] + Array("bob".utf8) + [0x1a, 6] + secret),
    Case(
      testDescription: "messagepack", layout: "\(counted)\ncontent: messagepack\nfields: { type: { at: t } }",
      type: "login", path: "p",
      bytes: [0x82, 0xa1] + Array("t".utf8) + [0xa5] + Array("login".utf8) + [0xa1] + Array("p".utf8) + [0xa6]
        + secret),
    Case(
      testDescription: "ber", layout: "\(counted)\ncontent: ber\nfields: { type: { at: \"0\" } }", type: "1",
      path: "\"1\"", bytes: [2, 1, 1, 4, 6] + secret),
    Case(
      testDescription: "resp", layout: "framing: { kind: resp }\ncontent: resp\nfields: { type: { at: \"0\" } }",
      type: "AUTH", path: "\"1\"", bytes: Array("*2\r\n$4\r\nAUTH\r\n$6\r\ns3cr3t\r\n".utf8)),
  ]

  /// Reads a frame without a header, or with `type` for another type than that of the case.
  private static func read(
    _ one: Case, _ bytes: [UInt8], type: String = "login"
  ) throws -> (fields: [NamedField], secrets: [Range<Int>], plan: FieldPlan) {
    let page = """
      profile: secret
      version: 1
      \(one.layout)
      types: { "\(one.type)": { name: login, role: control } }
      named:
        fields: { password: { sensitive: credential } }
        messages: { login: [paths: { password: \(one.path) }] }
      """
    let plan = try #require(try ProfileCompiler.compile(page, source: "secret.yaml").fields)
    var memory = FieldMemory()
    let frame = FieldFrame(bytes: bytes, body: 0, type: type)
    let (fields, secrets) = FieldReader.read(frame, plan, &memory)
    return (fields, secrets, plan)
  }

  @Test(arguments: cases) func theValueIsHidden(_ one: Case) throws {
    let (fields, secrets, _) = try Self.read(one, one.bytes)
    let start = try #require((0...one.bytes.count - 6).first { Array(one.bytes[$0..<$0 + 6]) == Self.secret })
    #expect(secrets == [start..<start + 6])
    let isHidden = fields.allSatisfy { if case .hidden = $0.value { true } else { false } }
    #expect(fields.count == 1 && isHidden)
  }

  /// Of a content that ends too early, or has bytes that cannot be where they are, nothing is shown.
  @Test(arguments: cases) func aDamagedContentIsHidden(_ one: Case) throws {
    let damaged = Array(one.bytes.dropLast(one.testDescription == "headers" ? 3 : 1))
    let (_, secrets, _) = try Self.read(one, damaged)
    let place = try #require((0...damaged.count - 5).first { Array(damaged[$0..<$0 + 5]) == Self.secret.dropLast() })
    #expect((place..<place + 5).allSatisfy { i in secrets.contains { $0.contains(i) } })
    #expect(try Self.read(one, damaged, type: "unreadable").secrets == [0..<damaged.count])
  }
}
