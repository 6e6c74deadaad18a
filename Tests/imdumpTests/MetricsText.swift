import Foundation
import Testing

/// Metrics as a reader of the text format sees them: read by the format's own rules, and held to them.
struct MetricsText {
  /// One series: the name of its samples and its labels.
  struct Series: Hashable {
    var name: String
    var labels: [String: String]
  }

  /// A family's type by its name, and its labels' names.
  private(set) var types: [String: String] = [:]
  /// Every sample.
  private(set) var samples: [Series: Double] = [:]
  /// The families, in order.
  private(set) var order: [String] = []

  /// Reads a text. What breaks a rule is a failed expectation.
  init(_ text: String) {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.popLast() == "", "the last line has no end")
    var family = ""
    var described: Set<String> = []
    for line in lines {
      let words = line.split(separator: " ", maxSplits: 3).map(String.init)
      if line.hasPrefix("# HELP ") {
        #expect(described.insert(words[2]).inserted, "described twice: \(words[2])")
        continue
      }
      if line.hasPrefix("# TYPE ") {
        family = words[2]
        #expect(types[family] == nil && described.contains(family), "\(family)")
        types[family] = words[3]
        order.append(family)
        continue
      }
      guard let (series, value) = Self.sample(String(line)) else {
        Issue.record("no sample: \(line)")
        continue
      }
      let suffixes = ["histogram": ["_bucket", "_sum", "_count"], "summary": ["", "_sum", "_count"]]
      let names = (suffixes[types[family] ?? ""] ?? [""]).map { family + $0 }
      #expect(names.contains(series.name), "\(series.name) among \(family)")
      #expect(samples[series] == nil, "twice: \(line)")
      samples[series] = value
    }
  }

  /// `name{label="value",...} 12.5`.
  private static func sample(_ line: String) -> (Series, Double)? {
    guard let blank = line.lastIndex(of: " "), let value = Double(line[line.index(after: blank)...]) else { return nil }
    let left = line[..<blank]
    guard let brace = left.firstIndex(of: "{") else { return (Series(name: String(left), labels: [:]), value) }
    guard left.hasSuffix("}") else { return nil }
    var labels: [String: String] = [:]
    // No value in these tests has a quotation mark or a comma in it.
    for part in left[left.index(after: brace)...].dropLast().split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, pair[1].hasPrefix("\""), pair[1].hasSuffix("\""), pair[1].count >= 2 else { return nil }
      guard labels.updateValue(String(pair[1].dropFirst().dropLast()), forKey: String(pair[0])) == nil else {
        return nil
      }
    }
    return (Series(name: String(left[..<brace]), labels: labels), value)
  }

  /// The sum of the samples of that name that have these labels.
  func sum(_ name: String, _ labels: [String: String] = [:]) -> Int {
    Int(
      samples.filter { series, _ in
        series.name == name && labels.allSatisfy { series.labels[$0.key] == $0.value }
      }.reduce(0) { $0 + $1.value })
  }
}
