import Testing

@testable import IMEngine

/// Deflate streams of a length that is given: zlib and libdeflate, by which the engine inflates, read them.
@Suite struct FittingDeflaterTests {
  @Test func everyLengthFromTheLeastOnFits() throws {
    let content = [UInt8](#"{"xxx": 111, "xxxxx": "xxxxxxxxxxxxxxxxx xxxx"}"#.utf8)
    let least = try #require((1...200).first { FittingDeflater.message(content, count: $0) != nil })
    var missing: [Int] = []
    for count in least...(least + 120) {
      guard let made = FittingDeflater.message(content, count: count) else {
        missing.append(count)
        continue
      }
      #expect(made.count == count)
      #expect(Self.inflate(made + [0, 0, 0xff, 0xff]) == content)
    }
    // A few lengths just above the least have no blocks that fill them.
    #expect(missing.allSatisfy { $0 < least + 9 } && missing.count <= 3, "\(missing)")
    for count in 1...200 {
      if let made = FittingDeflater.message([], count: count) {
        #expect(made.count == count && Self.inflate(made + [0, 0, 0xff, 0xff]) == [])
      } else {
        #expect(count < 10)
      }
    }
  }

  @Test func zlibStreamsHaveTheirSum() throws {
    let content = [UInt8](repeating: 120, count: 400)
    var made = 0
    for count in 20...120 {
      guard let stream = FittingDeflater.zlib(content, count: count, header: [0x78, 0x9c]) else { continue }
      made += 1
      #expect(stream.count == count)
      var inflater = Inflater(maximumCount: 1 << 16, maximumRatio: 1_000)
      let padded = stream + [UInt8](repeating: 0, count: 64)
      let failure = inflater.inflate(Bytes(padded.span.bytes), 0, count)
      #expect(failure == nil && inflater.count == content.count)
    }
    #expect(made > 90)
  }

  /// What refers to bytes in front of it says them again.
  @Test func historyIsReferredTo() throws {
    let history = [UInt8]("qfhx/vdxy/kdow/1234 temperature".utf8)
    let made = try #require(FittingDeflater.message(history, count: 12, history: history[...]))
    #expect(FittingDeflater.message(history, count: 12) == nil)
    #expect(Self.inflate(made + [0, 0, 0xff, 0xff], after: history) == history)
  }

  /// What the engine's own reader of WebSocket's streams makes of `stream`.
  private static func inflate(_ stream: [UInt8], after history: [UInt8] = []) -> [UInt8]? {
    guard let raw = RawInflater() else { return nil }
    defer { raw.destroy() }
    func take(_ stream: [UInt8]) -> [UInt8]? {
      var output = [UInt8](repeating: 0, count: 4_096)
      let (used, made, progress) = stream.withUnsafeBytes { input in
        output.withUnsafeMutableBytes { raw.inflate(input, into: $0) }
      }
      return used == stream.count && progress != .broken ? Array(output[..<made]) : nil
    }
    if !history.isEmpty {
      guard let first = FittingDeflater.message(history, count: 200), take(first + [0, 0, 0xff, 0xff]) == history else {
        return nil
      }
    }
    return take(stream)
  }
}
