import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// MQTT 5 beside 3.1.1: CONNECT's level tells which one a connection speaks; where nobody saw it, what fits does.
@Suite struct MQTT5Tests {
  typealias M = MQTT5PacketBuilder
  typealias M3 = MQTTPacketBuilder

  /// A connection as `lines` draw it: C from the client, S from the server, each with a packet.
  private func run(_ lines: [(Character, [UInt8])], port: UInt16 = 1_883, from first: Int = 0) -> Run {
    var talk = Talk(port: port)
    for (side, bytes) in lines { talk.say(side == "C" ? .clientToServer : .serverToClient, bytes) }
    let from = first == 0 ? 0 : talk.pieces[first].packet
    return Run([TimedPacket](talk.packets[from...]))
  }

  /// Every property there is, with its value's bytes where they stand.
  @Test func properties() {
    let run = run([
      ("C", M.connect(clientID: "p")), ("S", M.connack()),
      ("C", M.publish("a/b", [1, 2, 3], qos: 1, packetID: 7, M.all)),
    ])
    let frame = run.frames[2]
    #expect(frame.fields.map(\.tag) == M.all.map { UInt32($0.bytes[0]) })
    for (field, property) in zip(frame.fields, M.all) {
      let expected =
        switch property {
        case .text, .binary: [UInt8](property.bytes.dropFirst(3))
        default: [UInt8](property.bytes.dropFirst())
        }
      #expect(field.value == expected && field.depth == 0 && !field.isList, "\(property)")
    }
    #expect(frame.sequence == 7)
    #expect(run.issues.isEmpty)
    run.expectLedgerAddsUp()
  }

  /// What a list may not be: the message is there all the same, the list is not.
  @Test(
    arguments: [
      ("a property that nobody knows", [2, 0x7E, 0]), ("a number cut short", [3, 0x02, 0, 0]),
      ("a text longer than the list", [4, 0x03, 0, 9, 0x61]), ("a varint without an end", [3, 0x0B, 0x80, 0x80]),
      ("a pair with one text", [4, 0x26, 0, 1, 0x61]), ("a list longer than the body", [0x7F, 0x01, 1]),
    ] as [(String, [UInt8])])
  func brokenLists(_ name: String, _ list: [UInt8]) {
    let body: [UInt8] = [0, 1, 0x61] + list
    let run = run([
      ("C", M.connect(clientID: "p")), ("S", M.connack()), ("C", M3.packet(3, body)), ("C", M3.pingreq),
    ])
    #expect(run.frames.filter { $0.direction == .clientToServer }.map(\.type) == [1, 3, 12], "\(name)")
    #expect(run.issues.map(\.kind) == [.malformedBody], "\(name)")
    run.expectLedgerAddsUp()
  }

  /// Control characters in a topic are against no rule: the message has its number, and is answered, in both versions.
  @Test(arguments: ["a/b", "a\u{1}b", "\u{1b}[31m", "a\u{7f}"], [true, false])
  func controlCharactersInTopics(_ topic: String, _ isNew: Bool) {
    let run = run([
      ("C", isNew ? M.connect(clientID: "p") : M3.connect(clientID: "p")), ("S", isNew ? M.connack() : M3.connack()),
      ("C", isNew ? M.publish(topic, [1], qos: 1, packetID: 7) : M3.publish(topic, [1], qos: 1, packetID: 7)),
      ("S", M3.puback(7)), ("C", M3.pingreq), ("S", M3.pingresp),
    ])
    #expect(run.frames.first { $0.type == 3 }?.sequence == 7)
    #expect(run.heard.finished.allSatisfy { $0.fate == .acked } && run.heard.finished.count == 3)
    run.expectLedgerAddsUp()
  }

