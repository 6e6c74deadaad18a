import IMEngine
import IMTLS

/// What of a connection's TLS was not read although there is a key log, and why.
package struct UnreadTLS: Sendable {
  /// The name of the reason why most of the bytes were not read: `no_key`.
  package let reason: StaticString
  /// Whether it is that the key log has no secrets for the client random.
  package let hasNoKey: Bool
  /// Bytes of records, headers included, of all reasons; not those in the clear before TLS began.
  package let byteCount: UInt64
  /// The first eight hexadecimal digits of the client random, which a key log names secrets by; `nil` when it is not known.
  package let clientRandom: String?
  /// Whether data of the connection were decrypted all the same.
  package let isPart: Bool

  /// That of a connection; `nil` where all was read.
  init?(_ carrier: CarrierReport) {
    let count = carrier.unread.total - carrier.unread[.beforeTLS]
    guard let reason = carrier.unreadReason, count > 0 else { return nil }
    self.reason = reason.name
    hasNoKey = reason == .noKey
    byteCount = count
    clientRandom = carrier.tls?.randomText
    isPart = carrier.isDecrypted
  }
}
