package import IMEngine
package import IMOutput

/// Messages whose fates are final and issues, on their way to the writer: what one transaction writes.
///
/// Whoever fills it lets go of the records when it hands it on, and touches none of them again; so another thread may take it.
package struct StoreBatch: @unchecked Sendable {
  /// A message, and what became of it.
  package struct Message {
    let record: MessageRecord
    let exchange: Exchange
  }

  /// An issue, and where.
  package struct StreamIssue {
    let issue: Issue
    let connection: ConnectionInfo
  }

  private(set) var messages: [Message] = []
  private(set) var issues: [StreamIssue] = []

  /// Nothing.
  package init() {}

  /// Rows, which a batch is measured by.
  package var count: Int { messages.count + issues.count }

  /// Messages among the rows.
  package var messageCount: Int { messages.count }

  /// Adds a message whose fate is final.
  package mutating func add(_ record: MessageRecord, _ exchange: Exchange) {
    messages.append(Message(record: record, exchange: exchange))
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
