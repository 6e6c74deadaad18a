import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// WebSocket behind other HTTP: requests before the upgrade, refusals, a proxy; and what its two sides may get wrong.
@Suite struct WebSocketExchangeTests {
  typealias Step = WebSocketTests.Step

  private static func client(_ text: String) -> Step { Step(direction: .clientToServer, bytes: Array(text.utf8)) }
  private static func server(_ text: String) -> Step { Step(direction: .serverToClient, bytes: Array(text.utf8)) }

  /// What is said before the opening of `WebSocketTests`.
  static let preludes: [(String, [Step])] = [
    (
      "request",
      [client("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"), server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]
    ),
    (
      "twice, with bodies",
      [
        client("POST /login HTTP/1.1\r\nContent-Length: 7\r\n\r\nGET / H"),
        server("HTTP/1.1 200 OK\r\ncontent-length:   9\r\nServer: a\r\n\r\nHTTP/1.1 "),
        client("DELETE /x HTTP/1.1\r\n\r\n"), server("HTTP/1.1 204 No Content\r\n\r\n"),
      ]
    ),
    (
      "chunks",
      [
        client("PUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        server(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1a;n=v\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nA: b\r\nC: d\r\n\r\n"
        ),
      ]
    ),
    (
      "lengths without bodies",
      [
        client("HEAD / HTTP/1.1\r\n\r\n"), server("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        client("GET / HTTP/1.1\r\n\r\n"), server("HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n"),
      ]
    ),
    (
      "proxy",
      [client("CONNECT b:80 HTTP/1.1\r\nHost: b:80\r\n\r\n"), server("HTTP/1.1 200 Connection established\r\n\r\n")]
    ),
    (
      "pipelined, with an early hint",
      [
        client("GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\n\r\n"),
        server("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"),
        server("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
      ]
    ),
    (
      "refused",
      [
        WebSocketTests.opening[0],
        server("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 6\r\n\r\nno way"),
      ]
    ),
    (
      "refused in chunks, then another request",
      [
        WebSocketTests.opening[0],
        server("HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nno way\r\n0\r\n\r\n"),
        client("POST /login HTTP/1.1\r\nContent-Length: 4\r\n\r\nuser"),
        server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
      ]
    ),
  ]

  private static func expectTalk(_ run: Run, _ what: Comment) {
    run.expectLedgerAddsUp(what)
    for direction in [Direction.clientToServer, .serverToClient] {
      let frames = WebSocketTests.talk.filter { $0.direction == direction }.flatMap(\.frames)
      #expect(run.frames.filter { $0.direction == direction }.map(\.bytes) == frames, what)
    }
    #expect(run.ledger.webSocketConnections == 1, what)
    #expect(run.issues.isEmpty, what)
  }

  /// The upgrade is found behind each of them, however segments cut what is said, and the prelude's bytes are not read.
  @Test(arguments: preludes.indices) func before(_ index: Int) {
    let (name, prelude) = Self.preludes[index]
    let steps = prelude + WebSocketTests.opening + WebSocketTests.talk
    for size in Array(1...40) + [61, 1_448] {
      Self.expectTalk(Run(WebSocketTests.packets(steps, segmentSize: size)), "\(name), segments of \(size)")
    }
    let run = Run(WebSocketTests.packets(steps)),
      bare = Run(WebSocketTests.packets(WebSocketTests.opening + WebSocketTests.talk))
    let isUpgrade = prelude.first?.bytes == WebSocketTests.opening[0].bytes
    let unread = prelude.dropFirst(isUpgrade ? 1 : 0).reduce(0) { $0 + $1.bytes.count }
    #expect(run.ledger.unreadBytes - bare.ledger.unreadBytes == UInt64(unread), "\(name)")
  }

  /// Each segment of a body missing from the capture costs its bytes, and nothing behind it.
  @Test func bodyMissing() {
    let body = [UInt8](repeating: 0x61, count: 1_448 * 4)
    let prelude = [
      Self.client("GET /big HTTP/1.1\r\n\r\n"), Self.server("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"),
      Step(direction: .serverToClient, bytes: body),
    ]
    let steps = prelude + WebSocketTests.opening + WebSocketTests.talk
    for missing in 2...5 {
      let run = Run(WebSocketTests.packets(steps, without: missing))
      #expect(run.ledger.webSocketConnections == 1, "\(missing)")
      #expect(run.frames.count == Run(WebSocketTests.packets(steps)).frames.count, "\(missing)")
    }
  }

  /// The early hint in front of the answer.
  @Test func hint() {
    var steps = WebSocketTests.opening + WebSocketTests.talk
    steps.insert(Self.server("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"), at: 1)
    for size in [1, 7, 1_448] { Self.expectTalk(Run(WebSocketTests.packets(steps, segmentSize: size)), "\(size)") }
  }

  /// A protocol that is read without WebSocket behind a proxy's CONNECT, and one that asks for an upgrade to something else.
  @Test func plainBehindHTTP() {
    let frames = [
      MQTTPacketBuilder.connect(clientID: "web"), MQTTPacketBuilder.publish("a/b", [1], qos: 1, packetID: 2),
    ]
    for (request, answer) in [
      ("CONNECT b:1883 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"),
      (
        "GET /x HTTP/1.1\r\nUpgrade: mqtt\r\nConnection: upgrade\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: mqtt\r\n\r\n"
      ),
    ] {
      let steps =
        [Self.client(request), Self.server(answer)] + frames.map { Step(direction: .clientToServer, bytes: $0) }
      let run = Run(WebSocketTests.packets(steps))
      run.expectLedgerAddsUp()
      #expect(run.frames.map(\.bytes) == frames)
    }
  }

  /// Every prefix of each head, and every byte of it changed, ends somewhere.
  @Test(arguments: preludes.indices) func broken(_ index: Int) {
    let prelude = Self.preludes[index].1
    for (i, step) in prelude.enumerated() {
      for at in step.bytes.indices {
        for value in [0, 0x20, 0x39, 0xff] as [UInt8] {
          var steps = prelude
          steps[i].bytes[at] = value
          Run(WebSocketTests.packets(steps + WebSocketTests.opening)).expectLedgerAddsUp("\(i) \(at) \(value)")
        }
        var steps = prelude
        steps[i].bytes = [UInt8](steps[i].bytes[..<at])
        Run(WebSocketTests.packets(steps + WebSocketTests.opening)).expectLedgerAddsUp("\(i) \(at)")
      }
    }
  }

  static let heads: [(String, HTTPMessage.Outcome)] = [
    ("", .needMore), ("GET / HT", .needMore), ("GET / HTTP/1.1\r\nHost: a", .needMore), ("PUBLISH a", .none),
    ("CONNECT {\"verbose\":false}\r\n", .none), ("CONNECT\naccept-version:1.2\n\n\0", .none),
    ("OPTIONS sip:a SIP/2.0\r\n\r\n", .none),
    ("GET / HTTP/1.1\r\nno field\r\n\r\n", .none), ("HTTP/1.1 2x0 OK\r\n\r\n", .none), ("HTTP/1.1 200", .needMore),
    ("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", .none),
    ("HEAD /x HTTP/1.0\r\n\r\n", .message(HTTPMessage(request: .head), count: 20)),
    ("HTTP/1.1 200\r\nCONTENT-LENGTH:12\r\n\r\nabc", .message(HTTPMessage(status: 200, length: 12), count: 35)),
    ("POST / HTTP/1.1\nTransfer-Encoding: gzip, chunked\n\n", .none),
  ]

  @Test func everyHead() {
    for (text, outcome) in Self.heads {
      let bytes = Array(text.utf8) + [UInt8](repeating: 0, count: 16)
      #expect(HTTPMessage.read(Bytes(bytes.span.bytes), 0, text.utf8.count) == outcome, "\(text)")
    }
  }

  // MARK: Masks

  /// Frames of the wrong kind are read, and said once for each direction.
  @Test(arguments: [Direction.clientToServer, .serverToClient]) func masks(_ wrong: Direction) {
    let said: [(Direction, [UInt8])] = [
      (.clientToServer, MQTTPacketBuilder.connect(clientID: "web")), (.serverToClient, MQTTPacketBuilder.connack()),
      (.clientToServer, MQTTPacketBuilder.publish("a/b", [1, 2], qos: 1, packetID: 2)),
      (.serverToClient, MQTTPacketBuilder.puback(2)),
    ]
    let steps =
      WebSocketTests.opening
      + said.map { direction, bytes in
        let isMasked = (direction == .clientToServer) != (direction == wrong)
        return Step(direction: direction, bytes: WebSocketBuilder.frame(bytes, key: isMasked ? [1, 2, 3, 4] : nil))
      }
    let run = Run(WebSocketTests.packets(steps))
    run.expectLedgerAddsUp()
    #expect(run.frames.map(\.bytes) == said.map(\.1))
    #expect(run.issues.map(\.kind) == [.webSocketMask] && run.issues.map(\.direction) == [wrong])
  }

  // MARK: Final blocks

  /// A message that ends with a final block (RFC 7692, section 7.2.3.4), with and without the byte that may follow it; the next one goes on
  /// with the window or begins anew. By Python's `zlib`.
  @Test(
    arguments: ["", "00"],
    [
      "325263604ed44f62602ec94855284ecc4d5528cf2f4a29d651484c4fcccc5348cc4b81b00000", "3282aa6326a00e00",
    ])
  func finalBlock(_ end: String, _ next: String) {
    let words = [UInt8]("the same words, again and again".utf8)
    let frames = [2, 3].map { MQTTPacketBuilder.publish("a/b", words, qos: 1, packetID: $0) }
    let final = "335263604ed44f62602ac94855284ecc4d5528cf2f4a29d651484c4fcccc5348cc4b81b000"
    let packed = [final + end, next].map { [UInt8](hex: $0) }
    let opening = [
      Step(direction: .clientToServer, bytes: WebSocketBuilder.request(extensions: "permessage-deflate")),
      Step(direction: .serverToClient, bytes: WebSocketBuilder.answer(extensions: "permessage-deflate")),
      Step(
        direction: .clientToServer,
        bytes: WebSocketBuilder.frame(MQTTPacketBuilder.connect(clientID: "web"), key: [1, 2, 3, 4])),
    ]
    let steps = packed.map {
      Step(direction: .clientToServer, bytes: WebSocketBuilder.frame($0, isCompressed: true, key: [1, 2, 3, 4]))
    }
    for size in [1, 3, 1_448] {
      let run = Run(WebSocketTests.packets(opening + steps, segmentSize: size))
      #expect(run.frames.dropFirst().map(\.bytes) == frames, "\(size)")
      #expect(run.issues.isEmpty, "\(size)")
    }
  }
}