  /// Reasons from 0x80 on refuse; there may be none, and several.
  @Test(
    arguments: [
      ("puback without a reason", ["publish", "S 40020005"], "acked"),
      ("no matching subscribers", ["publish", "S 4003000510"], "acked"),
      ("not authorized", ["publish", "S 4004000587" + "00"], "rejected"),
      ("with a reason in words", ["publish", "S 4008000587041F00016E"], "rejected"),
      ("pubrec refuses: no pubrel follows", ["publish2", "S 5003000587"], "rejected"),
      ("identifier not found", ["publish2", "S 50020005", "C 62020005", "S 7003000592"], "acked rejected"),
      ("suback", ["subscribe", "S 90040005" + "0001"], "acked"),
      ("one of two topics refused", ["subscribe", "S 90050005" + "000187"], "rejected"),
      ("unsuback: none existed", ["unsubscribe", "S B0040005" + "0011"], "acked"),
      ("unsuback: not authorized", ["unsubscribe", "S B0040005" + "0087"], "rejected"),
    ] as [(String, [String], String)])
  func reasons(_ name: String, _ steps: [String], _ expected: String) {
    let known: [String: [UInt8]] = [
      "publish": M.publish("a", [1], qos: 1, packetID: 5), "publish2": M.publish("a", [1], qos: 2, packetID: 5),
      "subscribe": M.subscribe(5, ["a", "b"]), "unsubscribe": M.unsubscribe(5, ["a"]),
    ]
    var lines: [(Character, [UInt8])] = [("C", M.connect(clientID: "p")), ("S", M.connack())]
    for step in steps {
      lines.append(known[step].map { ("C", $0) } ?? (step.first ?? "C", [UInt8](hex: String(step.dropFirst(2)))))
    }
    let run = run(lines)
    #expect(run.heard.finished.map(\.fate.name).dropFirst().joined(separator: " ") == expected, "\(name)")
    #expect(run.issues.isEmpty, "\(name)")
    run.expectLedgerAddsUp()
  }

  @Test(arguments: [(0x00, HandshakeOutcome.answered), (0x86, .refused)] as [(UInt8, HandshakeOutcome)])
  func connack(_ reason: UInt8, _ expected: HandshakeOutcome) {
    let run = run([("C", M.connect(clientID: "p")), ("S", M.connack(reason: reason, [.text(0x1F, "so")]))])
    #expect(run.heard.reports.map(\.handshake) == [expected])
  }

  /// A server that knows 3.1.1 only refuses in its own words.
  @Test func anOlderServer() {
    let run = run([("C", M.connect(clientID: "p")), ("S", M3.connack(code: 1))])
    #expect(run.frames.map(\.type) == [1, 2])
    #expect(run.heard.reports.map(\.handshake) == [.refused])
  }

  /// AUTH, and DISCONNECT by the server, are messages of version 5 alone.
  @Test func authAndDisconnect() {
    let auth = M.bare(15, reason: 0x18, [.text(0x15, "SCRAM"), .binary(0x16, [1])])
    let lines: [(Character, [UInt8])] = [
      ("C", M.connect(clientID: "p", [.text(0x15, "SCRAM")])), ("S", auth), ("C", auth), ("S", M.connack()),
      ("C", M.bare(15)), ("S", M.bare(14, reason: 0x8B)),
    ]
    let run = run(lines)
    #expect(run.said == lines.map { Said(direction: $0.0 == "C" ? 0 : 1, bytes: $0.1) }.sorted())
    #expect(run.issues.isEmpty)
  }

  /// The server names a client that did not name itself, and cuts its keep-alive down.
  @Test func serverTellsNameAndKeepAlive() {
    let run = run([
      ("C", M.connect(clientID: "", keepAlive: 60)), ("S", M.connack([.text(0x12, "auto-7"), .two(0x13, 10)])),
      ("C", M.publish("a", [1])),
    ])
    #expect(run.frames.map(\.keepAlive) == [60, 10, 0])
    #expect(run.heard.names[run.frames[2].session] == "auto-7")
    #expect(Set(run.frames.map(\.session)).count == 1)
  }

