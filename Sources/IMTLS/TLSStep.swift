/// What one call of `TLSConnection.next` found at the front of the bytes.
package enum TLSStep {
  /// The bytes do not suffice. The caller keeps them all and calls again when it has at least `count`, or when no more will come.
  case more(count: Int)
  /// A record whose tag is right and that carries application data.
  case plaintext(TLSPlaintext)
  /// `count` bytes that are TLS's own: handshake, alerts, empty records.
  case control(count: Int, TLSControl)
  /// `count` bytes that are passed over without having been read.
  case unread(count: Int, TLSUnread)
  /// Nothing is consumed. What is missing may still come: a key, or what the other direction tells. The caller keeps the bytes and
  /// calls again when `TLSConnection.canRetry` says so, or calls `giveUpWaiting` and then `next`.
  case undecided(TLSUnread)
}

/// Application data of one record.
package struct TLSPlaintext {
  /// Bytes of the record with its header: consumed.
  package var count: Int
  /// The decrypted bytes, in the context's scratch buffer until the next call of any connection of this context. Never empty.
  package var bytes: UnsafeRawBufferPointer
  /// Index of the ciphertext byte that belongs to the first decrypted byte, from the front of the bytes that were handed in. The others
  /// follow one by one.
  package var ciphertextIndex: Int
  /// Whether this is early data of TLS 1.3.
  package var isEarly: Bool
}

/// What a consumed record of TLS's own was.
package enum TLSControl: Equatable {
  case clientHello
  case serverHello
  case helloRetryRequest
  /// Another handshake message, or part of one; its type, 255 when it is not known.
  case handshake(type: UInt8)
  case changeCipherSpec
  /// An alert that was read: level 1 is a warning, 2 fatal; the description is a number of RFC 8446, section 6.
  case alert(level: UInt8, description: UInt8)
  case keyUpdate
  /// Application data of no bytes, or padding alone.
  case empty
  /// Heartbeats, and types of records that this reader does not know.
  case other
}

/// Why bytes were not read. Raw values are places in `TLSUnreadBytes`.
package enum TLSUnread: UInt8, CaseIterable {
  /// The log has no secret for the connection's client random.
  case noKey
  /// The secret came after the bytes had been given up. Told by `takeLateByteCount`, never in a step.
  case keyLate
  /// No ClientHello was seen, and no secret of the log fits.
  case noHello
  /// TLS 1.2 without a ServerHello: its random makes the keys.
  case noServerHello
  /// A version or suite that is named and not read.
  case suite
  /// Keys are there, but none of them opens the record.
  case tag
  /// A bound on work or memory was reached.
  case limit
  /// Bytes of the record are missing in the capture.
  case cut
  /// Bytes between a gap and the next record's boundary; no record was recognised in them.
  case noRecord
  /// Early data that the server rejected; the client sends it again after the handshake.
  case earlyRejected
  /// Bytes in the clear before TLS began, of a connection that nothing decodes. Told by the caller, never in a step.
  case beforeTLS

  /// The name in outputs.
  package var name: StaticString {
    switch self {
    case .noKey: "no_key"
    case .keyLate: "key_late"
    case .noHello: "no_hello"
    case .noServerHello: "no_server_hello"
    case .suite: "suite"
    case .tag: "tag"
    case .limit: "limit"
    case .cut: "cut"
    case .noRecord: "no_record"
    case .earlyRejected: "early_rejected"
    case .beforeTLS: "before_tls"
    }
  }
}

/// Bytes that were not read, by reason.
package struct TLSUnreadBytes: Sendable {
  private var counts: InlineArray<11, UInt64> = InlineArray(repeating: 0)

  /// None.
  package init() {}

  /// The bytes of one reason.
  package subscript(_ reason: TLSUnread) -> UInt64 { counts[Int(reason.rawValue)] }
  /// Those of all reasons.
  package var total: UInt64 { TLSUnread.allCases.reduce(0) { $0 &+ self[$1] } }

  /// Counts `count` bytes.
  package mutating func add(_ reason: TLSUnread, _ count: UInt64) { counts[Int(reason.rawValue)] &+= count }

  /// Counts as `to` what was counted as `from`: at most `count` bytes. Answers how many they were.
  @discardableResult
  package mutating func move(_ count: UInt64, from: TLSUnread, to: TLSUnread?) -> UInt64 {
    let moved = min(count, self[from])
    counts[Int(from.rawValue)] -= moved
    if let to { counts[Int(to.rawValue)] &+= moved }
    return moved
  }
}

/// What `lose` made of a gap.
package enum TLSLoss: Equatable {
  /// The gap lies within a record whose header was seen, or ends with it: the next boundary is known.
  case isInsideRecord
  /// The next boundary is searched.
  case isSearching
}
