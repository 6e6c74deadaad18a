import IMTestSupport
import Testing

@testable import IMOutput

/// Text of others as JSON strings, against the standard library's idea of UTF-8 and a list of characters that are escaped.
@Suite struct JSONStringTests {
  /// What turns the direction of text or hides in it, and C1 controls, DEL.
  private static let hidden: [ClosedRange<UInt32>] = [
    0x7f...0x9f, 0x61c...0x61c, 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x2069, 0xfeff...0xfeff, 0xfff9...0xfffb,
    0xe0000...0xe0fff,
  ]

  private func model(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = [0x22]
    var i = 0
    while i < bytes.count {
      // The character that begins here, as the standard library has it: one scalar of up to four bytes.
      let found = (1...4).lazy.compactMap { count -> (Unicode.Scalar, Int)? in
        guard i + count <= bytes.count, let text = String(validating: bytes[i..<i + count], as: UTF8.self),
          text.unicodeScalars.count == 1, let scalar = text.unicodeScalars.first
        else { return nil }
        return (scalar, count)
      }.first
      guard let (scalar, count) = found else {
        out += Array("\u{FFFD}".utf8)
        i += 1
        continue
      }
      switch scalar {
      case "\"": out += Array("\\\"".utf8)
      case "\\": out += Array("\\\\".utf8)
      case "\n": out += Array("\\n".utf8)
      case "\r": out += Array("\\r".utf8)
      case "\t": out += Array("\\t".utf8)
      default:
        if scalar.value < 0x20 || Self.hidden.contains(where: { $0.contains(scalar.value) }) {
          let digits = String(scalar.value, radix: 16)
          out += Array(("\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits).utf8)
        } else {
          out += bytes[i..<i + count]
        }
      }
      i += count
    }
    return out + [0x22]
  }

  private func written(_ bytes: [UInt8]) -> [UInt8] {
    var writer = ByteWriter(capacity: 16)
    bytes.withUnsafeBytes { writer.jsonString($0) }
    return Array(writer.text.utf8)
  }

  /// The first 70,000 scalars, but of the ideographs and syllables every seventh, between letters, whole and without its last byte.
  @Test func everyScalar() throws {
    for value in UInt32(0)..<70_000 where LongRun.isWanted || !(0x3100..<0xd800).contains(value) || value % 7 == 0 {
      guard let scalar = Unicode.Scalar(value), !(0xe0000...0xe0fff).contains(value) else { continue }
      let bytes = Array("a\(Character(scalar))b".utf8)
      try #require(written(bytes) == model(bytes), "U+\(String(value, radix: 16))")
      let cut = Array(bytes.dropLast(2)) + Array("12345678".utf8)
      try #require(written(cut) == model(cut), "U+\(String(value, radix: 16)), cut")
    }
  }

  @Test func drawnBytes() throws {
    var random = SeededRandom(31)
    let pieces = ["plain text", "晚上吃什么", "\"", "\\", "\n", "\u{7f}", "é", "\u{202e}", "🙂", "שלום", "ا", "\u{0}", "𝔘"]
    for _ in 0..<LongRun.times(5_000, of: 20_000) {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        if random.once(in: 4) {
          bytes += random.bytes(Int.random(in: 1...5, using: &random))
        } else {
          bytes += Array(random.one(of: pieces).utf8)
        }
      }
      if random.once(in: 3), !bytes.isEmpty { bytes.remove(at: Int.random(in: 0..<bytes.count, using: &random)) }
      try #require(written(bytes) == model(bytes), "\(bytes)")
    }
  }
}
