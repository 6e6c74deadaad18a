import IMEngine
import IMInference
import IMTestSupport

/// A protocol whose header is drawn: the truth that a guess is held against.
struct DrawnProtocol: CustomStringConvertible {
  var magic: [UInt8]
  var length: NumberPlace
  /// What the length counts: from this byte of the header on.
  var countsFrom: Int
  var type: NumberPlace
  var sequence: NumberPlace?
  /// The sum of the body, behind all other fields.
  var checksum: (algorithm: ChecksumAlgorithm, offset: Int)?
  var header: Int
  var types: [UInt64]

  var description: String {
    "magic \(magic), length \(length.size)@\(length.offset)\(length.isLittleEndian ? " little" : "") from \(countsFrom), type \(type.size)@\(type.offset), sequence \(sequence.map { "\($0.size)@\($0.offset)" } ?? "none"), sum \(checksum.map { "\($0.algorithm)@\($0.offset)" } ?? "none"), header \(header)"
  }

  /// Draws the order and the sizes of fields.
  init(_ random: inout SeededRandom) {
    let magics: [[UInt8]] = [[], [0xca, 0xfe], [0x23, 0x23], [0xde, 0xad, 0xbe, 0xef], [0xaa]]
    magic = magics[Int.random(in: 0..<magics.count, using: &random)]
    let isLittle = Bool.random(using: &random)
    var at = magic.count
    var parts = ["length", "type", "sequence"].shuffled(using: &random)
    if Int.random(in: 0..<4, using: &random) == 0 { parts.removeAll { $0 == "sequence" } }
    length = NumberPlace(offset: 0, size: 1)
    type = NumberPlace(offset: 0, size: 1)
    func aligned(_ size: Int) -> Int { (at + size - 1) / size * size }
    for part in parts {
      switch part {
      case "length":
        let size = [2, 4, 2, 3].randomElement(using: &random) ?? 2
        at = size == 3 ? at : aligned(size)
        length = NumberPlace(offset: at, size: size, isLittleEndian: isLittle)
        at += size
      case "type":
        let size = [1, 2].randomElement(using: &random) ?? 1
        at = aligned(size)
        type = NumberPlace(offset: at, size: size, isLittleEndian: isLittle)
        at += size
      default:
        let size = [2, 4].randomElement(using: &random) ?? 4
        at = aligned(size)
        sequence = NumberPlace(offset: at, size: size, isLittleEndian: isLittle)
        at += size
      }
    }
    if Bool.random(using: &random) {
      let algorithm =
        [ChecksumAlgorithm.crc32, .crc16Modbus, .adler32, .crc32c, .crc16CCITTFalse]
        .randomElement(using: &random) ?? .crc32
      at = aligned(algorithm.byteCount)
      checksum = (algorithm, at)
      at += algorithm.byteCount
    }
    header = at
    countsFrom = [0, header, length.end].randomElement(using: &random) ?? 0
    types = (1...6).map { UInt64($0) }
  }

  /// A frame of its type, whose body is as such bodies are.
  func frame(type value: UInt64, sequence number: UInt64, _ random: inout SeededRandom) -> [UInt8] {
    let body: [UInt8]
    switch value {
    case 1: body = []
    case 2: body = (0..<4).map { _ in UInt8.random(in: 0...255, using: &random) }
    case 3:
      body =
        [0, 1] + (0..<Int.random(in: 5...60, using: &random)).map { _ in .random(in: 0x61...0x7a, using: &random) }
    case 4: body = (0..<Int.random(in: 20...300, using: &random)).map { _ in .random(in: 0...255, using: &random) }
    case 5: body = [0xff, 0] + (0..<8).map { _ in UInt8.random(in: 0x30...0x39, using: &random) }
    default: body = [7]
    }
    var frame = [UInt8](repeating: 0, count: header)
    for (i, byte) in magic.enumerated() { frame[i] = byte }
    func put(_ place: NumberPlace, _ value: UInt64) {
      for i in 0..<place.size {
        let shift = UInt64(8 * (place.isLittleEndian ? i : place.size - 1 - i))
        frame[place.offset + i] = UInt8(truncatingIfNeeded: value >> shift)
      }
    }
    put(length, UInt64(header + body.count - countsFrom))
    put(type, value)
    if let sequence { put(sequence, number & sequence.mask) }
    if let checksum {
      let sum = Self.sum(checksum.algorithm, body)
      put(NumberPlace(offset: checksum.offset, size: checksum.algorithm.byteCount), sum)
    }
    return frame + body
  }

  private static func sum(_ algorithm: ChecksumAlgorithm, _ bytes: [UInt8]) -> UInt64 {
    algorithm.sum(of: bytes.span.bytes)
  }

  /// Samples of a few connections, each direction cut into segments: mostly where frames begin, sometimes anywhere.
  func samples(_ random: inout SeededRandom, connections: Int = 3, frames: Int = 60) -> (
    samples: [StreamSample], boundaries: Set<[Int]>
  ) {
    var samples: [StreamSample] = []
    var boundaries: Set<[Int]> = []
    var packet: UInt64 = 1
    for connection in 0..<connections {
      for direction in 0...1 {
        var bytes: [UInt8] = []
        var starts: [SegmentStart] = []
        var number = UInt64.random(in: 0...200, using: &random)
        for _ in 0..<frames {
          let value = types[Int.random(in: 0..<types.count, using: &random)]
          let frame = frame(type: value, sequence: number, &random)
          number += 1
          boundaries.insert([samples.count, bytes.count, frame.count])
          if Int.random(in: 0..<5, using: &random) > 0 || bytes.isEmpty {
            starts.append(SegmentStart(offset: bytes.count, packet: packet))
          }
          packet += 1
          if frame.count > 20, Int.random(in: 0..<8, using: &random) == 0 {
            starts.append(SegmentStart(offset: bytes.count + frame.count / 2, packet: packet))
            packet += 1
          }
          bytes += frame
        }
        samples.append(
          StreamSample(
            connection: connection, direction: direction, isFromStart: true, bytes: bytes, runs: [0..<bytes.count],
            starts: starts))
      }
    }
    return (samples, boundaries)
  }
}
