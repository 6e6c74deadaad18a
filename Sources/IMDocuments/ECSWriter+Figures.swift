import IMEngine
import IMMetrics
import IMOutput
import IMWire

extension ECSWriter {
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
