import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// A protocol whose answers repeat the number of the request, with an encoder for its frames.
struct NumberedProtocol: Sendable, CustomTestStringConvertible {
  var name: String
  var profile: String
  var request: @Sendable (Int) -> [UInt8]
  var answer: @Sendable (Int) -> [UInt8]
  /// A frame without a number; empty if the protocol has none.
  var notice: [UInt8] = []

  var testDescription: String { name }

  var plan: ProtocolPlan { get throws { try ProfileCompiler.compile(profile, source: name) } }

  /// An open connection to port 7000, with packets of at most `size` bytes.
  static func connection(size: Int = 1_448) -> ConversationBuilder {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(7_000))
    talk.segmentSize = size
    talk.open(at: Scene.ms(0))
    return talk
  }

  /// Twenty requests numbered from 300, each with its answer, and a notice after every fifth, in packets of at most `size` bytes; with the
  /// index of the first packet of each request.
  func talk(size: Int) -> (packets: [TimedPacket], requests: [Int]) {
    var talk = Self.connection(size: size)
    var requests: [Int] = []
    for i in 0..<20 {
      let at = Int64(i + 1) * 100
      requests.append(talk.send(request(300 + i), .clientToServer, at: Scene.ms(at))[0])
      talk.send(answer(300 + i) + (i % 5 == 0 ? notice : []), .serverToClient, at: Scene.ms(at + 40))
    }
    return (talk.packets, requests)
  }
}

extension Run {
  /// Expects `count` requests, all of them answered.
  func expectAnswered(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    expectLedgerAddsUp(sourceLocation: sourceLocation)
    #expect(heard.finished.count == count, sourceLocation: sourceLocation)
    #expect(heard.finished.allSatisfy { $0.fate == .acked }, sourceLocation: sourceLocation)
  }
}
