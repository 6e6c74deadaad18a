import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// The parts of headers that `imdump profile test -v` lists, where their places differ by side, and from frame to frame.
@Suite struct HeaderLabelTests {
  /// Keeps the walk through every frame, by direction.
  private final class TraceSink: EngineSink {
    let plan: ProtocolPlan
    private(set) var traces: [[FrameTrace]] = [[], []]

    init(_ plan: ProtocolPlan) { self.plan = plan }

    func frame(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
      body: RawSpan, tlvs: Span<TLVRef>
    ) {
      let trace = plan.trace(frame, in: bytes, isFromServer: direction == .serverToClient)
      traces[Int(direction.rawValue)].append(trace)
    }
  }

  /// Each part as its name, its offset and size, and its number.
  private static func parts(_ trace: FrameTrace) -> [String] {
    trace.parts.map { "\($0.name) \($0.offset)+\($0.count)" + ($0.value.map { " \($0)" } ?? "") }
  }

  private static func traces(_ layout: NumberedProtocol) throws -> [[FrameTrace]] {
    let sink = TraceSink(try layout.plan)
    var options = EngineOptions(plans: [sink.plan])
    options.needs = [.frames]
    var engine = Engine(options: options, sink: sink)
    let batch = CaptureBuilder(layout.talk(size: 1_400).packets).batch(firstNumber: 1)
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish(at: nil)
    return sink.traces
  }

  @Test func eachSideHasItsOwn() throws {
    let layout = try #require(LayoutTests.layouts.first { $0.name == "a layout for each side" })
    let traces = try Self.traces(layout)
    #expect(traces.map(\.count) == [20, 20])
    let client = try #require(traces[0].first), server = try #require(traces[1].first)
    #expect(Self.parts(client) == ["type 0+2 4609", "length 2+2 1", "sequence 4+2 300", "body 6+1"])
    #expect(
      Self.parts(server) == ["magic 0+2 48879", "type 2+2 4865", "sequence 4+2 300", "length 6+2 10", "body 8+2"])
  }

  /// A length of four bytes and an optional part of two move what follows them.
  @Test func optionalPartsMoveThem() throws {
    let traces = try Self.traces(HeaderPartTests.inTheMiddle[0])
    // The number 305: a varint of four bytes, the first part, not the second.
    #expect(
      Self.parts(traces[0][5]) == ["type 0+2 4609", "length 2+4", "type 10+1 7", "sequence 11+2 305"])
    // The number 306: a varint of one byte, no part.
    #expect(Self.parts(traces[0][6]) == ["type 0+2 4609", "length 2+1", "type 5+1 7", "sequence 6+2 306"])
  }
}
