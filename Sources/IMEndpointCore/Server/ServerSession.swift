internal import IMWire

/// Under what a session is found again on another connection.
struct SessionKey: Hashable, Sendable {
  var peer: ServerPeer
  var wireID: UInt16
}

/// One session of a server: it outlives its connections.
struct ServerSession: Sendable {
  var key: SessionKey
  var generation: UInt32 = 0
  /// Whether it is remembered; its place is free otherwise.
  var isKnown = true
  /// Whether it has carried a message.
  var isUsed = false
  /// The place of the device that it belongs to.
  var device: Int32
  var traffic: Traffic
  /// Messages of the client's that a recipient has taken, which it is to be told.
  var delivered: [UInt32] = []
  /// Places of the connections that carry it, by the bit each has in this session.
  var links: InlineArray<8, Int32> = .init(repeating: -1)
  var linkMask: UInt8 = 0
  var detachedAt: Instant?
  /// The entry in the queue of deadlines.
  var timer: Instant?
  var hasHandshake = false
}

/// One physical connection of a server.
struct ServerLink: Sendable {
  enum Phase: Sendable { case free, open, closing }

  var generation: UInt32 = 0
  var phase = Phase.free
  var isWriting = false
  var isIntroduced = false
  var remote: Endpoint
  var output = OutgoingBytes()
  var openedAt: Instant
  var heardAt: Instant
  /// Since when the connection has taken nothing of what waits.
  var stalledSince: Instant?
  /// How much may be under way to it.
  var window = DelayWindow()
  /// Bytes that wait on it, as far as they are counted.
  var waiting = 0
  var peer: ServerPeer
  /// The session of the last frame: most connections carry one.
  var lastSession: Int32 = -1
  var sessions: [Int32] = []
  var frames = 0
  var damagedFrames = 0
}
