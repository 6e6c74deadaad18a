package import IMEngine
package import IMOutput

/// Messages and issues on their way to the writer: what one transaction writes.
///
/// It has copies of what is known of messages, so whoever fills it goes on with theirs while another thread writes it.
package struct StoreBatch: Sendable {
  /// An issue, and where.
  package struct StreamIssue: Sendable {
    let issue: Issue
    let connection: ConnectionInfo
  }

  private(set) var messages: [StoredFacts] = []
  /// What has become of messages of a file that the writer has, or that are among `messages`.
  private(set) var changes: [MessageChange] = []
  /// Names that sessions of such messages have got.
  private(set) var names: [(session: UInt32, name: String)] = []
  private(set) var issues: [StreamIssue] = []
  /// The first receipts of each level, of messages.
  private(set) var receipts: [MessageReceipt] = []
  /// What is known of connections, the last word on each last.
  private(set) var connections: [ConnectionFacts] = []
  /// Where those of `messages` are whose fates may still change, by `Exchange.id`.
  private var openPlaces: [UInt32: Int] = [:]
  /// Captures that were begun, by their numbers from 1, and the numbers of those that are there no more.
  private(set) var begun: [(id: Int64, path: String)] = []
  private(set) var gone: [Int64] = []

  /// Nothing. There is room for `count` messages.
  package init(count: Int = 0) { messages.reserveCapacity(count) }

  /// Adds a capture that further messages are in; `id` is its number, from 1.
  package mutating func begin(_ id: Int64, _ path: String) { begun.append((id, path)) }

  /// Adds that a capture is there no more.
  package mutating func forget(_ id: Int64) { gone.append(id) }

  /// Lets go of all rows, and keeps what is said of captures: nobody says it again.
  package mutating func drop() {
    messages.removeAll()
    changes.removeAll()
    names.removeAll()
    openPlaces.removeAll()
    issues.removeAll()
    receipts.removeAll()
    connections.removeAll()
    count = 0
  }

  /// Whether there is nothing to write.
  package var isEmpty: Bool { count == 0 && begun.isEmpty && gone.isEmpty }

  /// Rows, which a batch is measured by. Kept and not counted: it is asked for with every message, by another module.
  package private(set) var count = 0

  /// Messages among the rows whose fates are final.
  package var messageCount: Int { messages.count - openPlaces.count }

  /// Adds a message that the writer has not been told of.
  package mutating func add(_ record: MessageRecord, _ exchange: Exchange) {
    add(StoredFacts(record, exchange, isUpdate: false))
  }

  /// Adds a message as it is told to the writer.
  mutating func add(_ message: consuming StoredFacts) {
    messages.append(message)
    count += 1
  }

  /// Adds what has become of a message of a file.
  mutating func add(_ change: MessageChange) {
    changes.append(change)
    count += 1
  }

  /// Adds the name that a session of a file has got behind its first messages.
  mutating func name(_ session: UInt32, _ name: String) {
    names.append((session, name))
    count += 1
  }

  /// Numbers of its messages in the order in which they are written: rows whose numbers count up are added at the end of the table, where
  /// others are looked for in the whole of it. Those of one message stay in order. `nil` where that is how they came.
  var order: [Int]? {
    let messages = messages.span
    var isSorted = true
    for i in messages.indices.dropFirst() where messages[i].exchange.id < messages[i - 1].exchange.id {
      isSorted = false
      break
    }
    if isSorted { return nil }
    return self.messages.map(\.exchange.id).sortedPlaces
  }

  /// Lets go of everything, and keeps the room.
  package mutating func clear() {
    messages.removeAll(keepingCapacity: true)
    changes.removeAll(keepingCapacity: true)
    names.removeAll()
    issues.removeAll(keepingCapacity: true)
    receipts.removeAll(keepingCapacity: true)
    openPlaces.removeAll()
    connections.removeAll(keepingCapacity: true)
    count = 0
    (begun, gone) = ([], [])
  }

  /// Adds a message of a live run whose fate is final.
  package mutating func addFinal(_ record: MessageRecord, _ exchange: Exchange) {
    let message = StoredFacts(record, exchange, isUpdate: true)
    guard !openPlaces.isEmpty, let place = openPlaces.removeValue(forKey: exchange.id) else {
      return add(message)
    }
    messages[place] = message
  }

  /// Adds a message of a live run whose fate may still change, or what has become of it since it was added.
  package mutating func addOpen(_ record: MessageRecord, _ exchange: Exchange) {
    let message = StoredFacts(record, exchange, isUpdate: true)
    guard let place = openPlaces[exchange.id] else {
      openPlaces[exchange.id] = messages.count
      return add(message)
    }
    messages[place] = message
  }

  /// Adds what is known of a connection, decoded or not; `hello` is the first message of its TLS handshake.
  package mutating func add(_ report: ConnectionReport, hello: TLSHello? = nil) {
    connections.append(ConnectionFacts(report, hello: hello))
    count += 1
  }

  /// Adds the first receipt of its level of a message.
  package mutating func add(_ receipt: MessageReceipt) {
    receipts.append(receipt)
    count += 1
  }

  /// Adds an issue; one that a message's fate tells is left out.
  package mutating func add(_ issue: Issue, _ connection: ConnectionInfo) {
    guard ProblemKinds.id(of: issue.kind) != nil else { return }
    issues.append(StreamIssue(issue: issue, connection: connection))
    count += 1
  }
}

/// How many rows the next batch has: few at first, so that the first page is there at once, then more and more.
package struct BatchSize: Equatable, Sendable {
  /// Rows of the first batch: two pages of a screen.
  static let first = 100
  /// Rows of all batches in the end, 272 bytes each; more are not faster.
  static let last = 2_500

  /// Rows of the next batch.
  package private(set) var next: Int

  /// Rows of the largest batch.
  private let most: Int
  /// Bytes of a file by which a row may make it grow, with what is said of it elsewhere: far more than it does as a rule.
  private static let bytesPerRow: UInt64 = 1_024

  /// The size of the first batch of a store of at most `maximumBytes`: none brings more than a sixteenth of that.
  package init(maximumBytes: UInt64? = nil) {
    most =
      maximumBytes.map { Int(clamping: max(50, min(UInt64(Self.last), $0 / (16 * Self.bytesPerRow)))) } ?? Self.last
    next = min(Self.first, most)
  }

  /// A batch was handed on.
  package mutating func grow() { next = min(most, next * 2) }
}
