import IMOutput

extension MetricText.Dialect {
  /// The dialect that a client likes best, which has sent `accept` (RFC 9110, section 12.5.1): OpenMetrics only where it
  /// says so, and likes nothing better.
  ///
  ///     application/openmetrics-text;version=1.0.0;q=0.5, text/plain;version=0.0.4;q=0.3, */*;q=0.1
  init(accept: [UInt8]) {
    var openMetrics = 0, text = 0
    for range in accept.split(separator: .comma) {
      let parts = range.split(separator: .semicolon, omittingEmptySubsequences: false).map(Self.word)
      let quality =
        parts.dropFirst().first { $0.hasPrefix("q=") }.map { Self.thousandths($0.utf8.dropFirst(2)) } ?? 1_000
      // A range whose weight is none says nothing.
      guard let quality else { continue }
      switch parts.first {
      case "application/openmetrics-text": openMetrics = max(openMetrics, quality)
      case "text/plain", "text/*": text = max(text, quality)
      default: break
      }
    }
    self = openMetrics > 0 && openMetrics >= text ? .openMetrics : .prometheus
  }

  /// Small letters, without blanks.
  private static func word(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.lazy.filter { !$0.isBlank }.map(\.lowercased), as: UTF8.self)
  }

  /// A weight from `0` to `1`, of which three decimals count.
  private static func thousandths(_ text: Substring.UTF8View) -> Int? {
    guard let first = text.first, first == .zero || first == .zero + 1 else { return nil }
    let rest = text.dropFirst()
    guard rest.isEmpty || rest.first == UInt8(ascii: "."), rest.dropFirst().allSatisfy(\.isDigit) else { return nil }
    var value = Int(first - .zero), decimals = rest.dropFirst().makeIterator()
    for _ in 0..<3 { value = value * 10 + Int((decimals.next() ?? .zero) - .zero) }
    return min(value, 1_000)
  }
}
