import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What is told of a connection on which a frame began and none came whole: what its plan says is a guess.
@Suite struct FirstFrameTests {
  /// A frame of which the second half is missing, and the frames that follow.
  private static func packets(frames: [UInt32]) -> [TimedPacket] {
    Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.segmentSize = 100
      let parts = talk.send(
        TJPFrameBuilder(text: String(repeating: "x", count: 140), sequence: 1).bytes, .clientToServer, at: Scene.ms(10))
      for part in parts.dropFirst() { talk.drop(part) }
      for (i, number) in frames.enumerated() {
        talk.send(Scene.text(number), .clientToServer, at: Scene.ms(20 + 10 * Int64(i)))
      }
      talk.close(.fin(by: .clientToServer), at: Scene.ms(100))
    }
  }

  @Test func withoutAFrame() throws {
    let run = Run(Self.packets(frames: []))
    #expect(run.frames.isEmpty && run.ledger.decodedConnections == 0)
    let report = try #require(run.heard.reports.last)
    #expect(report.figures == nil && report.gapCount == 1)
    #expect(Set(run.issues.map(\.kind)) == [.gap, .frameCut])
    for (issue, plan) in zip(run.issues, run.heard.issuePlans) { #expect(plan == (issue.kind == .gap ? .max : 0)) }
    run.expectLedgerAddsUp()
  }

  @Test func withAFrame() throws {
    let run = Run(Self.packets(frames: [2]))
    #expect(run.sequences == [2] && run.ledger.decodedConnections == 1)
    let report = try #require(run.heard.reports.last)
    #expect(report.figures?.frames[0] == 1 && report.gapCount == 1)
    #expect(Set(run.issues.map(\.kind)) == [.gap, .frameCut])
    // The gap came in front of the frame that told what the connection speaks.
    for (issue, plan) in zip(run.issues, run.heard.issuePlans) { #expect(plan == (issue.kind == .gap ? .max : 0)) }
    run.expectLedgerAddsUp()
  }
}
