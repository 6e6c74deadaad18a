import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Lengths that count a trailer, and are less than it.
@Suite struct TrailerTests {
  /// A layout of frames with a trailer of three bytes, and an encoder that gives a frame's length as its bytes after the header.
  struct Layout: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var yaml: String
    /// The values of `say` and `ok` in the profile.
    var types = (say: "1", ok: "2")
    /// The frame of a type and a number, with these bytes after the header.
    var encode: @Sendable (UInt8, UInt8, [UInt8]) -> [UInt8]

    var plan: ProtocolPlan {
      get throws {
        try ProfileCompiler.compile(
          """
          profile: short
          version: 1
          ports: [7000]
          \(yaml)
          types:
            "\(types.say)": { name: say, role: message, answered: true, body: raw }
            "\(types.ok)": { name: ok, role: acknowledgment, answers: [say], body: raw }
          sequence: { kind: identifier }
          """, source: "short.yaml")
      }
    }
  }

  private static let magic: [UInt8] = [0xc0, 0xde, 0xca, 0xfe]

  static let layouts: [Layout] = [
    Layout(
      testDescription: "a length of body and trailer",
      yaml: """
        header: { length: 8, magic: { offset: 0, bytes: C0DECAFE } }
        length: { offset: 4, size: 2 }
        trailer: { length: 3, counted: true }
        fields: { type: { offset: 6 }, sequence: { offset: 7 } }
        """, encode: { type, number, rest in magic + [0, UInt8(rest.count), type, number] + rest }),
    Layout(
      testDescription: "a length of header and body",
      yaml: """
        header: { length: 8, magic: { offset: 0, bytes: C0DECAFE } }
        length: { offset: 4, size: 2, counts: frame }
        trailer: { length: 3, counted: false }
        fields: { type: { offset: 6 }, sequence: { offset: 7 } }
        """, encode: { type, number, rest in magic + [0, UInt8(8 + rest.count - 3), type, number] + rest }),
    Layout(
      testDescription: "a varint of body and trailer",
      yaml: """
        header: { length: 7, magic: { offset: 0, bytes: C0DECAFE } }
        length: { offset: 6, encoding: varint }
        trailer: { length: 3, counted: true }
        fields: { type: { offset: 4 }, sequence: { offset: 5 } }
        """, encode: { type, number, rest in magic + [type, number, UInt8(rest.count)] + rest }),
    Layout(
      testDescription: "a sum in the trailer",
      yaml: """
        header: { length: 8, magic: { offset: 0, bytes: C0DECAFE } }
        length: { offset: 4, size: 2 }
        trailer: { length: 3, counted: true }
        checksum: { algorithm: xor, covers: body, in: trailer }
        fields: { type: { offset: 6 }, sequence: { offset: 7 } }
        """,
      encode: { type, number, rest in
        var bytes = magic + [0, UInt8(rest.count), type, number] + rest
        if rest.count >= 3 { bytes[8 + rest.count - 3] = rest.dropLast(3).reduce(0, ^) }
        return bytes
      }),
    Layout(
      testDescription: "types of two parts",
      yaml: """
        header: { length: 8, magic: { offset: 0, bytes: C0DECAFE } }
        length: { offset: 4, size: 2 }
        trailer: { length: 3, counted: true }
        fields: { type: [side, { offset: 6 }], sequence: { offset: 7 } }
        """, types: ("client 1", "server 2"),
      encode: { type, number, rest in magic + [0, UInt8(rest.count), type, number] + rest }),
    Layout(
      testDescription: "a varint at the beginning",
      yaml: """
        header: { length: 7 }
        length: { offset: 0, encoding: varint, counts: { from: 7 } }
        trailer: { length: 3, counted: true }
        fields: { type: [side, { offset: 0, size: 4 }, { offset: 4 }], sequence: { offset: 5 } }
        """, types: ("client 0xC0DECAFE 1", "server 0xC0DECAFE 2"),
      encode: { type, number, rest in [UInt8(rest.count)] + magic + [type, number] + rest }),
  ]

  /// A frame with 0 to 5 bytes after its header, between sound ones: with fewer than the trailer has, it is malformed and has no body.
  @Test(arguments: layouts, [1, 2, 3, 5, 8, 1_448]) func shortLengths(_ layout: Layout, _ size: Int) throws {
    let plan = try layout.plan
    for rest in 0...5 {
      var talk = Talk(port: 7_000, segmentSize: size)
      for (number, rest) in [(1, 9), (2, rest), (3, 4), (4, rest)] as [(UInt8, Int)] {
        talk.say(.clientToServer, layout.encode(1, number, [UInt8](repeating: 0x55, count: rest)))
        talk.say(.serverToClient, layout.encode(2, number, [7, 7, 7, 7]))
      }
      talk.close()
      let run = Run(talk.packets, plans: [plan])
      let comment: Comment = "\(layout.testDescription), \(rest) bytes"
      run.expectLedgerAddsUp(comment)
      #expect(run.said == talk.messages.said, comment)
      let requests = run.frames.filter { $0.direction == .clientToServer }
      #expect(requests.map(\.body.count) == [6, max(0, rest - 3), 1, max(0, rest - 3)], comment)
      let isShort = rest < 3
      #expect(requests.map { $0.flags.contains(.malformed) } == [false, isShort, false, isShort], comment)
      #expect(requests.allSatisfy { $0.status != .bad }, comment)
      #expect(run.heard.finished.count == 4 && run.heard.finished.allSatisfy { $0.fate == .acked }, comment)
      #expect(run.issues.count { $0.kind == .malformedBody } == (isShort ? 2 : 0), comment)
    }
  }

  /// Types with a fixed length are found again after a loss; the length of a type is that of its body, without the trailer.
  @Test func foundAgain() throws {
    let plan = try ProfileCompiler.compile(
      """
      profile: fixed
      version: 1
      ports: [7000]
      header: { length: 8, magic: { offset: 0, bytes: C0DECAFE } }
      length: { offset: 4, size: 2 }
      trailer: { length: 3, counted: true }
      fields: { type: { offset: 6 }, sequence: { offset: 7 } }
      types:
        1: { name: say, role: message, answered: true, body: raw, length: 2 }
        2: { name: ok, role: acknowledgment, answers: [say], body: raw, length: 1 }
      sequence: { kind: identifier }
      """, source: "fixed.yaml")
    func frame(_ type: UInt8, _ number: UInt8, _ body: [UInt8]) -> [UInt8] {
      Self.magic + [0, UInt8(body.count) + 3, type, number] + body + [1, 2, 3]
    }
    var talk = Talk(port: 7_000)
    for number in UInt8(1)...8 {
      talk.say(.clientToServer, frame(1, number, [5, 6]))
      talk.say(.serverToClient, frame(2, number, [9]))
    }
    talk.close()
    let lost = talk.pieces.filter { $0.direction == .clientToServer }[3]
    let packets = talk.packets.enumerated().filter { $0.offset != lost.packet }.map(\.element)
    let run = Run(packets, plans: [plan])
    run.expectLedgerAddsUp()
    #expect(run.said == talk.messages(without: [(.clientToServer, lost.range)]).said)
    #expect(run.ledger.strayBytes == 0)
  }
}
