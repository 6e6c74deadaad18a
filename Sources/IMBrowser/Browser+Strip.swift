import IMOutput
import IMStore
import IMTerminal
import IMWire

/// The line of figures over time that is above every list, and what its brush does.
extension Browser {
  /// Puts small graphs in a row; `setsStep` says that a brush moves by their cells.
  mutating func putStrip(_ grid: inout Grid, row: Int, setsStep: Bool = true) {
    let series = timeline.series
    guard !series.isEmpty else {
      return putNoMetrics(&grid, row: row)
    }
    // The most important graphs that have at least eight cells each.
    var shown = series
    func labels(_ shown: [Timeline.Series]) -> Int { shown.reduce(0) { $0 + cells($1.name) + cells($1.peak) + 4 } }
    while shown.count > 1, (grid.width - labels(shown)) / shown.count < 8 { shown.removeLast() }
    let count = timeline.figures?.periods.count ?? 0
    let room = max(4, (grid.width - labels(shown)) / shown.count)
    let width = max(1, min(room, (count + graph.columns - 1) / graph.columns))
    if setsStep { timeline.step = max(1, count / width) }
    var at = 0
    for one in shown {
      at += 1 + grid.put(one.name, row: row, column: at + 1, style: Style(.faint))
      at += 1 + grid.put(one.peak, row: row, column: at + 1)
      let values = Timeline.columns(one.values, width * graph.columns, isSum: one.isSum)
      grid.put(graph.draw(values), row: row, column: at + 1, style: Style(one.color))
      if let brush = timeline.brush {
        let begin = brush.lowerBound * width / count
        let end = max(begin + 1, (brush.upperBound * width + count - 1) / count)
        grid.restyle(row: row, columns: at + 1 + begin..<at + 1 + min(width, end)) { $0.with(.reverse) }
      }
      at += width + 2
    }
  }

  /// Says why nothing is drawn over time.
  func putNoMetrics(_ grid: inout Grid, row: Int) {
    let text = progress.isLoading || progress.isLive ? " no metrics yet" : " no metrics over time"
    grid.put(text, row: row, column: 0, style: Style(.faint))
  }

  /// The time of the brush, or else of the filter, in words; `nil` without either.
  var timesText: String? {
    if let brushed = timeline.brushed { return "range: \(text(brushed))   Enter: only this range   Esc: cancel" }
    return times.map { "time: \(text($0))" }
  }

  private func text(_ range: Range<Timestamp>) -> String {
    "\(MessageItem.clock(range.lowerBound, zone).prefix(8)) to \(MessageItem.clock(range.upperBound, zone).prefix(8))"
  }

  // MARK: Keys

  /// Moves the brush; puts one on the selected message's time where there is none.
  mutating func moveBrush(_ cells: Int) {
    if timeline.brush == nil {
      timeline.beginBrush(at: selectedMoment, isForward: cells > 0)
      if timeline.brush == nil { note = "there are no metrics over time yet" }
    } else {
      timeline.moveBrush(cells)
    }
  }

  /// Makes the brush longer or shorter.
  mutating func widenBrush(_ cells: Int) {
    if timeline.brush == nil { moveBrush(1) } else { timeline.widenBrush(cells) }
  }

  /// Takes Enter and Escape while there is a brush, and Escape while there is a filter by time; tells whether it did.
  mutating func takesForTimes(_ key: Key, at now: Duration) -> Bool {
    guard timeline.brush != nil else { return false }
    switch key.code {
    case .enter: setTimes(timeline.brushed, at: now)
    case .escape: timeline.dropBrush()
    default: return false
    }
    return true
  }

  /// When what is selected began.
  var selectedMoment: Timestamp? {
    switch screen {
    case .sessions: sessions.selected?.first
    case .messages: messages.selected?.message.time
    case .ladder: ladder.list.selected?.message.time
    case .frame: framed?.time
    case .problems: problems.selected?.first
    case .connections: connections.rows.selected?.first
    case .types: nil
    }
  }

  /// Shows only what was in a time, or everything. What is selected stays selected; where it is not in the time, it is selected again
  /// when everything is shown, unless somebody has moved meanwhile.
  mutating func setTimes(_ range: Range<Timestamp>?, at now: Duration) {
    timeline.dropBrush()
    guard range != times else { return }
    if times == nil { cursorBefore = Cursor(self) }
    times = range
    timesScreen = screen
    sessionSignal.change(at: now) { $0.order.times = range }
    stripSignal.change(at: now) { $0.times = range }
    connections.signal.change(at: now) { $0.times = range }
    types.signal.change(at: now) { $0.times = range }
    problemsAwaited = false
    let before = range == nil ? cursorBefore : Cursor(self)
    if range == nil { cursorBefore = nil }
    if let id = before?.session { sessions.prefer(id) }
    if messages.isBegun {
      var choice = messages.choice
      choice.page.times = range
      let id = before?.message ?? messages.selected?.message.id
      messages.open(choice, at: id.map { .around($0) } ?? .after(0))
    }
    if ladder.isBegun {
      var choice = ladder.choice
      choice.times = range
      let id = before?.ladder ?? ladder.list.selected?.message.id
      ladder.open(choice, at: id.map { .around($0) } ?? .after(0))
    }
  }

  /// Whether there is a filter by time that was set on this screen, where the key that leads back takes it away.
  var limitsTimes: Bool { times != nil && timesScreen == screen }

  /// Somebody has moved on the screen: there is no way back to what was selected before the filter by time.
  mutating func cursorMoved() {
    switch screen {
    case .sessions: cursorBefore?.session = nil
    case .messages: cursorBefore?.message = nil
    case .ladder: cursorBefore?.ladder = nil
    case .problems, .connections, .types, .frame: break
    }
  }
}

/// What is selected on the screens.
struct Cursor: Equatable, Sendable {
  var session: Int64?
  var message: Int64?
  var ladder: Int64?

  init(_ browser: Browser) {
    session = browser.sessions.selected?.id
    message = browser.messages.selected?.message.id
    ladder = browser.ladder.list.selected?.message.id
  }
}
