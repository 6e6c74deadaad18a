package import IMEngine
package import IMMetrics
package import IMOutput
package import IMWire

/// Everything that a report shows, bounded whatever the capture's size.
package struct ReportModel {
  /// A profile that decoded something.
  package struct Profile {
    /// Its name and its version.
    package var name: String, version: String
    /// The SHA-256 of its text, in hexadecimal; `nil` where the text is not known.
    package var hash: String?

    /// A profile of its parts.
    package init(name: String, version: String, hash: String?) {
      (self.name, self.version, self.hash) = (name, version, hash)
    }
  }

  /// A session with messages that were lost.
  package struct AffectedSession {
    /// The session's name, or the connection's number where it has none.
    package var name: String
    /// Messages lost.
    package var lost: UInt64

    /// A session of its parts.
    package init(name: String, lost: UInt64) { (self.name, self.lost) = (name, lost) }
  }

  /// A message that was lost.
  package struct LostMessage: Sendable {
    /// When its first copy came.
    package var at: Timestamp
    /// The session's name or number; `nil` where it has none.
    package var session: String?
    /// The connection's number.
    package var serial: UInt32
    /// Where it was sent.
    package var direction: Direction
    /// The type's name.
    package var type: String
    /// The number that its sender gave it; `nil` where it gave none.
    package var number: UInt64?
    /// What became of it, and why.
    package var fate: Fate, cause: Cause?
    /// Copies after the first, up to the end.
    package var retries: UInt64

    /// The message that an exchange is.
    package init(_ exchange: Exchange, type: String, session: String?) {
      (at, self.session, serial) = (exchange.firstAt, session, exchange.connection)
      (direction, self.type) = (exchange.direction, type)
      number = exchange.sequence == 0 || exchange.hasOwnNumber ? nil : exchange.sequence
      (fate, cause, retries) = (exchange.fate, exchange.cause, UInt64(exchange.repeats))
    }
  }

  /// At most so many lost messages are listed, those that were sent first.
  package static let maximumLost = 200

  /// A part of the capture that was not decoded.
  package struct Unread: Sendable {
    /// What it is, and what to do about it; without a period.
    package var text: String
    /// Whether it is much of the capture: what was decoded may then not be all that matters.
    package var isNotable: Bool

    /// A part of the capture.
    package init(text: String, isNotable: Bool) { (self.text, self.isNotable) = (text, isNotable) }
  }

  /// The message whose ladder shows best what went wrong; where nothing is wrong with messages, the heartbeat.
  package struct WorstMessage: Sendable {
    /// Its number in the run, and its connection's.
    package var exchange: UInt32, connection: UInt32
    /// When its first copy came.
    package var at: Timestamp
    /// How bad its fate is, and how often it was sent again.
    private var rank: (fate: UInt8, repeats: UInt16)

    /// The message that an exchange is; `nil` where nothing went wrong with it.
    package init?(_ exchange: Exchange, _ role: FrameRole) {
      let isLost = exchange.fate == .unanswered || exchange.fate == .damaged
      let fate: UInt8
      switch (role, exchange.fate) {
      case (.message, _) where isLost: fate = 4
      case (.message, .rejected): fate = 3
      case (.message, _) where exchange.repeats > 0: fate = 2
      case (.heartbeat, _) where isLost: fate = 1
      default: return nil
      }
      rank = (fate, exchange.repeats)
      (self.exchange, connection, at) = (exchange.id, exchange.connection, exchange.firstAt)
    }

    /// How bad its fate is: 4 for a lost message, 2 for one that needed a retry, 1 for a heartbeat.
    package var fate: UInt8 { rank.fate }
    /// Whether it is a heartbeat.
    var isHeartbeat: Bool { fate == 1 }

    /// Whether it says more than `other`: it is worse, or as bad and came earlier.
    package func isWorse(than other: WorstMessage?) -> Bool {
      guard let other else { return true }
      if rank != other.rank { return rank > other.rank }
      return (at, exchange) < (other.at, other.exchange)
    }
  }

  /// A capture that goes on.
  package struct Live: Sendable {
    /// The interface.
    package var interface: String
    /// How long a time the page covers, but for the last minutes, in seconds.
    package var windowSeconds: Int64
    /// From when to when that is now, and when the capture began; `nil` before the first packet.
    package var covered: (from: Timestamp, to: Timestamp, begun: Timestamp)?
    /// Whether it is served, and fetches itself anew.
    package var isRefreshed = false

    /// Nothing has come yet.
    package init(interface: String, windowSeconds: Int64) {
      (self.interface, self.windowSeconds) = (interface, windowSeconds)
    }
  }

  /// imdump's version.
  package var version: String
  /// The captures that were read, and the capture filter.
  package var captures: [String], filter: String?
  /// What went wrong with reading them.
  package var errors: [String] = []
  /// What the page's time came to: of a capture, the figures of `imdump stats`.
  package var figures: ReportMetrics
  /// Where every packet and byte of that time went.
  package var summary: Summary
  /// The counts of the whole run in words.
  package var countedLines: [String]
  /// Of a capture that goes on, what the page covers of it; `nil` of files.
  package var live: Live?
  /// The percentiles of round trips that are drawn and shown.
  package var percentiles = PagePercentiles.usual
  /// Whether the page holds what it shows as JSON, too.
  package var embedsData = false
  /// When the page was made; `nil` where it does not say, so that the same captures give the same bytes.
  package var madeAt: Timestamp?
  /// Packets that the source cut to its snaplen, and those without a time; what a live capture dropped stands in `run`.
  package var profiles: [Profile] = []
  /// What of the capture was not decoded, and what to do about it.
  package var unread: [Unread] = []
  /// Whether there was a key log.
  package var hasKeyLog = false
  /// Whether `unread` says why TLS was not decrypted.
  package var explainsTLS = false
  /// The statuses that answers gave.
  package var statuses = StatusRegistry()
  /// The zone of the clock that times are shown by.
  package var zone = LocalZone.utc
  /// The zone at the capture's beginning in words: `UTC`, `UTC+08:00`.
  var zoneText: String {
    let offset = zone.offset(at: captured?.first.seconds ?? 0)
    return offset == 0 ? "UTC" : "UTC" + LocalZone.text(of: offset)
  }
  /// What makes the verdict amber.
  package var thresholds = VerdictThresholds()
  /// Over time.
  package var series = TimeBuckets<ReportBucket>()
  /// The TCP connections over time, which are drawn where nothing was decoded; empty on a live page.
  package var transport = TimeBuckets<TransportBucket>()
  /// The names of types, by `ReportBucket.key`.
  package var typeNames: [UInt16: String] = [:]
  /// When the first and the last lost message was sent first; `nil` where none was lost.
  package var losses: (first: Timestamp, last: Timestamp)?
  /// The lost messages that were sent first, at most `maximumLost`, in their order, and how many are left out.
  package var lost: [LostMessage] = [], lostLeftOut: UInt64 = 0
  /// The message whose ladder shows best what went wrong, and its connection's number; `nil` where all went well.
  package var worst: WorstMessage?
  /// The sessions with lost messages, the worst first, and how many these are, of how many.
  package var affected: [AffectedSession] = [], affectedCount: UInt64 = 0, sessionCount: UInt64 = 0
  /// Whether there were more sessions than could be told apart.
  package var hasMoreSessions = false
  /// Whether there were more sessions with lost messages than could be kept.
  package var hasMoreAffected = false
  /// What was not as it should be.
  package var problems: [Problem] = []
  /// The connections, the worst first, and how many are left out.
  package var connections: [ConnectionRow] = [], connectionsLeftOut: UInt64 = 0
  /// Heartbeats.
  package var heartbeats = HeartbeatMarks()
  /// Sessions over time, and how many are left out.
  package var lanes: [Lane] = [], lanesLeftOut: UInt64 = 0
  /// The worst connections, frame by frame, and how many with problems have no ladder.
  package var ladders: [Ladder] = [], laddersLeftOut: UInt64 = 0
  /// Another capture's name, and its figures beside those of this one; `nil` without one.
  package var comparison: (name: String, figures: [ComparedMetric])?
  /// Whether a signal came before the worst connections could be read again.
  package var isCut = false
  /// Round trips that more than one copy made ambiguous.
  package var ambiguous: UInt64 = 0

  /// A model of what a run came to.
  package init(
    version: String, captures: [String], filter: String?, figures: ReportMetrics, summary: Summary,
    countedLines: [String]
  ) {
    self.version = version
    self.captures = captures
    self.filter = filter
    self.figures = figures
    self.summary = summary
    self.countedLines = countedLines
  }

  /// When the first packet and the last one came; `nil` without a packet.
  var captured: (first: Timestamp, last: Timestamp)? {
    if let live { return live.covered.map { ($0.from, max($0.from, $0.to)) } }
    return summary.ledger.firstAt.flatMap { first in summary.ledger.lastAt.map { (first, max(first, $0)) } }
  }
  /// What became of messages.
  var messages: FateCounts { figures.messages.both }
  /// The figures that stand first, as the catalogue declares them.
  var declared: PageMetrics {
    PageMetrics(
      RunSnapshot(summary: summary, total: figures.total, reconnects: figures.reconnects, repeatedAnswers: 0))
  }
  /// The span of the charts over time.
  var span: (begin: Timestamp, end: Timestamp)? { series.span }
}

