/// How frames are written: as the protocol means it, or as the article's code does.
public struct Speech: Hashable, Sendable {
  /// The version this end speaks.
  public var version = ProtocolVersion.current
  /// What this end can do.
  public var features = Features.all
  /// The label of an encryption that no code does: 0 none.
  public var encryptionLabel: UInt8 = 0
  /// A client's acknowledgments have numbers of their own and name what they acknowledge in four bytes of body.
  public var numbersAcknowledgments = false
  /// Handshakes say who the client is and which numbers are open.
  public var introducesItself = true
  /// Bodies are compressed where that helps and the other end can read them.
  public var compresses = true

  /// As the protocol means it.
  public init() {}

  /// As the article's code speaks: the label without the encryption, the numbered acknowledgments, the handshake of ten
  /// bytes that offers what it does not do.
  public static var seed: Speech {
    var speech = Speech()
    speech.features = [.basic, .encryption, .receipts]
    speech.encryptionLabel = 1
    speech.numbersAcknowledgments = true
    speech.introducesItself = false
    speech.compresses = false
    return speech
  }
}

/// What a session is for: how much of it may wait where.
public enum SessionKind: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  /// Calls and commands: few, small, at once.
  case signalling
  /// What people write.
  case chat
  /// Images, sounds, films, files: large, not at once.
  case media
}

/// How much of a session may wait where.
public struct SessionStrategy: Hashable, Sendable {
  /// What waits in the queues.
  public var queues: QueueLimits
  /// Messages under way at once, at most 8,192.
  public var windowMessages: Int
  /// Bytes under way at once.
  public var windowBytes: Int
  /// The session adds to a connection's buffer while that holds less than this. Sessions that want a short way may add
  /// behind what others have put there; what waits in the queues can still be overtaken, what is in the buffer cannot.
  public var bufferBytes: Int
  /// How many messages the session may hand over before the next session has its turn.
  public var turn: Int
  /// The most attempts to connect in a row, if it is not the policy's.
  public var maximumAttempts: Int?

  /// A strategy of its parts.
  public init(
    queues: QueueLimits = QueueLimits(), windowMessages: Int = 4_096, windowBytes: Int = 4 << 20,
    bufferBytes: Int = 64 << 10, turn: Int = 32, maximumAttempts: Int? = nil
  ) {
    self.queues = queues
    self.windowMessages = min(Int(DuplicateFilter.window / 2), max(1, windowMessages))
    self.windowBytes = windowBytes
    self.bufferBytes = bufferBytes
    self.turn = max(1, turn)
    self.maximumAttempts = maximumAttempts
  }

  /// What this library recommends for each kind.
  public static func recommended(for kind: SessionKind) -> SessionStrategy {
    switch kind {
    case .signalling: SessionStrategy(windowMessages: 256, windowBytes: 256 << 10, bufferBytes: 192 << 10, turn: 64)
    case .chat: SessionStrategy(bufferBytes: 128 << 10)
    case .media:
      SessionStrategy(
        queues: QueueLimits(messages: 512, bytes: 64 << 20), windowMessages: 1_024, windowBytes: 16 << 20,
        bufferBytes: 64 << 10, turn: 2)
    }
  }
}
