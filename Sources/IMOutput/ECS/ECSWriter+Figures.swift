import IMEngine
import IMMetrics
import IMWire

extension ECSWriter {
  /// `ratio`, with those that exist; nothing when there are none.
  func ratios(_ ratios: FateRatios, connections: Double?, _ lines: inout JSONLines) {
    guard ratios.success != nil || connections != nil else { return }
    lines.open("ratio")
    lines.decimal("success", ratios.success)
    lines.decimal("loss", ratios.loss)
    lines.decimal("retry", ratios.retry)
    lines.decimal("connection_success", connections)
    lines.close()
  }

  /// `checksum`: frames by what their checksum said.
  func checksums<Count: FixedWidthInteger & UnsignedInteger>(
    _ bigEndian: Count, _ littleEndian: Count, _ bad: Count, _ none: Count, _ lines: inout JSONLines
  ) {
    lines.open("checksum")
    lines.number("be", bigEndian)
    lines.number("le", littleEndian)
    lines.number("bad", bad)
    lines.number("none", none)
    lines.close()
  }

  /// `, success 99.78 %, loss 0.22 %`, as far as there are ratios.
  func sentence(_ ratios: FateRatios, _ lines: inout JSONLines) {
    if let success = ratios.success {
      lines.writer.literal(", success ")
      lines.writer.percent(success)
    }
    if let loss = ratios.loss {
      lines.writer.literal(", loss ")
      lines.writer.percent(loss)
    }
  }
}