/// Something that was not as it should be.
package struct Problem: Sendable {
  /// How much it matters.
  package enum Severity: Int, Sendable {
    /// Somebody was hurt; something may have been; nothing was, but it may explain others.
    case error, warning, note
  }

  /// How much it matters.
  package var severity: Severity
  /// What: a fate, an issue or what happened to a connection, by the name that other outputs have for it.
  package var kind: String
  /// What it happened to.
  package var subject: String
  /// Where to look, by the name of a cause; empty where none is known.
  package var cause: String
  /// How often.
  package var count: UInt64
  /// When first; `nil` where that is not known.
  package var first: Timestamp?
  /// Connections that it happened to, the first ones first.
  package var serials: [UInt32]

  /// A problem of its parts.
  package init(
    severity: Severity, kind: String, subject: String, cause: String = "", count: UInt64, first: Timestamp? = nil,
    serials: [UInt32] = []
  ) {
    self.severity = severity
    self.kind = kind
    self.subject = subject
    self.cause = cause
    self.count = count
    self.first = first
    self.serials = serials
  }
}

/// A connection in the table.
package struct ConnectionRow: Sendable {
  /// Its number in the run.
  package var serial: UInt32
  /// Who talked.
  package var client: String, server: String
  /// What decoded it; `nil` where nothing did. Its session; `nil` where none is known.
  package var profile: String?, session: String?
  /// How it ended.
  package var state: String
  /// When it began, and for how many microseconds it lasted.
  package var firstSeen: Timestamp, length: Int64
  /// Messages; those lost; those whose answer the capture may lack; copies sent again.
  package var messages: UInt64 = 0, lost: UInt64 = 0, unknown: UInt64 = 0, retries: UInt64 = 0
  /// Heartbeats without an answer; `nil` where none were sent.
  package var missed: UInt64?
  /// Missing bytes.
  package var gapBytes: UInt64 = 0
  /// Segments sent again; `nil` where that is not known yet.
  package var retransmissions: UInt64?
  /// Its trouble; 0 for none.
  package var score: UInt64 = 0
  /// What `imdump streams` lists of it; `nil` while it is not over on a page that is live.
  package var listed: ListedConnection?

  /// A row without counts.
  package init(
    serial: UInt32, client: String, server: String, profile: String?, session: String?, state: String,
    firstSeen: Timestamp, length: Int64
  ) {
    self.serial = serial
    (self.client, self.server) = (client, server)
    (self.profile, self.session, self.state) = (profile, session, state)
    (self.firstSeen, self.length) = (firstSeen, length)
  }
}

