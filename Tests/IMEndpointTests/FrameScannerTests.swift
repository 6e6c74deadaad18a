import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct FrameScannerTests {
  static let bodies: [[UInt8]] = [[], [1, 2, 3, 4], Array(repeating: 9, count: 300), [], [5]]

  static let stream: [UInt8] = bodies.enumerated().reduce(into: []) { bytes, entry in
    let checksum = entry.element.withUnsafeBytes { Checksum.of($0.bytes) }
    FrameHeader(
      kind: .data, sequence: SequenceNumber(rawValue: UInt32(entry.offset)), time: 7, session: 3,
      bodyCount: UInt32(entry.element.count), checksum: checksum
    ).append(to: &bytes)
    bytes += entry.element
  }

  @Test(arguments: [1, 2, 3, 5, 7, 27, 28, 29, 64, 100, 1_000])
  func `frames are found however their bytes are cut`(size: Int) {
    var scanner = FrameScanner()
    var found: [FrameScanner.Found] = []
    for start in stride(from: 0, to: Self.stream.count, by: size) {
      Self.stream[start..<min(start + size, Self.stream.count)].withUnsafeBytes { piece in
        scanner.scan(piece.bytes) { found.append($0) }
      }
    }
    #expect(found.map(\.header.sequence.rawValue) == [0, 1, 2, 3, 4])
    #expect(found.map(\.offset) == [0, 28, 60, 388, 416])
    #expect(found.allSatisfy { $0.checksum == $0.header.checksum })
    #expect(found.map(\.named) == [nil, 0x0102_0304, nil, nil, nil])
    #expect(scanner.offset == UInt64(Self.stream.count) && !scanner.isBroken)
  }

  @Test func `a scanner stops where bytes are no frame`() {
    var scanner = FrameScanner()
    var count = 0
    (Self.stream + Array("GET / HTTP/1.1 is not a frame at all".utf8) + Self.stream).withUnsafeBytes {
      scanner.scan($0.bytes) { _ in count += 1 }
    }
    #expect(count == 5 && scanner.isBroken)
  }
}
