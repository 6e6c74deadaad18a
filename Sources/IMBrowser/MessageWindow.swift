import IMStore

/// The part of a list of messages that is in memory: pages of 50 around the one that is selected, 500 messages at most.
///
/// The list itself is in the store and may have millions. Pages are asked for by the numbers at the window's ends, before they are
/// seen. Whatever comes or goes, the selected message stays selected and stays in its row of the screen.
package struct MessageWindow: Sendable {
  /// Messages of a page; messages that are kept.
  package static let pageCount = 50, limit = 500

  /// Which messages are listed.
  package private(set) var choice = PageRequest.Choice()
  /// Which list this is: it counts up when other messages are listed.
  package private(set) var generation = 0
  /// The messages in memory, in the order of their numbers.
  package private(set) var items: [MessageItem] = []
  /// The rows that show them.
  package private(set) var rows = RowTable()
  /// The index of the selected message; 0 where there is none.
  package private(set) var focus = 0
  /// Whether no message is in front of these; whether none is behind them.
  package private(set) var isFirst = false, isLast = false
  /// The row of the screen in which the selected message is.
  package private(set) var screenRow = 0
  /// Rows of the screen.
  package private(set) var height = 1
  /// Where the list begins once its first page is there.
  private var start = PageRequest.Place.after(0)
  /// The page that is on its way.
  private var awaited: PageRequest?
  /// Whether the last message is selected whenever others come behind it.
  package private(set) var follows = false
  /// Whether messages may have come, or may be others than they were.
  private var hasNews = false
  /// Whether a page has come since the list was begun.
  package private(set) var isLoaded = false

  /// An empty window.
  package init() {}

  /// Whether there is a list at all.
  var isBegun: Bool { generation > 0 }

  /// The selected message; `nil` where there is none.
  package var selected: MessageItem? { items.indices.contains(focus) ? items[focus] : nil }

  /// The first row that is seen.
  package var top: Int { rows.row(of: focus) - screenRow }

  // MARK: Lists

  /// An empty window of the same size. Pages that are on their way to this one will not fit it.
  func emptied() -> MessageWindow {
    var window = MessageWindow()
    window.generation = generation
    window.height = height
    window.rows = rows
    window.rows.replace([])
    return window
  }

  /// Begins another list; what was in memory is seen until its first page comes.
  package mutating func open(_ choice: PageRequest.Choice, at place: PageRequest.Place = .after(0)) {
    self.choice = choice
    rows.tellsPauses = !choice.hidesMessages
    start = place
    generation += 1
    awaited = nil
    hasNews = false
    isLoaded = false
    (isFirst, isLast) = (false, false)
  }

  /// Begins the same list at another place.
  package mutating func restart(at place: PageRequest.Place) {
    if place != .before(.max) { follows = false }
    open(choice, at: place)
  }

  // MARK: Following

  /// From now on the last message is selected, also when others come, until another one is selected.
  package mutating func follow() {
    follows = true
    guard isLoaded, isLast else { return restart(at: .before(.max)) }
    focus = max(0, items.count - 1)
    screenRow = height - 1
    settle()
  }

  /// The selected message stays, whatever comes.
  package mutating func unfollow() { follows = false }

  /// Messages have come, and those in memory may be others than they were: all are read again.
  package mutating func refresh() {
    isLast = false
    hasNews = isLoaded
  }

  /// Whether the end of the list is on the screen.
  package var showsEnd: Bool { isLoaded && isLast && rows.count - top <= height }

  /// Messages may have come: the list does not end where it ended.
  package mutating func grow() { isLast = false }

  /// The page that is wanted next; `nil` while one is on its way, and where all that could be seen is there.
  package mutating func nextRequest() -> PageRequest? {
    guard awaited == nil else { return nil }
    let margin = Self.pageCount + height
    let place: PageRequest.Place
    var count = Self.pageCount
    if !isLoaded {
      place = start
      count = max(count, height)
    } else if hasNews {
      hasNews = false
      place = items.first.map { .from($0.message.id) } ?? .after(0)
      count += Self.limit
    } else if !isLast, focus + margin >= items.count {
      place = .after(items.last?.message.id ?? 0)
    } else if !isFirst, focus < margin, let first = items.first {
      place = .before(first.message.id)
    } else {
      return nil
    }
    awaited = PageRequest(generation: generation, choice: choice, place: place, count: count)
    return awaited
  }

  /// The page that was asked for could not be read: it is asked for no more.
  package mutating func fail() {
    awaited = nil
    (isLoaded, isFirst, isLast) = (true, true, true)
  }

  /// Takes a page. One for another list, or that nobody has asked for, is dropped; tells whether it was taken.
  package mutating func accept(_ answer: PageAnswer) -> Bool {
    guard let awaited, answer.request == awaited else { return false }
    self.awaited = nil
    if !isLoaded {
      isLoaded = true
      items = answer.items
      rows.replace(items)
      (isFirst, isLast) = (answer.isFirst, answer.isLast)
      begin(awaited.place)
    } else {
      switch awaited.place {
      case .before:
        items = answer.items + items
        rows.insert(answer.items, at: 0)
        focus += answer.items.count
        isFirst = answer.isFirst
      case .after, .around:
        rows.insert(answer.items, at: items.count)
        items += answer.items
        isLast = answer.isLast
      case .from: replace(answer)
      }
    }
    if follows { selectLast() }
    trim()
    settle()
    return true
  }

  /// Selects what a new list begins with.
  private mutating func begin(_ place: PageRequest.Place) {
    switch place {
    case .after, .from: (focus, screenRow) = (0, 0)
    case .before: (focus, screenRow) = (max(0, items.count - 1), height - 1)
    case .around(let id):
      focus = items.firstIndex { $0.message.id >= id } ?? max(0, items.count - 1)
      screenRow = min(screenRow, height - 1)
      if screenRow == 0 { screenRow = height / 2 }
    }
  }

  /// Takes what was read again. The selected message stays selected; one that is gone hands that on to the next.
  private mutating func replace(_ answer: PageAnswer) {
    let id = selected?.message.id ?? 0
    items = answer.items
    rows.replace(items)
    isLast = answer.isLast
    focus = items.firstIndex { $0.message.id >= id } ?? max(0, items.count - 1)
  }

  /// Goes to the end; where that is not in memory, it is read.
  private mutating func selectLast() {
    focus = max(0, items.count - 1)
    screenRow = height - 1
    if !isLast { restart(at: .before(.max)) }
  }

  /// Drops what is too much at the end that is further from the selected message.
  private mutating func trim() {
    let excess = items.count - Self.limit
    guard excess > 0 else { return }
    if focus >= items.count / 2 {
      items.removeFirst(excess)
      rows.remove(0..<excess)
      focus -= excess
      isFirst = false
    } else {
      items.removeLast(excess)
      rows.remove(items.count..<items.count + excess)
      isLast = false
    }
  }

  // MARK: Moving

  /// Shows so many rows.
  package mutating func resize(_ height: Int) {
    guard height != self.height else { return }
    self.height = max(1, height)
    settle()
  }

  /// What the rows are laid out for: where texts are wrapped, messages have rows for theirs.
  mutating func use(_ layout: RowLayout) {
    rows.use(layout)
    settle()
  }

  /// Takes texts that were wrapped, by their messages' numbers: nothing that is on the screen moves.
  mutating func take(_ texts: [Int64: [any RowViewModel]]) {
    guard !texts.isEmpty else { return }
    rows.take(texts)
    settle()
  }

  /// Selects the message so many further down, as far as messages are in memory. A text that is higher than the screen is read to its
  /// end first.
  package mutating func move(_ count: Int) {
    if count < 0 { follows = false }
    if !scrollsText(count) { select(focus + count) }
  }

  /// Selects the message so many rows further down: where texts are wrapped, that is not as many messages.
  package mutating func moveRows(_ count: Int) {
    guard rows.wrapped != nil, count != 0 else { return move(count) }
    if count < 0 { follows = false }
    if scrollsText(count) { return }
    rows.measure(around: focus, reach: abs(count) + 2 * height)
    let row = min(max(0, rows.row(of: focus) + count), max(0, rows.count - 1))
    let found = rows.owner(at: row) ?? rows.owner(at: row + 1) ?? focus
    var target = count > 0 ? max(found, focus + 1) : min(found, focus - 1)
    // No row is passed that was not on the screen.
    while abs(target - focus) > 1, shift(to: target) > height { target += count > 0 ? -1 : 1 }
    select(target)
  }

  /// Rows by which the screen moves when a message is selected.
  private func shift(to item: Int) -> Int {
    let (begin, count) = (rows.row(of: item) - top, rows.textHeight(of: item))
    if item > focus { return count > height ? begin : max(0, begin + count - height) }
    return count > height ? height - begin - count : max(0, -begin)
  }

  /// Moves within a text that is higher than the screen; false where there is none, or it ends.
  private mutating func scrollsText(_ count: Int) -> Bool {
    let rest = height - rows.textHeight(of: focus)
    guard rest < 0, abs(count) <= height else { return false }
    let row = min(max(screenRow - count, rest), 0)
    guard row != screenRow else { return false }
    screenRow = row
    return true
  }

  private mutating func select(_ item: Int) {
    let target = min(max(0, item), max(0, items.count - 1))
    screenRow += rows.row(of: target) - rows.row(of: focus)
    focus = target
    settle()
  }

  /// Selects the message that a row of the screen shows, if one does.
  package mutating func select(screenRow: Int) {
    guard let item = rows.owner(at: top + screenRow), items.indices.contains(item) else { return }
    follows = false
    self.screenRow += rows.row(of: item) - rows.row(of: focus)
    focus = item
    settle()
  }

  /// Selects a message; where it is not in memory, the list begins anew around it.
  package mutating func jump(to id: Int64) {
    follows = false
    if let found = items.firstIndex(where: { $0.message.id == id }), isLoaded {
      select(found)
    } else {
      restart(at: .around(id))
    }
  }

  // MARK: Unfolding

  /// Whether what is known of the selected message has rows beneath it.
  package var isUnfolded: Bool { rows.isUnfolded(focus) }

  /// Gives what is known of the selected message rows beneath it, which are seen as far as there is room. They go when the message
  /// leaves the memory.
  package mutating func unfold(_ fields: [StoredDetail]) {
    rows.unfold(focus, fields)
    let count = rows.rows(of: focus).upperBound - rows.row(of: focus)
    screenRow = min(screenRow, max(0, height - count))
    settle()
  }

  /// Takes those rows away.
  package mutating func fold() {
    rows.fold(focus)
    settle()
  }

  /// Keeps the selected message in sight, and no blank rows where there are messages.
  private mutating func settle() {
    rows.measure(around: focus, reach: 2 * height)
    let row = rows.row(of: focus)
    // Of a wrapped text as much as there is room for.
    let rest = rows.wrapped == nil ? height - 1 : height - rows.textHeight(of: focus)
    screenRow = min(max(min(0, rest), screenRow), max(0, rest))
    // Nothing stands above the first row.
    screenRow = min(screenRow, row)
    // Beneath the last one as little as there can be.
    let blank = height - (rows.count - (row - screenRow))
    if blank > 0 { screenRow = min(row, min(height - 1, screenRow + blank)) }
  }
}
