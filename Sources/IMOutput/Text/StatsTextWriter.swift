import IMEngine

/// The counts of a run as tables: `imdump stats`.
package struct StatsTextWriter {
  /// A writer.
  package init() {}

  /// Appends the tables.
  package func write(_ summary: Summary, to out: inout ByteWriter) {
    for (i, plan) in summary.plans.enumerated() {
      let kinds = summary.kinds[i]
      guard kinds.contains(where: { $0.frames[0] + $0.frames[1] > 0 }) else { continue }
      out.text("\(plan.name)\n")
      out.text("  type            c2s frames  s2c frames       units       acked  unanswered\n")
      for (k, kind) in kinds.enumerated() where kind.frames[0] + kind.frames[1] > 0 {
        let name = k < plan.typeNames.count ? plan.typeNames[k] : "other"
        var fates = kind.fates[0]
        fates.add(kind.fates[1])
        out.text("  " + pad(name, 14))
        for value in [
          kind.frames[0], kind.frames[1], UInt64(fates.units), UInt64(fates.acked + fates.ackedAfterRetry),
          UInt64(fates.unanswered),
        ] {
          out.text(right(grouped(value), 12))
        }
        out.literal("\n")
      }
    }
  }

  private func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }

  private func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(1, width - text.count)) + text
  }
}
