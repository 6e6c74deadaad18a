/// Where a message comes from, end to end: what the hops on its way do not change.
public struct MessageOrigin: Hashable, Sendable, BitwiseCopyable {
  /// The device that sent it, as the server knows it.
  public var device: ClientIdentity
  /// Its number among those of the device to the same user or group: 1, 2, 3 and on in each lane; 0: outside the order.
  ///
  /// The lane is in the top byte: messages of different priorities may overtake one another, and media text, so each of
  /// them counts by itself.
  public var number: UInt64
  /// When it was sent, by the sender's clock: milliseconds since 1970.
  public var milliseconds: UInt64

  /// An origin of its parts.
  public init(device: ClientIdentity, number: UInt64, milliseconds: UInt64) {
    self.device = device
    self.number = number
    self.milliseconds = milliseconds
  }

  /// The lane that numbers a message of this category and priority.
  static func lane(_ category: SequenceCategory, _ priority: Priority) -> UInt8 {
    let order: UInt8 =
      switch priority {
      case .normal: 0
      case .urgent: 1
      case .high: 2
      case .low: 3
      }
    return order << 1 | (category == .media ? 1 : 0)
  }

  /// The lane of `number`.
  static func lane(of number: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: number >> 56) }
  /// The number without its lane.
  static func counter(of number: UInt64) -> UInt64 { number & (1 << 56 - 1) }

  /// The value on the way to the server: number and time.
  var outgoing: [UInt8] { TLV.bigEndian(number) + TLV.bigEndian(milliseconds) }
  /// The value on the way to a recipient: device, number and time.
  var forwarded: [UInt8] { device.bytes + outgoing }

  /// Reads the value that a server has written into a message; `nil` where there is none.
  init?(forwardedIn body: RawSpan) {
    guard let range = TLV.value(of: .origin, in: body), range.count == 32 else { return nil }
    let start = range.lowerBound
    device = ClientIdentity(
      high: TLV.number(body, start..<start + 8), low: TLV.number(body, start + 8..<start + 16))
    number = TLV.number(body, start + 16..<start + 24)
    milliseconds = TLV.number(body, start + 24..<start + 32)
  }
}

extension Message {
  /// Whether it has a place in the order of its conversation. Typing notifications, and statuses, have none: they
  /// are of use to those who are there, and are not stored.
  public var isOrdered: Bool {
    switch content {
    case .typing, .status: false
    default: true
    }
  }
}
