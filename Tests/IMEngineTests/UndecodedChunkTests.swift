import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Whoever rewrites a stream is told of all its bytes once: what carriers put around frames, and frames that do not stand as they
/// are read.
@Suite struct UndecodedChunkTests {
  private final class Listener: EngineSink {
    struct Told {
      var chunk: UndecodedChunk
      var direction: Direction
      var bytes: [UInt8]
    }
    var told: [Told] = []
    var frames: [(direction: Direction, bytes: [UInt8])] = []

    func undecoded(_ chunk: UndecodedChunk, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan) {
      told.append(Told(chunk: chunk, direction: direction, bytes: bytes.withUnsafeBytes { [UInt8]($0) }))
    }
    func frame(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
      body: RawSpan, tlvs: Span<TLVRef>
    ) {
      let bytes = bytes.withUnsafeBytes { [UInt8]($0[frame.start..<frame.start + frame.count]) }
      frames.append((direction, bytes))
    }
  }

  private static func listen(_ packets: [TimedPacket]) -> Listener {
    let listener = Listener()
    lead(packets, Plans.usual, needs: [.frames, .undecoded], into: listener)
    return listener
  }

  /// Whether a chunk stands on the wire, not in what a carrier's frames carry.
  private static func isOnWire(_ kind: UndecodedChunk.Kind) -> Bool {
    switch kind {
    case .frame(let isCarried): !isCarried
    case .packedEnd: false
    default: true
    }
  }

  /// Stretches, put where they say they stand, are the stream: each byte once.
  private static func expectStream(_ told: [Listener.Told], _ stream: [UInt8], _ comment: Comment) {
    var place = 0
    var found: [UInt8] = []
    for part in told.sorted(by: { $0.chunk.streamOffset < $1.chunk.streamOffset }) {
      #expect(Int(part.chunk.streamOffset) == place, comment)
      place += part.bytes.count
      found += part.bytes
    }
    #expect(found == stream, comment)
  }

  /// Frames with delimiters and escapes are told as they travel, however they are cut.
  @Test(arguments: [1_448, 11]) func delimited(_ segmentSize: Int) {
    var talk = Talk(port: 7_611, segmentSize: segmentSize)
    for n in UInt16(1)...12 {
      talk.say(.clientToServer, JT808Builder.frame(0x0200, n, [UInt8](repeating: 0x7e, count: Int(n) + 27)))
      talk.say(.serverToClient, JT808Builder.answer(0x8001, n, of: n, 0x0200))
    }
    let heard = Self.listen(talk.packets)
    #expect(heard.frames.count == 24)
    for direction in [Direction.clientToServer, .serverToClient] {
      let stream = talk.messages.filter { $0.direction == direction }.flatMap(\.bytes)
      Self.expectStream(heard.told.filter { $0.direction == direction }, stream, "\(direction)")
    }
  }

  /// Frames inside WebSocket frames: the wire's bytes are told once, and so are those that its frames carry.
  @Test(arguments: [1_448, 13]) func carried(_ segmentSize: Int) {
    let steps = WebSocketTests.opening + WebSocketTests.talk
    let heard = Self.listen(WebSocketTests.packets(steps, segmentSize: segmentSize))
    for direction in [Direction.clientToServer, .serverToClient] {
      let told = heard.told.filter { $0.direction == direction }
      let wire = steps.filter { $0.direction == direction }.flatMap(\.bytes)
      Self.expectStream(told.filter { Self.isOnWire($0.chunk.kind) }, wire, "\(direction), on the wire")
      let inner = steps.filter { $0.direction == direction }.flatMap { $0.frames.flatMap { $0 } }
      let frames = told.filter { if case .frame(true) = $0.chunk.kind { true } else { false } }
      Self.expectStream(frames, inner, "\(direction), carried")
      #expect(frames.map(\.bytes) == heard.frames.filter { $0.direction == direction }.map(\.bytes))
    }
  }

  /// Frames that are read where they stand are told as frames alone.
  @Test(arguments: Chat.allCases) func plain(_ chat: Chat) {
    let heard = Self.listen(chat.talk(.across).packets)
    #expect(heard.told.isEmpty && heard.frames.count > 20)
  }
}
