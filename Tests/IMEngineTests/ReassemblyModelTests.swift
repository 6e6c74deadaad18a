import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Segments in any order, repeated, overlapping and cut anew, against a model of a few lines.
@Suite struct ReassemblyModelTests {
  /// One segment of a script: a chunk of the stream with bytes of its own.
  struct Step {
    var start: Int
    var bytes: [UInt8]
  }

  /// What a receiver hands on: the stream without a hole from its first byte on, each byte by the policy.
  ///
  /// It keeps every byte in a dictionary and moves on as far as it can after each segment, so that "the copy that came
  /// last" means last before it was handed on.
  struct Model {
    var policy: OverlapPolicy
    var held: [Int: UInt8] = [:]
    var stream: [UInt8] = []
    var repeated = 0
    var hasConflict = false

    mutating func take(_ step: Step) {
      // A segment that is in order passes straight through; of another, what is old is dropped.
      for (i, byte) in step.bytes.enumerated() {
        let place = step.start + i
        if place < stream.count {
          repeated += 1
        } else if let other = held[place] {
          repeated += 1
          if other != byte {
            hasConflict = true
            if policy == .last { held[place] = byte }
          }
        } else {
          held[place] = byte
        }
      }
      while let next = held.removeValue(forKey: stream.count) { stream.append(next) }
    }
  }

  /// 3,000 scripts over both policies, 100,000 in a long run; sequence numbers wrap in a third of them.
  @Test(arguments: OverlapPolicy.allCases) func randomScripts(_ policy: OverlapPolicy) {
    for seed in 0..<(LongRun.isWanted ? 50_000 : 1_500) {
      var random = SeededRandom(UInt64(seed) << 1 | (policy == .last ? 1 : 0))
      let steps = script(&random, lies: seed % 2 == 1)
      var model = Model(policy: policy)
      for step in steps { model.take(step) }
      let initial: UInt32 =
        seed % 3 == 0 ? .max - UInt32(random.next() % 300) : UInt32(truncatingIfNeeded: random.next())
      let (found, run) = reassemble(steps, initial: initial, policy)
      let what: Comment = "\(policy.rawValue), seed \(seed)"
      #expect(found == model.stream, what)
      #expect(Int(run.reassembly.repeatedBytes) == model.repeated, what)
      #expect(run.reassembly.payloadBytes == 28 + UInt64(steps.reduce(0) { $0 + $1.bytes.count }), what)
      if model.hasConflict { #expect(run.reassembly.conflicts > 0, what) }
      #expect(run.gaps.isEmpty, what)
      run.expectLedgerAddsUp(what)
    }
  }

  /// Segments that cover a stream of 40 to 400 bytes, and others that overlap them, shuffled a little or a lot.
  private func script(_ random: inout SeededRandom, lies: Bool) -> [Step] {
    let stream = random.bytes(Int.random(in: 40...400, using: &random))
    var steps: [Step] = []
    var at = 0
    while at < stream.count {
      let end = min(stream.count, at + Int.random(in: 1...60, using: &random))
      steps.append(Step(start: at, bytes: [UInt8](stream[at..<end])))
      at = end
    }
    for _ in 0..<Int.random(in: 0...8, using: &random) {
      let start = Int.random(in: 0..<stream.count, using: &random)
      let end = min(stream.count, start + Int.random(in: 1...80, using: &random))
      let bytes = lies && Bool.random(using: &random) ? random.bytes(end - start) : [UInt8](stream[start..<end])
      steps.append(Step(start: start, bytes: bytes))
    }
    return steps.shuffled(using: &random)
  }

  /// Leads the steps through an engine as one connection of no protocol and gives the stream that it kept.
  private func reassemble(_ steps: [Step], initial: UInt32, _ policy: OverlapPolicy) -> ([UInt8], Run) {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080), initial: (initial, 1))
    talk.open(at: Timestamp(milliseconds: 0))
    let first = talk.next[0]
    // One frame around everything: what comes out of it is what was handed on, byte by byte.
    let count = steps.map { $0.start + $0.bytes.count }.max() ?? 0
    var header = TJPFrameBuilder(type: TJPType.data, sequence: 1)
    header.claimedLength = UInt32(count)
    header.checksum = .value(0)
    talk.send(header.bytes, .clientToServer, at: Timestamp(milliseconds: 1))
    for (i, step) in steps.enumerated() {
      talk.append(
        .clientToServer, [.psh, .ack], sequence: first &+ 28 &+ UInt32(step.start), acknowledgment: 2,
        payload: step.bytes, at: Timestamp(microseconds: 2_000 + Int64(i) * 10))
    }
    let run = Run(talk.packets) { $0.reassembly.overlap = policy }
    return (run.frames.first.map { [UInt8]($0.bytes.dropFirst(28)) } ?? [], run)
  }
}
