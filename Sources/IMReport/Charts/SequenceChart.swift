import IMEngine
import IMOutput
import IMWire

/// The numbers of a connection's messages over time, and when they were answered.
enum SequenceChart {
  /// A message or an answer.
  private struct Mark {
    var at: Timestamp
    var y: Double
    var step: Ladder.Step
  }

  /// Whether a connection has enough numbers to draw.
  static func isUseful(_ ladder: Ladder) -> Bool { numbers(ladder).count > 1 }

  /// The numbers of messages, in their order: each takes the same room, since protocols count by more than one, or by several counters.
  private static func numbers(_ ladder: Ladder) -> [UInt64] {
    var seen: Set<UInt64> = []
    return ladder.rows.compactMap { row -> UInt64? in
      guard case .step(let step) = row.event, step.copy > 0, let number = step.sequence, seen.insert(number).inserted
      else { return nil }
      return number
    }.sorted()
  }

  static func draw(_ ladder: Ladder, _ zone: LocalZone, _ page: inout Markup) {
    let numbers = numbers(ladder)
    guard let first = ladder.rows.first?.at, let last = ladder.rows.last?.at, numbers.count > 1 else { return }
    let plot = Plot(height: 320, left: 110)
    // Marks at the ends stand inside.
    let room = last.nanoseconds(since: first) / 50
    let axis = TimeAxis(first.advanced(by: -room), last.advanced(by: room), plot, zone)
    var places: [UInt64: Double] = [:]
    for (i, number) in numbers.enumerated() {
      places[number] = plot.bottom - 10 - (plot.bottom - plot.top - 20) * Double(i) / Double(numbers.count - 1)
    }
    let steps = ladder.rows.compactMap { row -> Mark? in
      guard case .step(let step) = row.event, let number = step.sequence, let y = places[number] else { return nil }
      return Mark(at: row.at, y: y, step: step)
    }
    page.raw("<svg role=\"img\" viewBox=\"0 0 960 320\" aria-labelledby=\"seq")
    page.number(ladder.serial)
    page.raw("\"><title id=\"seq")
    page.number(ladder.serial)
    page.raw("\">")
    let copies = steps.filter { $0.step.copy > 1 }.count
    page.text(
      "Sequence numbers over time of connection #\(ladder.serial): \(count(UInt64(numbers.count), "message")), \(copies) further \(copies == 1 ? "copy" : "copies"). The ladder has the same data as text."
    )
    page.raw("</title>")
    axis.draw(plot, &page)
    for i in stride(from: 0, to: numbers.count, by: max(1, (numbers.count + 7) / 8)) {
      plot.rule(places[numbers[i]] ?? plot.bottom, String(numbers[i]), &page)
    }
    // From a message's first copy to its first answer.
    var sent: [UInt64: Timestamp] = [:]
    page.raw("<path class=\"await\" d=\"")
    for mark in steps {
      guard let number = mark.step.sequence else { continue }
      if mark.step.copy == 1 { sent[number] = mark.at }
      guard mark.step.latency != nil, let from = sent[number] else { continue }
      page.raw("M")
      page.place(axis.place(from))
      page.raw(" ")
      page.place(mark.y)
      page.raw("H")
      page.place(axis.place(mark.at))
    }
    page.raw("\"/>")
    marks(steps.filter { $0.step.copy == 1 && $0.step.fate.map(\.isFailure) != true }, "dots", .dot, axis, &page)
    marks(
      steps.filter { $0.step.facts.contains(.answer) && !$0.step.facts.contains(.repeatedAnswer) }, "ack", .tick, axis,
      &page)
    marks(steps.filter { $0.step.facts.contains(.repeatedAnswer) }, "dup", .tick, axis, &page)
    marks(steps.filter { $0.step.copy > 1 }, "retry", .letter, axis, &page)
    marks(steps.filter { $0.step.copy == 1 && $0.step.fate.map(\.isFailure) == true }, "miss", .cross, axis, &page)
    page.raw("</svg>")
  }

  private enum Form { case dot, tick, cross, letter }

  private static func marks(_ marks: [Mark], _ kind: StaticString, _ form: Form, _ axis: TimeAxis, _ page: inout Markup)
  {
    if form == .letter {
      for mark in marks {
        Plot.label(
          mark.step.facts.contains(.duplicate) ? "D" : "R", axis.place(mark.at), mark.y - 5, "middle", kind, &page)
      }
      return
    }
    page.raw("<path class=\"")
    page.raw(kind)
    page.raw("\" d=\"")
    for mark in marks {
      let (x, y) = (axis.place(mark.at), mark.y)
      page.raw("M")
      page.place(form == .cross ? x - 4 : x)
      page.raw(" ")
      page.place(form == .dot ? y : y - 4)
      switch form {
      case .dot, .letter: page.raw("h0")
      case .tick: page.raw("v8")
      case .cross: page.raw("l8 8m0-8l-8 8")
      }
    }
    page.raw("\"/>")
  }
}
