import IMStore
import IMTerminal

/// Rows as the cells that they take, laid out before they are seen.
///
/// Another thread lays out the rows around those that are seen, nearest first; a row that is seen before it is there is laid out
/// while the screen is painted. Either way each row is laid out once for a width, and a frame copies cells.
package struct RowCache: Sendable {
  /// Rows that are kept, at most; behind that those go that the list does not have any more.
  private static let limit = 4_000

  private var layout: RowLayout?
  private var version = -1
  private var made: [RowTable.Key: CellRow] = [:]
  private var serial = 0
  private var isAwaited = false
  /// Whether rows may have come that are not laid out.
  private var isBehind = false
  /// Rows that were laid out while the screen was painted, and those that were there.
  package private(set) var madeWhilePainting = 0, found = 0

  /// No rows.
  package init() {}

  /// Whether `nextRequest` has something to look for.
  var isWanting: Bool { layout != nil && isBehind && !isAwaited }

  /// How many rows are laid out.
  package var count: Int { made.count }

  /// What follows is painted for `layout`; the rows are those of a table of this version.
  mutating func use(_ layout: RowLayout, version: Int) {
    guard layout != self.layout || version != self.version else { return }
    (self.layout, self.version) = (layout, version)
    forget()
  }

  /// Rows of the list have changed.
  mutating func change() { isBehind = true }

  private mutating func forget() {
    made.removeAll(keepingCapacity: true)
    serial += 1
    (isAwaited, isBehind) = (false, true)
  }

  /// The cells of a row.
  mutating func cells(_ key: RowTable.Key, _ model: any RowViewModel, _ layout: RowLayout) -> CellRow {
    if let row = made[key] {
      found += 1
      return row
    }
    madeWhilePainting += 1
    let row = model.laidOut(layout)
    made[key] = row
    return row
  }

  /// Rows that are no longer what they were: those of a message that was folded or unfolded.
  mutating func forget(_ message: Int64) {
    for key in made.keys where key.message == message { made[key] = nil }
    isBehind = true
  }

  /// The rows that are wanted, nearest to those that are seen first; `nil` where all are there or on their way.
  mutating func nextRequest(_ rows: RowTable, seen: Range<Int>) -> RowsRequest? {
    guard let layout, isBehind, !isAwaited else { return nil }
    isBehind = false
    if made.count > Self.limit { made.removeAll(keepingCapacity: true) }
    var wanted: [RowsRequest.Row] = []
    // Those that are seen are painted before an answer could come.
    for distance in 0..<max(rows.count - seen.lowerBound, seen.lowerBound) {
      for row in [seen.upperBound + distance, seen.lowerBound - 1 - distance] {
        guard let (key, model) = rows.model(at: row), made[key] == nil else { continue }
        wanted.append(RowsRequest.Row(key: key, model: model))
      }
    }
    let texts = rows.estimated(near: seen.lowerBound)
    guard !wanted.isEmpty || !texts.isEmpty else { return nil }
    serial += 1
    isAwaited = true
    return RowsRequest(serial: serial, layout: layout, rows: wanted, texts: texts)
  }

  /// Takes rows that were laid out. Those for another width or list are dropped; tells whether they were taken.
  @discardableResult
  package mutating func accept(_ answer: RowsAnswer) -> Bool {
    guard answer.serial == serial else { return false }
    made.merge(answer.rows) { _, new in new }
    if answer.isLast { isAwaited = false }
    return true
  }

  /// They could not be laid out: whoever paints does it.
  mutating func fail(_ request: RowsRequest) {
    if request.serial == serial { isAwaited = false }
  }
}

/// Rows that are to be laid out.
package struct RowsRequest: Equatable, Sendable {
  struct Row: Sendable {
    let key: RowTable.Key
    let model: any RowViewModel
  }

  /// Rows of an answer: few, so that the first ones are there soon.
  private static let step = 64

  /// Counts up with the requests of a book.
  let serial: Int
  let layout: RowLayout
  let rows: [Row]
  /// Messages whose texts are to be wrapped.
  var texts: [MessageItem] = []

  /// Requests of a book are the same by their numbers.
  package static func == (a: RowsRequest, b: RowsRequest) -> Bool { a.serial == b.serial }

  /// Lays the rows out and hands them to `take`, some at a time. Ends when `isStale` says that nobody wants them any more.
  package func layOut(isStale: () -> Bool = { false }, _ take: (RowsAnswer) -> Void) {
    var first = 0
    let count = rows.count + texts.count
    while first < count, !isStale() {
      let end = min(count, first + Self.step)
      var answer = RowsAnswer(serial: serial, rows: [:], isLast: end == count)
      for place in first..<end {
        if place < rows.count {
          answer.rows[rows[place].key] = rows[place].model.laidOut(layout)
        } else {
          wrap(texts[place - rows.count], &answer)
        }
      }
      take(answer)
      first = end
    }
  }

  private func wrap(_ item: MessageItem, _ answer: inout RowsAnswer) {
    let models = RowKinds.rows(.text, RowContext(item: item, previous: nil, fields: nil, wrapped: layout))
    answer.texts[item.message.id] = models
    for (i, model) in models.enumerated() {
      answer.rows[RowTable.Key(message: item.message.id, place: .text, number: i + 1)] = model.laidOut(layout)
    }
  }
}

/// Rows that were laid out.
package struct RowsAnswer: Sendable {
  let serial: Int
  var rows: [RowTable.Key: CellRow]
  /// The rows of texts that were wrapped, by their messages' numbers.
  var texts: [Int64: [any RowViewModel]] = [:]
  /// Whether no others of the request follow.
  let isLast: Bool
}

extension RowViewModel {
  /// The row as cells.
  func laidOut(_ layout: RowLayout) -> CellRow {
    var grid = Grid(width: layout.width, height: 1)
    grid.put(parts(layout), row: 0, width: layout.width)
    return grid.cellRow(0)
  }
}

extension Grid {
  /// Puts the parts of a row beside one another, from the left edge on.
  mutating func put(_ parts: [RowPart], row: Int, width: Int) {
    var at = 0
    for part in parts where at < width {
      if let cells = part.width {
        put(
          fitted: part.text, row: row, column: at, width: min(cells, width - at), isRight: part.isRight,
          style: part.style)
        at += cells + 1
      } else {
        let room = width - at
        let text = cells(plainText(String(part.text.unicodeScalars.prefix(room * 8))))
        put(fitted: part.text, row: row, column: at, width: room, style: part.style)
        at += min(room, text) + 2
      }
    }
  }
}
