import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Frames whose types and numbers are inside their contents, however the stream is cut, and after a hole.
@Suite struct ContentFramingTests {
  private static func fix(_ kind: String, _ number: Int) -> [UInt8] {
    let body = "35=\(kind)|11=\(number)|58=8=x 10=|"
    let text = "8=FIX.4.4|9=\(body.utf8.count)|\(body)".utf8.map { $0 == 0x7c ? 1 : $0 }
    let sum = text.reduce(UInt8(0), &+)
    let digits = String(1_000 + Int(sum)).dropFirst()
    return text + Array("10=\(digits)".utf8) + [1]
  }

  /// A length of two bytes, and a map.
  private static func packed(_ kind: String, _ number: Int?) -> [UInt8] {
    var map: [UInt8] = [number == nil ? 0x82 : 0x83, 0xa1, 0x78, 0x93, 1, 0xc0, 0xcb] + [UInt8](repeating: 7, count: 8)
    map += [0xa4] + Array("type".utf8) + [0xa0 | UInt8(kind.utf8.count)] + Array(kind.utf8)
    if let number { map += [0xa2] + Array("id".utf8) + [0xcd, UInt8(number >> 8), UInt8(number & 255)] }
    return [UInt8(map.count >> 8), UInt8(map.count & 255)] + map
  }

  /// An LDAP message: RFC 4511.
  private static func ldap(_ tag: UInt8, _ number: Int) -> [UInt8] {
    let inner: [UInt8] = [2, 2, UInt8(number >> 8), UInt8(number & 255), tag, 7, 10, 1, 0, 4, 0, 4, 0]
    return [0x30, UInt8(inner.count)] + inner
  }

  private static func xml(_ kind: String, _ number: Int) -> [UInt8] {
    Array("\n<m:\(kind) id='\(number)' xmlns:m=\"u\"><a>&lt;q/&gt;</a><b/></m:\(kind)>".utf8)
  }

  private static func types(_ names: [String]) -> String {
    """
    types:
      "\(names[0])": { name: request, role: message, answered: true, from: client }
      "\(names[1])": { name: answer, role: acknowledgment, answers: [request], from: server }
      "\(names[2])": { name: notice, role: other }
    """
  }

  static let languages: [NumberedProtocol] = [
    NumberedProtocol(
      name: "pairs",
      profile: """
        profile: pairs
        version: 1
        framing: { kind: pairs, separator: 01, begins: "8=", length: 9, checksum: 10 }
        content: pairs
        fields: { type: { at: "35" }, sequence: { at: "11" } }
        \(types(["D", "8", "B"]))
        """, request: { fix("D", $0) }, answer: { fix("8", $0) }, notice: fix("B", 0)),
    NumberedProtocol(
      name: "messagepack",
      profile: """
        profile: packed
        version: 1
        header: { length: 2 }
        length: { offset: 0, size: 2 }
        content: messagepack
        fields: { type: { at: type }, sequence: { at: id } }
        \(types(["ask", "tell", "note"]))
        """, request: { packed("ask", $0) }, answer: { packed("tell", $0) }, notice: packed("note", nil)),
    NumberedProtocol(
      name: "ber",
      profile: """
        profile: ldap
        version: 1
        header: { length: 2, magic: { offset: 0, bytes: 30 } }
        length: { offset: 1, encoding: ber }
        content: ber
        fields: { type: { at: "1.@tag" }, sequence: { at: "0" } }
        \(types(["0x63", "0x65", "0x78"]))
        """, request: { ldap(0x63, $0) }, answer: { ldap(0x65, $0) }, notice: ldap(0x78, 0)),
    NumberedProtocol(
      name: "xml",
      profile: """
        profile: elements
        version: 1
        framing: { kind: xml }
        content: xml
        fields: { type: { element: true }, sequence: { at: "@id" } }
        \(types(["ask", "tell", "note"]))
        """, request: { xml("ask", $0) }, answer: { xml("tell", $0) }, notice: xml("note", 0)),
  ]

  @Test(arguments: languages, [1, 2, 3, 7, 1_400]) func everyRequestIsAnswered(
    _ language: NumberedProtocol, _ size: Int
  ) throws {
    let run = Run(language.talk(size: size).packets, plans: [try language.plan])
    run.expectAnswered(20)
    #expect(run.frames.count == 44)
    #expect(run.issues.isEmpty)
  }

  /// A request that the capture lacks takes nothing else with it.
  @Test(arguments: languages) func oneRequestIsMissing(_ language: NumberedProtocol) throws {
    let plan = try language.plan
    let whole = language.talk(size: 1_400)
    for missing in whole.requests.dropFirst(3).dropLast(3) {
      var packets = whole.packets
      packets.remove(at: missing)
      let run = Run(packets, plans: [plan])
      run.expectLedgerAddsUp()
      #expect(run.frames.count == 43, "\(missing)")
      #expect(run.heard.finished.count { $0.fate == .acked } == 19, "\(missing)")
    }
  }

  /// A wrong sum is damage, and answers nothing.
  @Test func aWrongSum() throws {
    let language = Self.languages[0]
    var talk = NumberedProtocol.connection()
    for i in 0..<5 {
      talk.send(language.request(i + 1), .clientToServer, at: Scene.ms(Int64(i + 1) * 100))
      var answer = language.answer(i + 1)
      if i == 3 { answer[answer.count - 2] ^= 1 }
      talk.send(answer, .serverToClient, at: Scene.ms(Int64(i + 1) * 100 + 40))
    }
    let run = Run(talk.packets, plans: [try language.plan])
    #expect(run.frames.count == 10)
    #expect(run.heard.finished.count { $0.fate == .acked } == 4)
    #expect(run.issues.map(\.kind) == [.checksumMismatch])
  }
}
