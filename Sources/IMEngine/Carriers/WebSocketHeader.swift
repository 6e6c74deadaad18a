/// The header of a WebSocket frame (RFC 6455, section 5.2).
///
///      0 bit 0  1   2   3   4..7     8    9..15      0, 2 or 8 bytes   0 or 4 bytes
///     +-------+----+---------+--------+------+---------+-----------------+-------------+---------
///     | final |RSV1| RSV2, 3 | opcode | mask | length  | longer length   | mask's key  | payload
///     +-------+----+---------+--------+------+---------+-----------------+-------------+---------
///
/// A length of 126 is continued in two bytes, one of 127 in eight, big endian. Clients mask, servers do not. RSV1 says in
/// the first frame of a message that it is compressed (RFC 7692).
struct WebSocketHeader: Equatable {
  /// What the bytes at a place are.
  enum Outcome: Equatable {
    /// As far as they go, a header.
    case needMore
    /// Not a header.
    case invalid
    case header(WebSocketHeader)
  }

  /// The longest payload that is believed, and the longest header.
  static let longestPayload = 1 << 30
  static let longest = 14

  var isFinal: Bool
  /// RSV1.
  var isCompressed: Bool
  /// 0 goes on with a message, 1 is text, 2 binary, 8 closes, 9 pings, 10 answers that.
  var opcode: UInt8
  /// The mask's key as a big-endian number; `nil` without a mask.
  var key: UInt32?
  /// The payload's length, and that of the header.
  var payloadCount: Int
  var count: Int

  /// Whether it belongs to no message.
  var isControl: Bool { opcode >= 8 }
  /// The whole frame's length.
  var frameCount: Int { count + payloadCount }

  /// Reads the header at `at`. `isMasked` is what the sender's side asks for; `nil` takes either.
  static func read(
    _ bytes: borrowing Bytes, _ at: Int, _ end: Int, isMasked: Bool?, allowsCompression: Bool
  ) -> Outcome {
    guard at < end else { return .needMore }
    let first = bytes.u8(at)
    let opcode = first & 15
    let isFinal = first & 0x80 != 0
    let isCompressed = first & 0x40 != 0
    guard first & 0x30 == 0, opcode <= 2 || (8...10).contains(opcode), !isCompressed || allowsCompression else {
      return .invalid
    }
    if opcode >= 8, !isFinal || isCompressed { return .invalid }
    if opcode == 0, isCompressed { return .invalid }
    guard end - at >= 2 else { return .needMore }
    let second = bytes.u8(at + 1)
    let masked = second & 0x80 != 0
    if let isMasked, masked != isMasked { return .invalid }
    var payload = Int(second & 0x7f)
    var count = 2
    if opcode >= 8 {
      // A code of two bytes, or nothing.
      guard payload <= 125, opcode != 8 || payload != 1 else { return .invalid }
    } else if payload == 126 {
      guard end - at >= 4 else { return .needMore }
      payload = Int(bytes.u16(at + 2))
      count = 4
      guard payload > 125 else { return .invalid }
    } else if payload == 127 {
      guard end - at >= 10 else { return .needMore }
      let long = bytes.u64(at + 2)
      count = 10
      guard long > 0xffff, long <= UInt64(longestPayload) else { return .invalid }
      payload = Int(long)
    }
    var key: UInt32?
    if masked {
      guard end - at >= count + 4 else { return .needMore }
      key = bytes.u32(at + count)
      count += 4
    }
    return .header(
      WebSocketHeader(
        isFinal: isFinal, isCompressed: isCompressed, opcode: opcode, key: key, payloadCount: payload, count: count))
  }

  /// Copies `length` payload bytes at `offset` to `target`, without their mask; `phase` of them came before.
  static func unmask(
    _ bytes: borrowing Bytes, _ offset: Int, _ length: Int, key: UInt32?, phase: Int,
    to target: UnsafeMutableRawPointer
  ) {
    let target = UnsafeMutableRawBufferPointer(start: target, count: length)
    guard let key else {
      bytes.span.withUnsafeBytes { raw in
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: raw[offset..<offset + length]))
      }
      return
    }
    // The key, turned so that it begins where the payload goes on, twice over.
    let turn = UInt32(truncatingIfNeeded: phase & 3) &* 8
    let turned = key &<< turn | (turn == 0 ? 0 : key &>> (32 &- turn))
    let word = (UInt64(turned) << 32 | UInt64(turned)).bigEndian
    var i = 0
    while i &+ 8 <= length {
      target.storeBytes(of: bytes.load(offset &+ i, as: UInt64.self) ^ word, toByteOffset: i, as: UInt64.self)
      i &+= 8
    }
    while i < length {
      target[i] = bytes.u8(offset &+ i) ^ UInt8(truncatingIfNeeded: word &>> UInt64((i & 7) &* 8))
      i &+= 1
    }
  }
}
