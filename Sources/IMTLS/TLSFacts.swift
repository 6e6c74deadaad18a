package import IMWire

/// What the hellos and the handshake of one connection told, for outputs.
package struct TLSFacts: Sendable {
  /// The version that was chosen: 0x0303 is TLS 1.2, 0x0304 TLS 1.3. What the client offers at most before the server answered; 0 when
  /// nothing is known.
  package internal(set) var version: UInt16 = 0
  /// Whether the server chose `version`, or a key proved it.
  package internal(set) var isVersionChosen = false
  /// The suite by its IANA number; 0 when it is not known.
  package internal(set) var suite: UInt16 = 0
  /// The name that the client asked for (SNI); bytes outside of visible ASCII are "?".
  package internal(set) var serverName: String?
  /// The protocol that the server chose by ALPN, else `nil`. In TLS 1.3 it is encrypted, and read as all else is.
  package internal(set) var chosenProtocol: String?
  /// The first protocol that the client offers by ALPN.
  package internal(set) var offeredProtocol: String?
  /// The first four bytes of the client random, in network byte order; `nil` when it is not known.
  package internal(set) var randomPrefix: UInt32?
  /// Whether the client random was found by trying the secrets of the log, and not read in a hello.
  package internal(set) var isFoundByTrial = false
  /// Whether the session was resumed, by ticket, id or pre-shared key; `nil` when it is not known.
  package internal(set) var isResumed: Bool?
  /// Whether the server sent a HelloRetryRequest.
  package internal(set) var isRetried = false
  /// Whether the client offered early data, and then what became of it: `nil` while not known.
  package internal(set) var offersEarlyData = false
  /// Whether the server accepted early data.
  package internal(set) var isEarlyDataAccepted: Bool?
  /// Whether the ClientHello has an encrypted one inside (or a dummy of it).
  package internal(set) var offersEncryptedHello = false
  /// When the last byte of the first ClientHello was captured.
  package internal(set) var helloTime: Timestamp?
  /// When the last byte of the later one of both Finished messages was captured.
  package internal(set) var finishedTime: Timestamp?
  /// JA3 of the ClientHello: the 16 bytes of its MD5.
  package internal(set) var ja3: (UInt64, UInt64)?
  /// JA4 of the ClientHello (FoxIO), without its hashes: ten ASCII characters in 16 bytes, the rest zero.
  var ja4Head: (UInt64, UInt64)?
  /// The first six bytes of both hashes of JA4, each in the upper 48 bits.
  var ja4Hashes: (UInt64, UInt64) = (0, 0)

  /// From the ClientHello to the last Finished; `nil` where one of them was not read.
  package var handshakeTime: Nanoseconds? {
    guard let helloTime, let finishedTime, finishedTime >= helloTime else { return nil }
    return finishedTime.time(since: helloTime)
  }

  /// Facts of nothing.
  package init() {}
}
