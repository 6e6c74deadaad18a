import IMEngine
import IMMetrics
import IMWire

/// The hash that decides whether a session is in the sample: the same for every sensor and every run.
enum SessionSample {
  /// The hash of a connection's session; of its two ends, when the session has no name.
  static func hash(_ record: ConnectionRegistry.Record) -> UInt64 {
    switch record.pointee.session {
    case .number(let number): mix(number &+ 1)
    case .name(let name): mix(fnv1a(name.utf8))
    case .none: mix(words(record.pointee.info.client) ^ mix(words(record.pointee.info.server)))
    }
  }

  private static func words(_ endpoint: Endpoint) -> UInt64 {
    mix(endpoint.address.high) ^ mix(endpoint.address.low ^ UInt64(endpoint.port) << 48)
  }

  /// The finaliser of SplitMix64: every bit of the input moves every bit of the result.
  private static func mix(_ value: UInt64) -> UInt64 {
    var z = value &+ 0x9E37_79B9_7F4A_7C15
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }
}
