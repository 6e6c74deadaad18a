import IMWire

/// The two ends of a connection, in whatever order.
struct EndpointPair: Hashable {
  private let lower: Endpoint, upper: Endpoint

  init(_ one: Endpoint, _ other: Endpoint) {
    let isFirst =
      (one.address.high, one.address.low, UInt64(one.port)) <= (
        other.address.high, other.address.low, UInt64(other.port)
      )
    lower = isFirst ? one : other
    upper = isFirst ? other : one
  }
}
