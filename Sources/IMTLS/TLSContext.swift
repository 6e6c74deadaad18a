package import IMWire

/// What the TLS connections of one engine share: the key table, libcrypto's contexts, the scratch buffer, the budget of trials and
/// the counters. Not for two threads at a time.
package final class TLSContext {
  /// The secrets of the logs.
  package let keys: KeyTable
  /// Records, bytes, tries of all connections.
  package internal(set) var counters = TLSCounters()

  /// A context over `keys`, with at most `cipherContextLimit` of libcrypto's contexts. `TLSCrypto.prepare()` has been called.
  package init(keys: KeyTable, cipherContextLimit: Int = 4_096) {
    self.keys = keys
  }
}

/// What the reading of TLS did.
package struct TLSCounters: Sendable, Equatable {
  /// Records that were opened.
  package internal(set) var records: UInt64 = 0
  /// Bytes of plaintext that were handed on.
  package internal(set) var plaintextBytes: UInt64 = 0
  /// Directions that were found again after a gap.
  package internal(set) var recoveries: UInt64 = 0
  /// Gaps at an unknown place of the records.
  package internal(set) var gaps: UInt64 = 0
  /// Tries of keys and numbers: of records in their place one each, and all of the way back.
  package internal(set) var tries: UInt64 = 0
  /// Secrets that were tried for connections without a hello (rules 7 and 8).
  package internal(set) var triedSecrets: UInt64 = 0
  /// Connections whose secrets were found so.
  package internal(set) var foundByTrial: UInt64 = 0
  /// Searches that a bound ended.
  package internal(set) var limitedSearches: UInt64 = 0
}
