/// What a server holds at one moment, and what it has refused and given up since its start.
public struct ServerSnapshot: Hashable, Sendable {
  /// One figure, as reports name it.
  public struct Metric: Hashable, Sendable {
    /// Its name in JSON; in metrics behind `impeer_`.
    public var name: String
    /// The figure.
    public var value: UInt64
    /// Whether it only grows while the server runs.
    public var isTotal: Bool
    /// What it is, in words.
    public var about: String
  }

  /// Seconds since the core was made.
  public var uptime: UInt64 = 0
  /// Connections that stand, and the bytes that wait on them.
  public var connections = 0
  /// See `connections`.
  public var waitingBytes = 0
  /// Sessions that are remembered, and how many may be.
  public var sessions = 0
  /// See `sessions`.
  public var maximumSessions = 0
  /// Known devices, and those of them that letters are kept for.
  public var devices = 0
  /// See `devices`.
  public var devicesWaitedFor = 0
  /// Users who have a mailbox, and groups.
  public var users = 0
  /// See `users`.
  public var groups = 0
  /// Letters in all mailboxes, and their bytes, with 256 for each beside its body.
  public var letters = 0
  /// See `letters`.
  public var letterBytes = 0
  /// What mailboxes may hold.
  public var limits = MailboxLimits()
  /// Large messages being received, and their bytes that are here; how many bytes may be.
  public var transfers = 0
  /// See `transfers`.
  public var transferBytes = 0
  /// See `transfers`.
  public var maximumTransferBytes = 0
  /// Receipts waiting for offline senders.
  public var receiptsPending = 0
  /// Receipts that were forgotten because there were too many.
  public var receiptsLost: UInt64 = 0
  /// Messages that were refused.
  public var refused: UInt64 = 0
  /// Handshakes that were refused.
  public var handshakesRefused: UInt64 = 0
  /// Sessions that were forgotten: to make room for others, and because they had been away too long.
  public var sessionsEvicted: UInt64 = 0
  /// See `sessionsEvicted`.
  public var sessionsExpired: UInt64 = 0
  /// Whether letters are kept by a store.
  public var isDurable = false

  /// A server that holds nothing.
  public init() {}

  /// All figures, in the order of reports.
  public var figures: [Metric] {
    func now(_ name: String, _ value: Int, _ about: String) -> Metric {
      Metric(name: name, value: UInt64(max(0, value)), isTotal: false, about: about)
    }
    func total(_ name: String, _ value: UInt64, _ about: String) -> Metric {
      Metric(name: name, value: value, isTotal: true, about: about)
    }
    return [
      now("uptime_seconds", Int(clamping: uptime), "Seconds since the start"),
      now("store", isDurable ? 1 : 0, "1 if letters are kept on disk"),
      now("connections", connections, "Connections"),
      now("waiting_bytes", waitingBytes, "Bytes waiting on connections"),
      now("sessions", sessions, "Sessions, with and without a connection"),
      now("sessions_limit", maximumSessions, "Maximum number of sessions"),
      now("devices", devices, "Known devices"),
      now("devices_waited_for", devicesWaitedFor, "Devices for which letters are kept"),
      now("users", users, "Users with a mailbox"), now("groups", groups, "Groups"),
      now("letters", letters, "Letters in mailboxes"),
      now("letter_bytes", letterBytes, "Bytes of letters"),
      now("letter_bytes_limit", limits.total, "Maximum bytes of letters"),
      now("user_letters_limit", limits.letters, "Maximum number of letters of one user"),
      now("user_letter_bytes_limit", limits.bytes, "Maximum bytes of one user's letters"),
      now("sender_letter_bytes_limit", limits.sender, "Maximum bytes of one sender's letters"),
      now("transfers", transfers, "Large messages being received"),
      now("transfer_bytes", transferBytes, "Bytes received of them"),
      now("transfer_bytes_limit", maximumTransferBytes, "Maximum bytes of them"),
      now("receipts_pending", receiptsPending, "Receipts waiting for offline senders"),
      total("receipts_lost_total", receiptsLost, "Receipts dropped because there were too many"),
      total("messages_refused_total", refused, "Messages that were refused"),
      total("handshakes_refused_total", handshakesRefused, "Handshakes that were refused"),
      total("sessions_evicted_total", sessionsEvicted, "Sessions dropped to make room"),
      total("sessions_expired_total", sessionsExpired, "Sessions dropped after they expired"),
    ]
  }
}

extension ServerCore {
  /// What the server holds now. It counts users and sessions one by one: not for every message.
  public func snapshot(at now: Instant) -> ServerSnapshot {
    var snapshot = ServerSnapshot()
    snapshot.uptime = UInt64(max(0, now.nanoseconds(since: startedAt ?? now)) / 1_000_000_000)
    (snapshot.connections, snapshot.waitingBytes) = (openLinks, waitingBytes)
    (snapshot.sessions, snapshot.maximumSessions) = (index.count, configuration.maximumSessions)
    snapshot.devices = deviceIndex.count
    snapshot.devicesWaitedFor = mailboxes.reduce(0) { $0 + ($1.isFree ? 0 : $1.devices.count) }
    (snapshot.users, snapshot.groups) = (users.count, groups.count)
    snapshot.letters = mailboxes.reduce(0) { $0 + ($1.isFree ? 0 : $1.count) }
    (snapshot.letterBytes, snapshot.limits) = (storedBytes, configuration.mailboxes)
    snapshot.transfers = sessions.reduce(0) { $0 + ($1.isKnown ? $1.traffic.transfers.incomingCount : 0) }
    snapshot.transfers += devices.reduce(0) { $0 + $1.partial.count }
    (snapshot.transferBytes, snapshot.maximumTransferBytes) = (incomingBytes, mostIncomingBytes)
    (snapshot.receiptsPending, snapshot.receiptsLost) = (pendingReceiptCount, receiptsLost)
    (snapshot.refused, snapshot.handshakesRefused) = (undeliverable, handshakesRefused)
    (snapshot.sessionsEvicted, snapshot.sessionsExpired) = (sessionsEvicted, sessionsExpired)
    snapshot.isDurable = configuration.isDurable
    return snapshot
  }
}