/// Heartbeats as marks of a chart.
package struct HeartbeatMarks: Sendable {
  /// At most so many marks are kept.
  package static let maximumCount = 1_500

  /// The time since the one before, for each, as long as there are few.
  package private(set) var marks: [(at: Timestamp, interval: Nanoseconds, serial: UInt32)] = []
  /// Intervals in all.
  package private(set) var count: UInt64 = 0
  /// When heartbeats without an answer were sent, as long as there are few.
  package private(set) var missed: [Timestamp] = []
  /// What clients promised, in milliseconds, by how many connections; the first few.
  package private(set) var promised: [UInt32: UInt64] = [:]

  /// No heartbeats.
  package init() {}

  /// Whether all intervals have marks.
  var isWhole: Bool { count == UInt64(marks.count) }

  /// Counts a heartbeat that came `interval` after the one before on its connection.
  package mutating func add(_ at: Timestamp, _ interval: Nanoseconds, _ serial: UInt32) {
    count += 1
    if marks.count < Self.maximumCount { marks.append((at, interval, serial)) }
  }

  /// Counts one without an answer.
  package mutating func miss(_ at: Timestamp) { if missed.count < Self.maximumCount { missed.append(at) } }

  /// One without an answer got it late.
  package mutating func answeredLate(_ at: Timestamp) {
    if let place = missed.lastIndex(of: at) { missed.remove(at: place) }
  }

  /// Adds other marks, as long as there are few.
  package mutating func add(_ other: HeartbeatMarks) {
    count += other.count
    marks += other.marks.prefix(max(0, Self.maximumCount - marks.count))
    missed += other.missed.prefix(max(0, Self.maximumCount - missed.count))
    for (milliseconds, connections) in other.promised where promised.count < 8 || promised[milliseconds] != nil {
      promised[milliseconds, default: 0] += connections
    }
  }

  /// Counts a connection whose client promised one every so many milliseconds.
  package mutating func promise(_ milliseconds: UInt32) {
    if promised.count < 8 || promised[milliseconds] != nil { promised[milliseconds, default: 0] += 1 }
  }
}

