/// Bodies in zlib's format (RFC 1950).
enum Deflate {
  /// Shorter bodies are not worth it.
  static let minimumCount = 96

  /// A body may be so many times as long as it is compressed, or `freeCount` if that is more. What is longer is made to fill
  /// memory, not to be read: text becomes four to ten times shorter, and zlib's format allows a factor of 1,032.
  static let largestRatio = 100
  /// Longer bodies are not compressed: they are films and archives.
  static let largestCount = 1 << 20
  /// See `largestRatio`.
  static let freeCount = 64 << 10

  /// `body` compressed; `nil` when that would not save a tenth, or when a receiver would not inflate it again.
  static func compressed(_ body: [UInt8]) -> [UInt8]? {
    guard body.count >= minimumCount else { return nil }
    let limit = body.count - body.count / 10
    // SAFETY: a codec writes at most as many bytes as it is told, and says how many.
    let result = [UInt8](unsafeUninitializedCapacity: limit) { output, count in
      guard let base = output.baseAddress else { return }
      count = body.withUnsafeBytes { input in
        input.baseAddress.map { min(limit, max(0, Codec.compress($0, input.count, base, limit))) } ?? 0
      }
    }
    return result.isEmpty || body.count > longest(result.count) ? nil : result
  }

  /// The most bytes that so many compressed ones may expand to.
  static func longest(_ count: Int) -> Int {
    min(FrameHeader.maximumBodyCount, max(freeCount, min(count, FrameHeader.maximumBodyCount) * largestRatio))
  }

  /// What `body` was before it was compressed; `nil` when it is not zlib's format or would be longer than `limit` or
  /// `largestRatio` allows. The memory taken follows what comes out, and is at most four times that.
  static func inflated(_ body: RawSpan, limit: Int = FrameHeader.maximumBodyCount) -> [UInt8]? {
    let limit = min(limit, longest(body.byteCount))
    var capacity = min(limit, max(1_024, body.byteCount * 4))
    while true {
      var outcome: Codec.Outcome?
      // SAFETY: a codec writes at most as many bytes as it is told, and says how many.
      let result = body.withUnsafeBytes { input in
        [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
          guard let bytes = input.baseAddress, let base = output.baseAddress else { return }
          var produced = 0
          outcome = Codec.Outcome(rawValue: Codec.inflate(bytes, input.count, base, capacity, &produced))
          count = outcome == .done ? min(capacity, max(0, produced)) : 0
        }
      }
      if outcome == .done { return result }
      guard outcome == .full, capacity < limit else { return nil }
      capacity = min(limit, capacity * 4)
    }
  }
}
