import IMMetrics
import IMWire

/// Figures as the parts of a line of text, in the order in which they are declared.
enum FigureWords {
  /// The parts of `line`, such as `3 retransmissions (1 fast)`; of direction `way`, where they have one. `remark` adds words to
  /// the part of a named value, beside those that the figure has for it.
  static func parts<Snapshot>(
    _ line: FigureText.Line, _ figures: [Figure<Snapshot>], _ snapshot: Snapshot, way: Int? = nil,
    remark: (String) -> String? = { _ in nil }
  ) -> [String] {
    var parts: [String] = []
    var among: [String] = []
    func close() {
      if !among.isEmpty, let last = parts.popLast() { parts.append("\(last) (\(among.joined(separator: ", ")))") }
      among = []
    }
    for figure in figures {
      guard let text = figure.info.text, text.line == line else { continue }
      if case .named(let words) = text.style {
        close()
        for (place, value) in (figure.info.dimensions.last?.values ?? []).enumerated() {
          guard case .count(let count)? = figure.value(snapshot, place..<place + 1, 0..<1), count > 0 else { continue }
          let words = remark(value.name) ?? (place < words.count ? words[place] : nil)
          parts.append("\(value.name) \(grouped(count))" + (words.map { " (\($0))" } ?? ""))
        }
        continue
      }
      let all = 0..<(figure.info.dimensions.first?.values.count ?? 1)
      let range = way.map { $0..<$0 + 1 } ?? all
      guard case .count(let count)? = figure.value(snapshot, range, 0..<1) else { continue }
      let words = "\(grouped(count)) \(count == 1 ? text.one : text.many)"
      switch text.style {
      case .among: if count > 0 { among.append(words) }
      case .behind: if count > 0, let last = parts.popLast() { parts.append("\(last) of \(words)") }
      case .part, .always:
        close()
        if count > 0 || text.isAlways { parts.append(words) }
      case .labelled:
        close()
        if count > 0 { parts.append("\(text.one) \(grouped(count))") }
      case .named: break
      }
    }
    close()
    return parts
  }
}
