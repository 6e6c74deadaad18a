import IMTerminal

/// A kind of row in the list of messages. Whoever paints knows rows by this alone.
///
/// A kind is a type that conforms, and its line in `RowKinds.all`.
protocol RowViewModel: Sendable {
  /// Where rows of this kind stand.
  static var place: RowPlace { get }
  /// The rows of this kind that a message has; empty for none.
  static func rows(_ context: RowContext) -> [any RowViewModel]
  /// The row's text and how it looks, part by part.
  func parts(_ layout: RowLayout) -> [RowPart]
}

/// Where rows stand that a message has.
enum RowPlace: Hashable, Sendable {
  /// In front of the message's own row.
  case before
  /// The message's own row. The first kind of `RowKinds.all` that has one makes it.
  case line
  /// Beneath it, where the message's text is wrapped.
  case text
  /// Beneath both, while the message is unfolded.
  case beneath
}

/// What the rows of a message are made of.
struct RowContext: Sendable {
  /// The message.
  let item: MessageItem
  /// The message in front of it in the list; `nil` for the first one.
  let previous: MessageItem?
  /// What is known of it, name by name, while it is unfolded; `nil` while it is not.
  let fields: [StoredDetail]?
  /// What rows are laid out for where texts are wrapped; `nil` where they are cut.
  var wrapped: RowLayout?
}

/// Something that is known of a message.
package struct StoredDetail: Equatable, Sendable {
  /// Its name in the store's view `messages`.
  package let name: String
  /// The value as text.
  package let value: String

  /// A field of its parts.
  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
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
package struct RowLayout: Hashable, Sendable {
  /// Cells of a row.
  var width: Int
  /// Whether messages of several clients are listed.
  var showsClient: Bool
  /// Whether texts that do not fit have rows of their own.
  var wraps = false
  /// Whether topics and what messages say are shown.
  var showsTexts = true
  /// Whether the store has topics.
  var hasTopics = false

  /// Whether topics are beside types: in a narrow row they are in front of the text.
  var hasTopicColumn: Bool { showsTexts && hasTopics && width >= 110 }
}

/// The kinds of rows.
enum RowKinds {
  /// All of them, in the order in which the rows of one place stand.
  static let all: [any RowViewModel.Type] = [
    PauseRow.self, ErrorRow.self, RetryRow.self, HeartbeatRow.self, AnsweredRow.self, MessageRow.self,
    TextRow.self, FrameHeaderRow.self, CopyRow.self, FieldRow.self,
  ]

  /// The rows of a place that a message has.
  static func rows(_ place: RowPlace, _ context: RowContext) -> [any RowViewModel] {
    var rows: [any RowViewModel] = []
    for kind in all where kind.place == place {
      rows += kind.rows(context)
      if place == .line, !rows.isEmpty { break }
    }
    return rows
  }
}
