import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct OutgoingTests {
  private static let header = FrameHeader(
    version: .current, kind: .data, sequence: SequenceNumber(.normal, 1), time: 0, session: 1)

  /// What is written is what was appended, whatever the sizes of bodies and however much is taken at a time.
  @Test(arguments: [1, 7, 100, 5_000, 70_000, .max])
  func allIsWrittenInOrder(atMost limit: Int) {
    var output = OutgoingBytes()
    var expected: [UInt8] = []
    var written: [UInt8] = []
    var random = TestGenerator(UInt64(truncatingIfNeeded: limit))
    func write(_ pieces: OutgoingPieces) -> Int {
      var data: [UInt8] = []
      let taken = pieces.forEach { bytes in
        let count = min(bytes.byteCount, limit - data.count)
        bytes.extracting(first: count).withUnsafeBytes { data.append(contentsOf: $0) }
        return count
      }
      #expect(taken == min(limit, pieces.byteCount) && pieces.count <= OutgoingBytes.gatheredCount)
      written += data
      return taken
    }
    for step in 0..<60 {
      let size = [0, 3, 200, 16_383, 16_384, 40_000][Int.random(in: 0..<6, using: &random)]
      let body = [UInt8](repeating: UInt8(step), count: limit < 100 ? size % 500 : size)
      Self.header.append(to: &expected)
      expected += body
      output.append(Self.header, body)
      if step % 7 == 0 { _ = output.drain(write) }
    }
    while !output.isEmpty { _ = output.drain(write) }
    #expect(written == expected && output.byteCount == 0)
  }

  /// A hundred large bodies leave in as few calls as there are pieces for.
  @Test func largeBodiesAreGathered() {
    var output = OutgoingBytes()
    for _ in 0..<100 { output.append(Self.header, [UInt8](repeating: 1, count: 20_000)) }
    var calls = 0
    let written = output.drain { pieces in
      calls += 1
      return pieces.byteCount
    }
    #expect(written == 100 * 20_028 && calls == 4 && output.isEmpty)
  }
}