  /// What a client has agreed to: one and a half times the keep-alive that was told last, 7.5 s here. `C` and `S` are what
  /// client and server say, a column is a second.
  @Test(
    arguments: [
      ("C-----C------C", 0), ("C-------C-----C", 1), ("C---S---S---C", 1), ("C-------C--------C", 2),
      // The last silence counts when it ends with the connection.
      ("C-----C--------.", 1),
    ] as [(String, UInt32)])
  func contract(_ drawing: String, _ expected: UInt32) {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
    talk.open(at: Timestamp(milliseconds: 0))
    talk.send(M.connect(clientID: "p", keepAlive: 60), .clientToServer, at: Timestamp(milliseconds: 10))
    talk.send(M.connack([.two(0x13, 5)]), .serverToClient, at: Timestamp(milliseconds: 20))
    for (second, mark) in drawing.enumerated() {
      let at = Timestamp(milliseconds: Int64(second) * 1_000 + 100)
      switch mark {
      case "C": talk.send(M.publish("a", [1]), .clientToServer, at: at)
      case "S": talk.send(M.publish("b", [1]), .serverToClient, at: at)
      case ".": talk.close(.fin(by: .serverToClient), at: at)
      default: break
      }
    }
    let run = Run(talk.packets)
    #expect(run.heard.reports.last?.heartbeats?.absent ?? 0 == expected, "\(drawing)")
    if expected > 0 { #expect(run.heard.reports.last?.heartbeats?.expected == 5_000) }
  }

  /// One connection's level says nothing of another's.
  @Test func bothAtOnce() {
    var packets: [TimedPacket] = []
    for (i, isNew) in [true, false, true, false].enumerated() {
      var talk = ConversationBuilder(
        client: Endpoint(address: Talk.phone.address, port: 40_000 + UInt16(i)), server: Talk.server(1_883))
      talk.open(at: Timestamp(milliseconds: Int64(i)))
      let says: [(Direction, [UInt8])] = [
        (.clientToServer, isNew ? M.connect(clientID: "c\(i)") : M3.connect(clientID: "c\(i)")),
        (.serverToClient, isNew ? M.connack() : M3.connack()),
        (
          .clientToServer,
          isNew
            ? M.publish("a", [0], qos: 1, packetID: 9, [.byte(1, 1)])
            : M3.publish("a", [2, 1, 1, 0], qos: 1, packetID: 9)
        ),
        (.serverToClient, isNew ? M.answer(4, 9, reason: 0x10) : M3.puback(9)),
      ]
      for (j, (way, bytes)) in says.enumerated() {
        talk.send(bytes, way, at: Timestamp(milliseconds: 10 + Int64(j) * 10 + Int64(i)))
      }
      packets += talk.packets
    }
    let run = Run(packets.sorted { $0.timestamp < $1.timestamp })
    #expect(run.frames.count == 16 && run.issues.isEmpty)
    #expect(run.frames.filter { $0.type == 3 }.map(\.fields.count) == [1, 0, 1, 0])
    #expect(run.heard.finished.allSatisfy { $0.fate == .acked })
    run.expectLedgerAddsUp()
  }

  // MARK: Without CONNECT

  /// Begun anywhere behind CONNECT: every message that is whole, also those that only one version knows.
  @Test(arguments: Chat.Shape.allCases) func begunInTheMiddle(_ shape: Chat.Shape) {
    let talk = Chat.mqtt5.talk(shape)
    for first in 1..<talk.packets.count {
      let gone = talk.pieces.filter { $0.packet < first }
      let run = Run([TimedPacket](talk.packets[first...]))
      let problem = difference(run.said, talk.messages(without: gone.map { ($0.direction, $0.range) }).said)
      #expect(problem == nil, "\(shape) from \(first)")
      run.expectLedgerAddsUp("\(shape) from \(first)")
    }
  }

  /// Whatever fits both is held until something speaks for version 5, or read without its properties.
  @Test func guessedAnew() {
    let run = run(
      [
        ("C", M.connect(clientID: "p")), ("S", M.connack()),
        ("C", M.publish("sensors/attic", [1], qos: 1, packetID: 1, [.text(0x03, "x")])), ("S", M3.puback(1)),
        ("C", M.publish("sensors/attic", [1], qos: 1, packetID: 2, [.text(0x03, "x")])),
        ("S", M.answer(4, 2, reason: 0x87)),
        ("C", M.publish("sensors/attic", [1], qos: 1, packetID: 3, [.text(0x03, "x")])), ("S", M3.puback(3)),
      ], from: 2)
    #expect(run.frames.map(\.type).sorted() == [3, 3, 3, 4, 4, 4])
    #expect(run.frames.last { $0.type == 3 }?.fields.count == 1)
    #expect(run.heard.finished.map(\.fate) == [.acked, .rejected, .acked])
    run.expectLedgerAddsUp()
  }
}
