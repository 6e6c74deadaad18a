import IMEngine
import IMMetrics
import IMOutput
import IMWire

extension ECSWriter {
  /// `311 messages, success 99.78 %, loss 0.22 %`, as far as there are ratios.
  func sentence(_ messages: MessageTally, _ lines: inout JSONLines) {
    let units = Catalogue.count("messages.units", in: Catalogue.fates, of: messages)
    lines.writer.number(units)
    lines.writer.literal(units == 1 ? " message" : " messages")
    ratio("messages.success", ", success ", messages, &lines)
    ratio("messages.loss", ", loss ", messages, &lines)
  }

  private func ratio(_ id: String, _ words: StaticString, _ messages: MessageTally, _ lines: inout JSONLines) {
    guard let ratio = Catalogue.value(id, in: Catalogue.ratios, of: messages)?.ratio else { return }
    lines.writer.literal(words)
    lines.writer.percent(ratio)
  }
}
