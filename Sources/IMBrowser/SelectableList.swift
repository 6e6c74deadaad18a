/// A list of rows of which one is selected and some are seen. What is selected stays selected, by its identity, and in its place on the
/// screen, when the rows change.
package struct SelectableList<Item: Sendable, ID: Hashable & Sendable>: Sendable {
  private let idOf: @Sendable (Item) -> ID
  /// The rows.
  package private(set) var items: [Item] = []
  /// The index of the selected row; 0 in an empty list.
  package private(set) var index = 0
  /// The first row that is seen.
  package private(set) var top = 0
  /// Rows that are seen.
  package private(set) var height = 1

  /// Whether a row was chosen: until then the first one is selected, whichever it is.
  private var isChosen = false
  /// What is to be selected when other rows come, if it is among them.
  private var preferred: ID?

  /// An empty list of items that `id` tells apart.
  package init(id: @escaping @Sendable (Item) -> ID) { idOf = id }

  /// The selected row; `nil` in an empty list.
  package var selected: Item? { items.indices.contains(index) ? items[index] : nil }

  /// The rows that are seen.
  package var visible: Range<Int> { top..<min(items.count, top + height) }

  /// Puts other rows in place of these.
  package mutating func replace(_ items: [Item]) {
    let (id, screenRow) = (preferred ?? (isChosen ? selected.map(idOf) : nil), index - top)
    if preferred != nil { isChosen = true }
    preferred = nil
    self.items = items
    if let id, let found = items.firstIndex(where: { idOf($0) == id }) {
      index = found
      top = found - screenRow
    }
    settle()
  }

  /// Selects a row when other rows come, if it is among them.
  mutating func prefer(_ id: ID) { preferred = id }

  /// Shows so many rows.
  package mutating func resize(_ height: Int) {
    self.height = max(1, height)
    settle()
  }

  /// Selects the row so many further down, or the last one.
  package mutating func move(_ count: Int) {
    isChosen = true
    index = min(max(0, index + count), max(0, items.count - 1))
    settle()
  }

  /// Selects the row at an index, if there is one.
  package mutating func select(_ index: Int) {
    isChosen = true
    if items.indices.contains(index) { self.index = index }
    settle()
  }

  /// Keeps the selected row in sight, and no blank rows above or beneath where there are others.
  private mutating func settle() {
    index = min(max(0, index), max(0, items.count - 1))
    top = min(top, index)
    top = max(top, index - height + 1)
    top = max(0, min(top, items.count - height))
  }
}