/// A session over time: its connections, and attempts that failed.
package struct Lane: Sendable {
  /// A connection.
  package struct Bar: Sendable {
    /// Its number.
    package var serial: UInt32
    /// When it began and when it was over, or was seen last.
    package var from: Timestamp, to: Timestamp
    /// How it ended.
    package var state: String
    /// Whether a reset or nothing ended it; whether nothing answered its SYN, or refused it.
    package var isBroken: Bool, isFailed: Bool
    /// Microseconds since the session's connection before was over; `nil` for the first.
    package var reconnectTime: Int64?

    /// A bar of its parts.
    package init(
      serial: UInt32, from: Timestamp, to: Timestamp, state: String, isBroken: Bool, isFailed: Bool,
      reconnectTime: Int64?
    ) {
      (self.serial, self.from, self.to, self.state) = (serial, from, to, state)
      (self.isBroken, self.isFailed, self.reconnectTime) = (isBroken, isFailed, reconnectTime)
    }
  }

  /// The session's name, or what stands for it.
  package var name: String
  /// Its connections, in the order in which they began, and how many are left out.
  package var bars: [Bar], leftOut: UInt64

  /// A lane of its parts.
  package init(name: String, bars: [Bar], leftOut: UInt64) {
    (self.name, self.bars, self.leftOut) = (name, bars, leftOut)
  }
}
