package import IMOutput
package import IMStore
package import IMWire

/// What the browser wants to know, for the threads that read the store.
package enum BrowserRequest: Equatable, Sendable {
  /// The sessions in an order, as they are since a commit.
  case sessions(SessionsRequest)
  /// Problems by kind and cause: those of a time, or all.
  case problems(Range<Timestamp>?)
  /// Connections, those that lost most first.
  case connections(ConnectionsRequest)
  /// What the store has by type.
  case types(TypesRequest)
  /// The first or last messages of what is selected in a list.
  case preview(PageRequest)
  /// A page of messages.
  case page(PageRequest)
  /// Rows as cells.
  case rows(RowsRequest)
  /// The next message with a problem.
  case problem(ProblemRequest)
  /// How many messages have come to a list.
  case news(UpdatesRequest)
  /// A file of messages.
  case save(SaveRequest)
  /// Names of ids.
  case names(NameRequest)
  /// Everything that is known of a message.
  case details(Int64)
  /// The bytes and parts of a message's first copy.
  case frame(FrameRequest)
  /// A part of a ladder.
  case ladder(LadderRequest)
  /// Metrics over time.
  case timeline(TimelineRequest)
  /// The first message from a time on.
  case moment(MomentRequest)
}

/// What the threads that read the store have found.
package enum BrowserAnswer: Sendable {
  /// Sessions in the order that was wanted.
  case sessions(SessionsRequest, [StoredSession], SessionTotals)
  /// The captures that the store was made of.
  case captures([String])
  /// Problems by kind and cause.
  case problems([StoredProblemCount])
  /// Connections in their order.
  case connections(ConnectionsRequest, [StoredConnection])
  /// What the store has by type.
  case types(TypesRequest, StoredTypes)
  /// Messages of what is selected in a list.
  case preview(PageAnswer)
  /// A page of messages.
  case page(PageAnswer)
  /// Rows as cells.
  case rows(RowsAnswer)
  /// The message that was looked for; `nil` where there is none.
  case problem(ProblemRequest, Int64?)
  /// How many messages have come to a list.
  case news(UpdatesAnswer)
  /// What has become of a file of messages.
  case saved(SaveRequest, SaveOutcome)
  /// Names of ids, by these; those that are missing have none, unless it is not the last answer.
  case names(NameRequest, [String: String], isLast: Bool)
  /// What is known of a message, name by name.
  case details(Int64, [(name: String, value: String)])
  /// The bytes and parts of a message's first copy.
  case frame(FrameRequest, FrameDissection)
  /// A part of a ladder.
  case ladder(LadderAnswer)
  /// Metrics over time; `nil` where there are none.
  case timeline(TimelineRequest, StoredPeriods?)
  /// The message that was looked for; `nil` where there is none.
  case moment(MomentRequest, Int64?)
  /// Reading failed.
  case failure(BrowserRequest, String)
}

/// Sessions that are wanted.
package struct SessionsRequest: Equatable, Sendable {
  /// The order.
  package var order = SessionOrder()
  /// Counts up with the commits of whoever writes the store.
  package var commit = 0

  /// All, as they are first.
  package init() {}
}

/// A request for connections.
package struct ConnectionsRequest: Equatable, Sendable {
  /// Connections that are listed, at most: those that lost most.
  package static let limit = 10_000

  /// Words, each of which a connection has in its addresses, its profile or its state; empty for all.
  package var filter = ""
  /// Connections that lasted into this time; `nil` for all.
  package var times: Range<Timestamp>?
  /// Counts up with the commits of the process that writes the store.
  package var commit = 0

  /// All.
  package init() {}

  /// The words of the filter.
  package var words: [String] { filter.split(separator: " ").map { $0.lowercased() } }
}

/// A request for counts by type.
package struct TypesRequest: Equatable, Sendable {
  /// Messages that began in this time; `nil` for all.
  package var times: Range<Timestamp>?
  /// Counts up with the commits of the process that writes the store.
  package var commit = 0

  /// All.
  package init() {}
}

/// Sums over all sessions, whatever the filter.
package struct SessionTotals: Equatable, Sendable {
  /// Sessions.
  package var sessions = 0
  /// Messages of all sessions that ask for an answer, and those that ask for none.
  package var messages: Int64 = 0, oneWay: Int64 = 0
  /// Messages that were lost.
  package var lost: Int64 = 0
  /// Messages that were rejected.
  package var rejected: Int64 = 0
  /// Copies of messages after the first.
  package var retries: Int64 = 0
  /// Heartbeats.
  package var heartbeats: Int64 = 0
  /// Heartbeats without an answer.
  package var lostHeartbeats: Int64 = 0
  /// Connections, and when they were.
  package var connections = StoredConnectionTotals()
  /// Whether the store has topics, and whether it has what users write.
  package var hasTopics = false, keepsPayload = true

  /// The sums of `sessions`.
  package init(_ sessions: [StoredSession] = []) {
    self.sessions = sessions.count
    for session in sessions {
      messages &+= session.messages
      oneWay &+= session.oneWay
      lost &+= session.lost
      rejected &+= session.rejected
      retries &+= session.retries
      heartbeats &+= session.heartbeats
      lostHeartbeats &+= session.lostHeartbeats
    }
  }
}

/// A message with a problem that is wanted.
package struct ProblemRequest: Equatable, Sendable {
  /// The list in which it is looked for; one for another list is dropped.
  package var generation: Int
  /// The message from which on it is looked for.
  package var from: Int64
  /// Whether it is looked for behind that message, or in front of it.
  package var isForward: Bool
  /// What it has to have; empty for any problem.
  package var kinds: ProblemKinds
  /// Among which messages.
  package var choice: PageRequest.Choice
}

/// The first message from a time on that is wanted.
package struct MomentRequest: Equatable, Sendable {
  /// Counts up: of two that are the same the later one is answered.
  package var generation: Int
  /// The time.
  package var moment: Timestamp
  /// Among which messages.
  package var choice: PageRequest.Choice
}

/// A message's first copy, whose bytes are wanted.
package struct FrameRequest: Equatable, Sendable {
  /// The message.
  package var message: Int64
  /// The captures that are read for it; it is in the last one.
  package var files: [String]
  /// The packet that completed it, its place in its stream, and its direction.
  package var packet: UInt64, streamOffset: UInt64, direction: Direction
}
