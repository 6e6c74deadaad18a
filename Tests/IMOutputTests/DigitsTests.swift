@testable import IMEngine
@testable import IMOutput
import IMWire
import Testing

/// Numbers, times and addresses as they are printed, against what Swift prints of them.
@Suite struct DigitsTests {
  private func text(_ body: (inout ByteWriter) -> Void) -> String {
    var out = ByteWriter(capacity: 64)
    body(&out)
    return out.text
  }

  private static let numbers: [UInt64] =
    (0..<20).flatMap { power -> [UInt64] in
      let least = (0..<power).reduce(UInt64(1)) { value, _ in value * 10 }
      return [least - 1, least, least + 1, least &* 9 &+ 87]
    } + Array(0...1_100) + [UInt64(Int64.max), .max]

  @Test func wholeNumbers() {
    for number in Self.numbers {
      #expect(text { $0.number(number) } == "\(number)")
      let signed = -Int64(clamping: number)
      #expect(text { $0.number(signed) } == "\(signed)")
    }
  }

  @Test func thousandthsAndDecimals() {
    for number in Self.numbers where number < 1 << 50 {
      for sign in [1, -1] {
        let value = Int64(number) * Int64(sign)
        var fraction = String("\(1_000 + number % 1_000)".dropFirst())
        while fraction.count > 1, fraction.hasSuffix("0") { fraction.removeLast() }
        let expected = "\(value < 0 ? "-" : "")\(number / 1_000).\(fraction)"
        #expect(text { $0.thousandths(value) } == expected)
        // As far as a double tells thousandths, and millionths.
        guard number < 1 << 40 else { continue }
        #expect(text { $0.decimal(Double(value) / 1_000, 3) } == expected)
        #expect(text { $0.decimal(Double(value) / 1_000, 6) } == expected)
      }
    }
    #expect(text { $0.decimal(0.333_333_333, 6) } == "0.333333")
    #expect(text { $0.decimal(-2.5, 1) } == "-2.5")
    #expect(text { $0.decimal(99.996, 2) } == "100.0")
    #expect(text { $0.decimal(1.05, 2) } == "1.05")
    #expect(text { $0.decimal(1e300, 3) } == "0")
  }

  @Test func addresses() {
    var state: UInt32 = 1
    for _ in 0..<5_000 {
      state = state &* 1_664_525 &+ 1_013_904_223
      let endpoint = Endpoint(
        address: IPAddress(v4: state ^ state >> 13), port: UInt16(truncatingIfNeeded: state >> 7))
      #expect(text { $0.endpoint(endpoint) } == endpoint.description)
    }
  }

  /// Two seconds are kept: they may come in any order.
  @Test func timesInAnyOrder() {
    var out = ByteWriter(capacity: 64)
    for second: Int64 in [0, 1, 0, 2, 1, 86_399, 86_400, -1, 0, -2, 1_700_000_001, 1_700_000_000] {
      out.removeAll()
      out.timeOfDay(Timestamp(nanoseconds: second * 1_000_000_000 + 1_234_567))
      let day = ((second % 86_400) + 86_400) % 86_400
      func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
      #expect(out.text == "\(two(day / 3_600)):\(two(day / 60 % 60)):\(two(day % 60)).001234")
    }
  }
}
