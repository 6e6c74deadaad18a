import IMMetrics
import IMWire

/// Figures as the parts of a line of text, in the order in which they are declared.
enum FigureWords {
  /// The parts of `line`, such as `3 retransmissions (1 fast)`; of direction `way`, where they have one.
  static func parts<Snapshot>(
    _ line: FigureText.Line, _ figures: [Figure<Snapshot>], _ snapshot: Snapshot, way: Int? = nil
  ) -> [String] {
    var parts: [String] = []
    var among: [String] = []
    func close() {
      if !among.isEmpty, let last = parts.popLast() { parts.append("\(last) (\(among.joined(separator: ", ")))") }
      among = []
    }
    for figure in figures {
      guard let text = figure.info.text, text.line == line else { continue }
      let all = 0..<(figure.info.dimensions.first?.values.count ?? 1)
      let range = way.map { $0..<$0 + 1 } ?? all
      guard case .count(let count)? = figure.value(snapshot, range, 0..<1) else { continue }
      let words = "\(grouped(count)) \(count == 1 ? text.one : text.many)"
      switch text.style {
      case .among: if count > 0 { among.append(words) }
      case .behind: if count > 0, let last = parts.popLast() { parts.append("\(last) of \(words)") }
      case .part, .always:
        close()
        if count > 0 || text.style == .always { parts.append(words) }
      }
    }
    close()
    return parts
  }
}
