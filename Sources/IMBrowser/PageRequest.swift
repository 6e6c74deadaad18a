package import IMStore

/// A page of messages that is wanted.
package struct PageRequest: Equatable, Sendable {
  /// Where the page is.
  package enum Place: Equatable, Sendable {
    /// Behind the message with this number; 0 for the first page.
    case after(Int64)
    /// In front of it; `Int64.max` for the last page.
    case before(Int64)
    /// From it on, again: it and those behind it may be others than they were.
    case from(Int64)
    /// On both sides of it, with it in the middle.
    case around(Int64)
  }

  /// Which messages are listed.
  package struct Choice: Equatable, Sendable {
    /// Those of a session, a connection or with some problems.
    package var page = PageChoice()
    /// Those that a filter in the language of `-Y` lets through; empty for all.
    package var filter = ""

    /// Whether messages of the session or connection are left out.
    var hidesMessages: Bool { !filter.isEmpty || page.problems != [] || page.type != nil || page.topic != nil }

    /// All messages.
    package init() {}

    /// Those of `page`, through a filter.
    package init(_ page: PageChoice, filter: String = "") {
      self.page = page
      self.filter = filter
    }
  }

  /// Which list it is for: a page for another one than that shown is dropped.
  package var generation: Int
  /// Which messages are listed.
  package var choice: Choice
  /// Where the page is.
  package var place: Place
  /// Messages of the page, at most.
  package var count: Int
}

/// How many messages have come to a list, which is wanted.
package struct UpdatesRequest: Equatable, Sendable {
  /// Which messages are listed.
  package var choice: PageRequest.Choice
  /// The message behind which they are counted; `nil` to learn the last one first.
  package var after: Int64?
}

/// Messages that have come to a list.
package struct UpdatesAnswer: Equatable, Sendable {
  /// What was wanted.
  package var request: UpdatesRequest
  /// How many there are.
  package var count: Int
  /// The last of them.
  package var last: Int64

  /// An answer of its parts.
  package init(request: UpdatesRequest, count: Int, last: Int64) {
    self.request = request
    self.count = count
    self.last = last
  }
}

/// A page of messages.
package struct PageAnswer: Equatable, Sendable {
  /// What was wanted.
  package var request: PageRequest
  /// The messages, in the order of their numbers.
  package var items: [MessageItem]
  /// Whether no message is in front of the page; whether none is behind it.
  package var isFirst: Bool, isLast: Bool

  /// A page of its parts.
  package init(request: PageRequest, items: [MessageItem], isFirst: Bool, isLast: Bool) {
    self.request = request
    self.items = items
    self.isFirst = isFirst
    self.isLast = isLast
  }
}
