/// Why a message will not arrive.
public enum FailureReason: UInt16, Sendable, CaseIterable, BitwiseCopyable, CustomStringConvertible {
  /// It names neither a user nor a group.
  case noRecipient = 1
  /// The server does not know the user.
  case unknownUser = 2
  /// As much waits for the recipient as the server keeps.
  case mailboxFull = 3
  /// It is longer than the server or the recipient takes.
  case tooLarge = 4
  /// The sender is not in the group.
  case notAMember = 5
  /// The server, or the recipient, does not want it.
  case unwelcome = 6
  /// No device fetched it in time.
  case expired = 7
  /// Another process has taken the device over.
  case takenOver = 8
  /// The server refused the session.
  case refused = 0x100
  /// There was no server to send it to.
  case noServer = 0x101
  /// It was not acknowledged within `ClientConfiguration.messageLifetime`, or as often as it may be sent.
  case timedOut = 0x102
  /// Its file could not be read any more, or is another one than it was.
  case unreadable = 0x103
  /// The server gave a reason that this library does not know.
  case other = 0

  /// The reason in words.
  public var description: String {
    switch self {
    case .noRecipient: "no recipient"
    case .unknownUser: "unknown user"
    case .mailboxFull: "mailbox full"
    case .tooLarge: "too large"
    case .notAMember: "not a member"
    case .unwelcome: "unwelcome"
    case .expired: "expired"
    case .takenOver: "taken over"
    case .refused: "refused"
    case .noServer: "no server"
    case .timedOut: "no acknowledgment"
    case .unreadable: "file cannot be read"
    case .other: "refused by the server"
    }
  }
}
