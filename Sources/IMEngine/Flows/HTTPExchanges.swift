/// What HTTP has said on a connection that no plan reads yet.
struct HTTPExchanges {
  /// What a request asks for that its answer's length depends on.
  enum Request: UInt8 {
    case other, head, connect
  }

  /// What requests without an answer have asked for, the oldest in the lowest two bits; further ones are not kept.
  private var asked: UInt64 = 0
  private var askedCount = 0
  /// Whether side 0 and side 1 are in a body of chunks, after the end of one.
  var isInChunks: InlineArray<2, Bool> = [false, false]

  /// Takes note of a request.
  mutating func ask(_ request: Request) {
    guard askedCount < 32 else { return }
    asked |= UInt64(request.rawValue) << UInt64(2 * askedCount)
    askedCount += 1
  }

  /// Whether the answer with a status has a body, by what it answers.
  mutating func hasBody(answer status: Int) -> Bool {
    if status < 200, status != 101 { return false }
    let request = askedCount > 0 ? Request(rawValue: UInt8(asked & 3)) : nil
    if askedCount > 0 {
      asked >>= 2
      askedCount -= 1
    }
    if status == 101 || status == 204 || status == 304 || request == .head { return false }
    return request != .connect || status >= 300
  }
}
