/// What a client does, for the log of an application. There are no texts, names or other contents of messages in it.
public struct LogEntry: Sendable, Hashable, CustomStringConvertible {
  /// How much it matters.
  public enum Level: UInt8, Sendable, Comparable {
    /// Of interest to who looks for a fault.
    case debug
    /// The ordinary course of things.
    case info
    /// Something was lost or refused; the client goes on.
    case warning
    /// The client does not go on by itself.
    case error

    /// By how much it matters.
    public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
  }

  /// How much it matters.
  public var level: Level
  /// What happened, in one line.
  public var text: String

  /// The line.
  public var description: String { text }

  init(_ level: Level, _ text: String) { (self.level, self.text) = (level, text) }

  /// The entry of an event; `nil` for an event that is not logged.
  init?(_ event: EndpointEvent) {
    switch event {
    case .connection(_, let state, _, let reason):
      self.init(.info, "connection: \(state)" + (reason.map { " (\($0))" } ?? ""))
    case .handshake(_, .agreed(let version, _)):
      self.init(.debug, "handshake: version \(version.major).\(version.minor)")
    case .handshake(_, .refused(let refusal)): self.init(.error, "handshake refused: \(refusal.reason)")
    case .handshake(_, .unanswered):
      self.init(.warning, "handshake not answered: the client continues with what every version supports")
    case .failure(let id, _, let reason): self.init(.warning, "message \(id.rawValue) failed: \(reason)")
    case .gap(_, _, let first, let last): self.init(.warning, "messages \(first) to \(last) from a device are missing")
    case .damaged: self.init(.warning, "a frame with a wrong checksum")
    case .notFrames: self.init(.warning, "bytes that are not frames: the connection is closed")
    case .damagedContent(let name, _): self.init(.warning, "large message \(name) arrived damaged")
    case .withdrawn(let name, _): self.init(.info, "large message \(name) was withdrawn")
    case .gaveUp(let attempts): self.init(.error, "gave up after \(attempts) attempts to connect")
    case .quality(let quality): self.init(.debug, "network: \(quality)")
    case .room(_, let priority): self.init(.debug, "the queue of priority \(priority) has room again")
    case .progress(let id, _, .retrying): self.init(.debug, "message \(id.rawValue) is sent again")
    case .message, .progress, .sending, .receiving, .read, .earlier, .members, .joined, .left: return nil
    }
  }
}
