/// Where the payload of an IP datagram stands in borrowed bytes.
struct PayloadPlace: BitwiseCopyable {
  /// Its first byte.
  var start: Int
  /// Behind its last byte, by the datagram's own account.
  let wireEnd: Int
  /// Behind the last byte of it that was captured; at most `wireEnd`.
  let end: Int

  /// The bytes that are there.
  @inline(__always)
  var captured: Int { end &- start }

  /// The payload that goes from `start` to the same ends: what stands behind a header in it.
  func from(_ start: Int) -> PayloadPlace { PayloadPlace(start: start, wireEnd: wireEnd, end: end) }
}
