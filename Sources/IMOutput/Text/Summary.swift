import IMEngine
package import IMMetrics
import IMWire

extension Summary {
  /// The lines, without a line feed at the end.
  package var lines: [String] {
    let run = RunSnapshot(self)
    func parts(_ line: MetricPresentation.Place) -> String {
      MetricSentences.parts(line, Catalogue.run, run).joined(separator: ", ")
    }
    var lines = [parts(.packets), parts(.seen), parts(.bytes)]
    for (plan, kinds) in zip(plans, kinds) {
      let profile = ProfileSnapshot(plan, kinds)
      guard profile.frames > 0 else { continue }
      let parts = MetricSentences.parts(.profile, Catalogue.profiles, profile)
      lines.append("\(plan.name): " + parts.joined(separator: ", "))
    }
    let evictions = parts(.evictions)
    return evictions.isEmpty ? lines : lines + ["dropped at the memory limit: " + evictions]
  }
}

extension Interruption {
  /// `interrupted at 41 %`, or `interrupted` where nobody knows.
  package var text: String { "interrupted" + (share.map { " at \(Int($0 * 100)) %" } ?? "") }
}

/// `1 packet`, `2 packets`.
package func count(_ value: UInt64, _ noun: String) -> String { "\(grouped(value)) \(noun)\(value == 1 ? "" : "s")" }

/// `a` of `b` in percent; see `percent(_:)`. `b` is not 0.
package func percent(_ a: UInt64, _ b: UInt64) -> String { percent(Double(a) / Double(b)) }

/// A ratio from 0 to 1 in percent, rounded to two decimals, but so that 100.00 % means all and 0.00 % means none.
package func percent(_ ratio: Double) -> String {
  let hundredths = hundredths(ratio)
  return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) %"
}

private func hundredths(_ ratio: Double) -> UInt64 {
  let hundredths = UInt64((min(max(ratio, 0), 1) * 10_000).rounded())
  if hundredths == 0, ratio > 0 { return 1 }
  if hundredths == 10_000, ratio < 1 { return 9_999 }
  return hundredths
}

extension ByteWriter {
  /// Appends a ratio as `percent(_:)` gives it.
  package mutating func percent(_ ratio: Double) {
    let hundredths = hundredths(ratio)
    var pen = pen(room: 32)
    pen.number(hundredths / 100)
    pen.byte(UInt8(ascii: "."))
    Digits.pair(UInt32(truncatingIfNeeded: hundredths % 100), pen.to)
    pen.to += 2
    pen.literal(" %")
    take(pen)
  }
}
