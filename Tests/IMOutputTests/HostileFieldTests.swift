import IMOutput
import IMTestSupport
import Testing

/// Whatever bytes a field has, no line gets a control byte from it: 50,000 fields, a million in a long run.
@Suite struct HostileFieldTests {
  /// Control characters, C1, and what turns the direction of text round, as far as it is left in `text`.
  private static func harm(_ text: [UInt8]) -> String? {
    if let byte = text.first(where: { $0 < 0x20 || $0 == 0x7f }) { return "the byte \(byte)" }
    guard let valid = String(validating: text, as: UTF8.self) else { return "bytes that are no UTF-8" }
    for scalar in valid.unicodeScalars {
      switch scalar.value {
      case 0x80...0x9f, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069, 0x061c:
        return "U+\(String(scalar.value, radix: 16))"
      default: continue
      }
    }
    return nil
  }

  @Test func randomFields() {
    var random = SystemLike(state: 7)
    let parts: [[UInt8]] = [
      [0x1b, 0x5d, 0x30, 0x3b], [0x1b, 0x5b, 0x32, 0x4a], [0xc2, 0x9b], [0xe2, 0x80, 0xae], [0xe2, 0x81, 0xa6], [0],
      [10], [13, 10], [0x7f], [0xff, 0xfe], [0xe4, 0xbd], [0xf0, 0x9f, 0x98, 0x80], [0xed, 0xa0, 0x80], [0xc0, 0x80],
      [0x22], [0x5c], [0xe4, 0xbd, 0xa0], [0x61],
    ]
    for _ in 0..<(LongRun.isWanted ? 1_000_000 : 50_000) {
      var field: [UInt8] = []
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        field +=
          Bool.random(using: &random)
          ? parts[Int.random(in: 0..<parts.count, using: &random)] : [UInt8.random(in: 0...255, using: &random)]
      }
      var text = ByteWriter(capacity: 64)
      field.withUnsafeBytes { text.terminal($0) }
      if let harm = Self.harm([UInt8](text.text.utf8)) { Issue.record("\(field) leaves \(harm) in text") }
      var json = ByteWriter(capacity: 64)
      field.withUnsafeBytes { json.jsonString($0) }
      let line = [UInt8](json.text.utf8)
      if line.contains(where: { $0 < 0x20 }) || String(validating: line, as: UTF8.self) == nil {
        Issue.record("\(field) is no line of JSON")
      }
    }
  }

  struct SystemLike: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ state >> 33
    }
  }
}
