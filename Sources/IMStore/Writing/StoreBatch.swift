package import IMEngine
package import IMOutput

/// Messages and issues on their way to the writer: what one transaction writes.
///
/// Whoever fills it calls `seal` before it hands it on, and touches none of its records again; so another thread may take it.
package struct StoreBatch: @unchecked Sendable {
  /// A message, and what became of it.
  package struct Message {
    fileprivate(set) var record: MessageRecord
    let exchange: Exchange
    /// Whether its fate is final, and nothing of it changes any more.
    let isFinal: Bool
  }

  /// An issue, and where.
  package struct StreamIssue {
    let issue: Issue
    let connection: ConnectionInfo
  }

  private(set) var messages: [Message] = []
  private(set) var issues: [StreamIssue] = []
  /// Where those of `messages` are whose fates may still change, by `Exchange.id`.
  private var openPlaces: [UInt32: Int] = [:]

  /// Nothing.
  package init() {}

  /// Rows, which a batch is measured by.
  package var count: Int { messages.count + issues.count }

  /// Messages among the rows whose fates are final.
  package var messageCount: Int { messages.count - openPlaces.count }

  /// Adds a message whose fate is final.
  package mutating func add(_ record: MessageRecord, _ exchange: Exchange) {
    let message = Message(record: record, exchange: exchange, isFinal: true)
    guard !openPlaces.isEmpty, let place = openPlaces.removeValue(forKey: exchange.id) else {
      return messages.append(message)
    }
    messages[place] = message
  }

  /// Adds a message whose fate may still change, or what has become of it since it was added.
  package mutating func addOpen(_ record: MessageRecord, _ exchange: Exchange) {
    let message = Message(record: record, exchange: exchange, isFinal: false)
    guard let place = openPlaces[exchange.id] else {
      openPlaces[exchange.id] = messages.count
      return messages.append(message)
    }
    messages[place] = message
  }

  /// Parts it from the records of messages that go on to change.
  package mutating func seal() {
    for place in openPlaces.values { messages[place].record = messages[place].record.snapshot() }
  }

  /// Adds an issue; one that a message's fate tells is left out.
  package mutating func add(_ issue: Issue, _ connection: ConnectionInfo) {
    if ProblemKinds.id(of: issue.kind) != nil { issues.append(StreamIssue(issue: issue, connection: connection)) }
  }
}

/// How many rows the next batch has: few at first, so that the first page is there at once, then more and more.
package struct BatchSize: Equatable, Sendable {
  /// Rows of the first batch: two pages of a screen.
  static let first = 100
  /// Rows of all batches in the end; ten times as many are not faster.
  static let last = 5_000

  /// Rows of the next batch.
  package private(set) var next = BatchSize.first

  /// The size of the first batch.
  package init() {}

  /// A batch was handed on.
  package mutating func grow() { next = min(Self.last, next * 2) }
}
