import IMOutput
import IMTerminal

/// What `imdump doctor` found about one thing.
struct Finding: Equatable {
  /// How it is.
  enum State: String {
    /// As it should be.
    case ok
    /// Works, with less than there could be.
    case note
    /// A capture would fail.
    case problem
  }

  /// What was looked at, in a word or two.
  let subject: String
  /// How it is.
  let state: State
  /// What was found.
  let text: String
  /// What to do about it.
  let advice: String?

  /// That all is well.
  static func ok(_ subject: String, _ text: String) -> Finding {
    Finding(subject: subject, state: .ok, text: text, advice: nil)
  }

  /// That something works with less than there could be.
  static func note(_ subject: String, _ text: String, advice: String? = nil) -> Finding {
    Finding(subject: subject, state: .note, text: text, advice: advice)
  }

  /// That a capture would fail.
  static func problem(_ subject: String, _ text: String, advice: String? = nil) -> Finding {
    Finding(subject: subject, state: .problem, text: text, advice: advice)
  }
}

extension [Finding] {
  /// A line for each, with what to do below it, in at most `width` columns.
  func lines(width: Int?) -> [String] {
    let column = 10
    return flatMap { finding in
      let mark =
        switch finding.state {
        case .ok: "ok      "
        case .note: "note    "
        case .problem: "PROBLEM "
        }
      let front = mark + finding.subject.padded(to: column) + " "
      let indent = String(repeating: " ", count: mark.count + column + 1)
      let room = width.map { Swift.max(20, $0 - indent.count) }
      let told = wrappedLines(finding.text, room) + (finding.advice.map { wrappedLines("-> " + $0, room) } ?? [])
      return told.enumerated().map { ($0.offset == 0 ? front : indent) + $0.element }
    }
  }

  /// One JSON object for each: `check`, `state`, `text` and `advice`.
  func write(json out: inout ByteWriter) {
    for finding in self {
      JSONLines.line(to: &out) { lines in
        lines.string("check", finding.subject)
        lines.name("state", finding.state.rawValue)
        lines.string("text", finding.text)
        if let advice = finding.advice { lines.string("advice", advice) }
      }
    }
  }
}

extension String {
  /// The text with spaces behind it, `width` cells wide where it is narrower.
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - cells(self)))
  }
}
