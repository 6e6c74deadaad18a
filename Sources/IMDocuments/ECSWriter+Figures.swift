import IMEngine
import IMMetrics
import IMOutput
import IMWire

extension ECSWriter {
  /// The figures of messages that sentences have, looked for once.
  private enum Told {
    static let units = Catalogue.figure("messages.units", in: Catalogue.fates)
    static let success = Catalogue.figure("messages.success", in: Catalogue.ratios)
    static let loss = Catalogue.figure("messages.loss", in: Catalogue.ratios)
  }

  /// `311 messages, success 99.78 %, loss 0.22 %`, as far as there are ratios.
  func sentence(_ messages: MessageTally, _ lines: inout JSONLines) {
    if case .count(let units)? = Told.units?.value(messages) {
      lines.writer.number(units)
      lines.writer.literal(units == 1 ? " message" : " messages")
    }
    ratio(Told.success, ", success ", messages, &lines)
    ratio(Told.loss, ", loss ", messages, &lines)
  }

  private func ratio(
    _ figure: Metric<MessageTally>?, _ words: StaticString, _ messages: MessageTally, _ lines: inout JSONLines
  ) {
    guard let ratio = figure?.value(messages)?.ratio else { return }
    lines.writer.literal(words)
    lines.writer.percent(ratio)
  }
}
