import IMStore

/// The rows that show messages, and which message each of them shows: a message may stand beneath a row that tells of a pause, and
/// above those that tell more of it.
///
/// Where texts are wrapped, messages have rows for theirs. How many is exact around the message that is selected, and estimated elsewhere
/// until the text was wrapped, which another thread does.
///
/// It follows each change of the list, and holds what it would hold if it were made anew: a change costs what changes, and a
/// number for each message behind it.
package struct RowTable: Sendable {
  /// A row's name: it is the same as long as the row shows the same.
  package struct Key: Hashable, Sendable {
    /// The message, by its number in the store.
    let message: Int64
    let place: RowPlace
    /// Which of the message's rows at that place.
    let number: Int
  }

  /// A message with its rows.
  private struct Block {
    let item: MessageItem
    var fields: [StoredDetail]?
    var before: [any RowViewModel] = []
    var own: [any RowViewModel] = []
    var text: [any RowViewModel] = []
    /// How many rows the text has by its size; `nil` where `text` has them.
    var estimate: Int?

    var textCount: Int { estimate ?? text.count }
    var count: Int { before.count + own.count + textCount }
  }

  private var blocks: [Block] = []
  /// The first row of each message.
  private var starts: [Int] = []
  /// How many rows there are.
  package private(set) var count = 0
  /// Counts up when rows may show something else under the same name.
  private(set) var version = 0
  /// What texts are wrapped for; `nil` where they are cut.
  private(set) var wrapped: RowLayout?

  /// Whether pauses have rows: not where the list hides messages, which may have come meanwhile.
  var tellsPauses = true

  /// The rows of messages. Of those that are unfolded, `fields` has what is known, by their numbers.
  init(_ items: [MessageItem] = [], unfolded fields: [Int64: [StoredDetail]] = [:], tellsPauses: Bool = true) {
    self.tellsPauses = tellsPauses
    blocks = items.map { Block(item: $0, fields: fields[$0.message.id]) }
    for index in blocks.indices { make(index) }
    count(from: 0)
  }

  /// How many messages there are.
  var itemCount: Int { blocks.count }

  // MARK: Changes

  /// Puts messages in front of the one at `index`, or behind all.
  mutating func insert(_ items: [MessageItem], at index: Int) {
    guard !items.isEmpty, (0...blocks.count).contains(index) else { return }
    blocks.insert(contentsOf: items.map { Block(item: $0) }, at: index)
    for new in index..<index + items.count { make(new) }
    makeBefore(index + items.count)
    count(from: index)
  }

  /// Puts other messages in place of all: some may be the same, and others than they were. Those that were unfolded stay so.
  mutating func replace(_ items: [MessageItem]) {
    var fields: [Int64: [StoredDetail]] = [:]
    for block in blocks where block.fields != nil { fields[block.item.message.id] = block.fields }
    var texts: [Int64: [any RowViewModel]] = [:]
    var known: [Int64: String] = [:]
    for block in blocks where block.estimate == nil && !block.text.isEmpty {
      (texts[block.item.message.id], known[block.item.message.id]) = (block.text, block.item.text)
    }
    let (version, wrapped) = (version, wrapped)
    self = RowTable(items, unfolded: fields, tellsPauses: tellsPauses)
    self.version = version + 1
    guard let wrapped else { return }
    use(wrapped)
    for item in items where known[item.message.id] != item.text { texts[item.message.id] = nil }
    take(texts)
  }

  /// Takes messages out.
  mutating func remove(_ range: Range<Int>) {
    let range = range.clamped(to: blocks.indices)
    guard !range.isEmpty else { return }
    blocks.removeSubrange(range)
    makeBefore(range.lowerBound)
    count(from: range.lowerBound)
  }

  /// Unfolds the message at `index`: rows beneath it tell `fields`.
  mutating func unfold(_ index: Int, _ fields: [StoredDetail]) {
    guard blocks.indices.contains(index) else { return }
    blocks[index].fields = fields
    makeOwn(index)
    count(from: index)
  }

  /// Folds the message at `index` again.
  mutating func fold(_ index: Int) {
    guard blocks.indices.contains(index), blocks[index].fields != nil else { return }
    blocks[index].fields = nil
    makeOwn(index)
    count(from: index)
  }

  /// Whether the message at `index` is unfolded.
  package func isUnfolded(_ index: Int) -> Bool { blocks.indices.contains(index) && blocks[index].fields != nil }

  private mutating func make(_ index: Int) {
    makeBefore(index)
    makeOwn(index)
  }

  /// The rows in front of a message, which depend on the message in front of them.
  private mutating func makeBefore(_ index: Int) {
    guard blocks.indices.contains(index) else { return }
    blocks[index].before = RowKinds.rows(.before, context(index))
  }

  private mutating func makeOwn(_ index: Int) {
    let context = context(index)
    blocks[index].own = RowKinds.rows(.line, context)
    if context.fields != nil { blocks[index].own += RowKinds.rows(.beneath, context) }
    guard blocks[index].text.isEmpty, blocks[index].estimate == nil else { return }
    blocks[index].estimate = estimate(index)
  }

  private func context(_ index: Int) -> RowContext {
    RowContext(
      item: blocks[index].item, previous: index > 0 && tellsPauses ? blocks[index - 1].item : nil,
      fields: blocks[index].fields,
      wrapped: wrapped)
  }

  /// Counts rows anew, from a message on.
  private mutating func count(from index: Int) {
    starts.removeSubrange(min(index, starts.count)...)
    count = index > 0 ? starts[index - 1] + blocks[index - 1].count : 0
    for block in blocks[index...] {
      starts.append(count)
      count += block.count
    }
  }

  // MARK: Wrapping

  /// Wraps texts for `layout`, or cuts them where it says so. How many rows they have is estimated.
  mutating func use(_ layout: RowLayout) {
    let wanted = layout.wraps ? layout : nil
    guard wanted != wrapped else { return }
    wrapped = wanted
    for index in blocks.indices { (blocks[index].text, blocks[index].estimate) = ([], estimate(index)) }
    count(from: 0)
  }

  private func estimate(_ index: Int) -> Int? {
    guard let wrapped, blocks[index].item.wraps(in: wrapped) else { return nil }
    return TextRow.estimate(blocks[index].item, wrapped)
  }

  /// Wraps the texts of a message and of those around it, as far as `reach` rows are from it: what is on the screen is no estimate.
  mutating func measure(around item: Int, reach: Int) {
    guard wrapped != nil, blocks.indices.contains(item) else { return }
    var changed = blocks.count
    func measure(_ index: Int, _ rows: inout Int) {
      if blocks[index].estimate != nil {
        (blocks[index].text, blocks[index].estimate) = (RowKinds.rows(.text, context(index)), nil)
        changed = min(changed, index)
      }
      rows += blocks[index].count
    }
    var (rows, index) = (0, item)
    while index < blocks.count, rows <= reach {
      measure(index, &rows)
      index += 1
    }
    (rows, index) = (0, item - 1)
    while index >= 0, rows <= reach {
      measure(index, &rows)
      index -= 1
    }
    if changed < blocks.count { count(from: changed) }
  }

  /// Takes the rows of texts that were wrapped, by their messages' numbers.
  mutating func take(_ texts: [Int64: [any RowViewModel]]) {
    guard !texts.isEmpty else { return }
    for index in blocks.indices where blocks[index].estimate != nil {
      guard let rows = texts[blocks[index].item.message.id] else { continue }
      (blocks[index].text, blocks[index].estimate) = (rows, nil)
    }
    count(from: 0)
  }

  /// The messages whose texts are not wrapped yet, nearest to a row first.
  func estimated(near row: Int) -> [MessageItem] {
    let middle = block(min(max(0, row), max(0, count - 1))) ?? 0
    let found = blocks.indices.filter { blocks[$0].estimate != nil }
    return found.sorted { (abs($0 - middle), $0) < (abs($1 - middle), $1) }.map { blocks[$0].item }
  }

  // MARK: What rows show

  /// The row of a message, by its index; 0 where there is none.
  package func row(of item: Int) -> Int {
    blocks.indices.contains(item) ? starts[item] + blocks[item].before.count : 0
  }

  /// The rows of a message, by its index, with those in front of it and beneath it.
  package func rows(of item: Int) -> Range<Int> {
    blocks.indices.contains(item) ? starts[item]..<starts[item] + blocks[item].count : 0..<0
  }

  /// The message that a row shows, by its index; `nil` where the row is in front of one or beneath it.
  package func item(at row: Int) -> Int? {
    guard let index = block(row), row == starts[index] + blocks[index].before.count else { return nil }
    return index
  }

  /// The message that a row tells of: that of its own row, its text or what stands beneath; `nil` for rows in front of one.
  package func owner(at row: Int) -> Int? {
    guard let index = block(row), row >= starts[index] + blocks[index].before.count else { return nil }
    return index
  }

  /// Rows of a message's own row and of its text.
  func textHeight(of item: Int) -> Int { blocks.indices.contains(item) ? 1 + blocks[item].textCount : 1 }

  /// The message that a row belongs to.
  private func block(_ row: Int) -> Int? {
    guard (0..<count).contains(row) else { return nil }
    var (low, high) = (0, starts.count)
    while high - low > 1 {
      let middle = (low + high) / 2
      if starts[middle] <= row { low = middle } else { high = middle }
    }
    return low
  }

  /// What a row shows, and its name; `nil` where there is none, or only an estimate.
  func model(at row: Int) -> (key: Key, model: any RowViewModel)? {
    guard let index = block(row) else { return nil }
    let block = blocks[index]
    let number = row - starts[index]
    if number < block.before.count {
      return (Key(message: block.item.message.id, place: .before, number: number), block.before[number])
    }
    var own = number - block.before.count
    if own > block.textCount {
      own -= block.textCount
    } else if own > 0 {
      guard block.estimate == nil else { return nil }
      return (Key(message: block.item.message.id, place: .text, number: own), block.text[own - 1])
    }
    let place = own == 0 ? RowPlace.line : .beneath
    return (Key(message: block.item.message.id, place: place, number: own), block.own[own])
  }
}
