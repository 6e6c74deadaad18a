import IMTerminal

/// A kind of row in the list of messages. Whoever paints knows rows by this alone.
protocol RowViewModel: Sendable {
  /// The row's text and how it looks, part by part.
  func parts(_ layout: RowLayout) -> [RowPart]
}

/// Text of one style, in a column of fixed width or as long as it is.
struct RowPart: Equatable, Sendable {
  var text: String
  var style: Style
  /// Cells that it takes, however long the text is; `nil` for as many as that.
  var width: Int?
  /// Whether it stands at its column's right end.
  var isRight = false
}

/// What rows are laid out for.
struct RowLayout: Equatable, Sendable {
  /// Cells of a row.
  var width: Int
  /// Whether messages of several clients are listed.
  var showsClient: Bool
}

/// The rows that show messages, and which message each of them shows: a message may stand beneath a row that tells of a pause.
package struct RowTable: Sendable {
  /// A row that shows the message with this index, or what is in front of it.
  private struct Entry {
    let item: Int
    let model: any RowViewModel
    let isMessage: Bool
  }

  private var entries: [Entry] = []
  /// The row of each message, and how many rows it has.
  private var rowOf: [Int] = [], heightOf: [Int] = []

  /// No rows.
  init() {}

  /// The rows of messages. `texts` are the rows of each message's text, where texts have rows of their own.
  init(_ items: [MessageItem], texts: TextRows? = nil) {
    for (i, item) in items.enumerated() {
      if i > 0, let pause = PauseRow(between: items[i - 1], and: item) {
        entries.append(Entry(item: i, model: pause, isMessage: false))
      }
      rowOf.append(entries.count)
      let text = texts?.rows(of: item) ?? []
      heightOf.append(1 + text.count)
      entries.append(Entry(item: i, model: MessageRow(item: item, showsText: texts == nil), isMessage: true))
      for row in text { entries.append(Entry(item: i, model: TextRow(text: row), isMessage: true)) }
    }
  }

  /// How many rows there are.
  package var count: Int { entries.count }

  /// The first row of a message, by its index; 0 where there is none.
  package func row(of item: Int) -> Int { rowOf.indices.contains(item) ? rowOf[item] : 0 }

  /// How many rows a message has, by its index; 1 where there is none.
  package func height(of item: Int) -> Int { heightOf.indices.contains(item) ? heightOf[item] : 1 }

  /// The message that a row shows, by its index; `nil` where the row shows none.
  package func item(at row: Int) -> Int? {
    entries.indices.contains(row) && entries[row].isMessage ? entries[row].item : nil
  }

  /// What a row shows; `nil` where there is none.
  func model(at row: Int) -> (any RowViewModel)? { entries.indices.contains(row) ? entries[row].model : nil }
}
