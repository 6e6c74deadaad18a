package import IMEngine
package import IMWire

/// The frames of one connection in the order in which they came: who sent what, and what became of it.
package struct Ladder: Sendable {
  /// Facts about a frame that are true or not.
  package struct Facts: OptionSet, Sendable {
    /// One bit for each.
    package let rawValue: UInt16
    /// The facts whose bits are set in `rawValue`.
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    /// It is an answer.
    package static let answer = Facts(rawValue: 1)
    /// It is a copy that was sent again on purpose.
    package static let retry = Facts(rawValue: 2)
    /// It is a copy behind the answer.
    package static let duplicate = Facts(rawValue: 4)
    /// It is an answer behind the first.
    package static let repeatedAnswer = Facts(rawValue: 8)
    /// It is an answer that names nothing known.
    package static let orphan = Facts(rawValue: 16)
    /// Its checksum is wrong.
    package static let damaged = Facts(rawValue: 32)
    /// It is a sign of life.
    package static let heartbeat = Facts(rawValue: 64)
    /// Its answer came after the time for it had run out.
    package static let late = Facts(rawValue: 128)
  }

  /// A frame.
  package struct Step: Sendable {
    /// Its type, and the number that it carries or answers.
    package var label: String
    /// The number; `nil` without one.
    package var sequence: UInt64?
    /// Whether the client sent it.
    package var isFromClient: Bool
    /// What is known of it.
    package var facts: Facts
    /// 1 for the first copy of a message; 0 for what is no copy of anything.
    package var copy: UInt16
    /// Of a further copy, microseconds since the copy before; `nil` where that one is not known.
    package var sinceCopy: Int64?
    /// Of a first answer, microseconds from the message's first copy, and the same where it counts as a round trip.
    package var latency: Nanoseconds?, roundTrip: Nanoseconds?
    /// Of a first copy, what became of the message, and why it did not succeed.
    package var fate: Fate?, cause: Cause?
    /// The number in the run of the message that it belongs to; `nil` for none.
    package var exchange: UInt32?
    /// The number of the packet that completed it; `nil` where that is not known.
    package var packet: UInt64?

    /// A step of its parts.
    package init(
      label: String, sequence: UInt64?, isFromClient: Bool, facts: Facts, copy: UInt16, sinceCopy: Int64? = nil,
      latency: Nanoseconds? = nil, roundTrip: Nanoseconds? = nil, fate: Fate? = nil, cause: Cause? = nil,
      exchange: UInt32? = nil, packet: UInt64? = nil
    ) {
      self.label = label
      self.sequence = sequence
      self.isFromClient = isFromClient
      self.facts = facts
      self.copy = copy
      (self.sinceCopy, self.latency, self.roundTrip, self.fate, self.cause) = (
        sinceCopy, latency, roundTrip, fate, cause
      )
      (self.exchange, self.packet) = (exchange, packet)
    }
  }

  /// What stands in a row.
  package enum Event: Sendable {
    /// A frame.
    case step(Step)
    /// What TCP did, or what the capture lacks; `isTrouble` where it went wrong.
    case note(String, isTrouble: Bool)
  }

  /// A row.
  package struct Row: Sendable {
    /// When it happened.
    package var at: Timestamp
    /// What.
    package var event: Event
    /// The moment from which its time counts; `nil` where that is when the ladder's connection was seen first.
    package var start: Timestamp?

    /// A row of its parts.
    package init(at: Timestamp, event: Event, start: Timestamp? = nil) {
      (self.at, self.event, self.start) = (at, event, start)
    }
  }

  /// The connection's number in the run.
  package var serial: UInt32
  /// Its ends.
  package var client: String, server: String
  /// The profile that decodes it.
  package var profile: String
  /// Its session; `nil` where none is known.
  package var session: String?
  /// When the connection was seen first.
  package var firstSeen: Timestamp
  /// When it was seen last; `nil` where the last row tells.
  package var lastSeen: Timestamp?
  /// The rows, in the order in which they came.
  package var rows: [Row] = []
  /// Frames in front of the first row and behind the last one that are left out.
  package var leftOutBefore: UInt64 = 0, leftOutBehind: UInt64 = 0
  /// Microseconds from one heartbeat to the next, and whether the client promised that or it is the usual interval; `nil` where
  /// neither is known.
  package var heartbeat: (interval: Int64, isPromised: Bool)?

  /// A ladder without rows.
  package init(
    serial: UInt32, client: String, server: String, profile: String, session: String?, firstSeen: Timestamp
  ) {
    self.serial = serial
    self.client = client
    self.server = server
    self.profile = profile
    self.session = session
    self.firstSeen = firstSeen
  }

  /// Who talks: `#3 192.0.2.77:40001 to 198.51.100.1:9000, tjp, session 22509`.
  package var title: String {
    "#\(serial) \(client) to \(server), \(profile)" + (session.map { ", session \($0)" } ?? "")
  }
}
