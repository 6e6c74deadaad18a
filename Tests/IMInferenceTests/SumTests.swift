import IMEngine
import IMInference
import IMTestSupport
import Testing

/// Sums in trailers and in headers that cover all of a frame, by every algorithm.
@Suite struct SumTests {
  private enum Form: CaseIterable { case trailerOfFrame, trailerOfBody, headerOfFrame, turnedRound }

  @Test(arguments: ChecksumAlgorithm.allCases) func sumsAreFound(algorithm: ChecksumAlgorithm) throws {
    for form in Form.allCases where form != .turnedRound || algorithm.byteCount > 1 {
      var random = SeededRandom(UInt64(algorithm.rawValue) &+ 40)
      let size = algorithm.byteCount
      let isTrailer = form != .headerOfFrame
      var samples: [StreamSample] = []
      for direction in 0...1 {
        var bytes: [UInt8] = []
        var starts: [SegmentStart] = []
        for packet in 0..<80 {
          let body = (0..<Int.random(in: 3...90, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
          let count = 8 + body.count + (isTrailer ? size : 0)
          var frame: [UInt8] = [0xfe, 0xed, 0, UInt8(count), 0, 0, 0, 0] + body
          if form == .headerOfFrame {
            put(sum(algorithm, frame), size, little: false, at: 4, &frame)
          } else {
            let covered = form == .trailerOfBody ? Array(frame[8...]) : frame
            let sum = self.sum(algorithm, covered)
            frame += [UInt8](repeating: 0, count: size)
            put(sum, size, little: form == .turnedRound, at: count - size, &frame)
          }
          starts.append(SegmentStart(offset: bytes.count, packet: UInt64(packet)))
          bytes += frame
        }
        samples.append(
          StreamSample(
            connection: 0, direction: direction, isFromStart: true, bytes: bytes, runs: [0..<bytes.count],
            starts: starts
          ))
      }
      let guess = try #require(GuessedProtocol(samples, seconds: 0...0), "\(form)")
      let sum = try #require(guess.checksum, "\(algorithm) \(form)")
      #expect(sum.right == sum.count && sum.count == 160, "\(algorithm) \(form): \(sum)")
      // Where one byte is the exclusive or of the others, each is: the place is a matter of taste.
      if algorithm == .xor, form == .headerOfFrame { continue }
      #expect(sum.algorithm.byteCount == size, "\(algorithm) \(form): \(sum)")
      #expect(sum.place == (isTrailer ? .trailer : .header(4)), "\(algorithm) \(form): \(sum)")
      if form == .turnedRound { #expect(sum.big <= sum.little / 8, "\(sum)") }
    }
  }

  private func sum(_ algorithm: ChecksumAlgorithm, _ bytes: [UInt8]) -> UInt64 { algorithm.sum(of: bytes.span.bytes) }

  private func put(_ value: UInt64, _ size: Int, little: Bool, at offset: Int, _ bytes: inout [UInt8]) {
    for i in 0..<size {
      bytes[offset + i] = UInt8(truncatingIfNeeded: value >> UInt64(8 * (little ? i : size - 1 - i)))
    }
  }
}
