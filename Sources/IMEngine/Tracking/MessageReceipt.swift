package import IMWire

/// The first receipt of its level of a message: the receiver's side says that it was delivered, or read.
package struct MessageReceipt: Sendable, BitwiseCopyable {
  /// What a receipt says of a message.
  package enum Level: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    /// The receiver's application has it.
    case delivered
    /// A person has read it.
    case read
  }

  /// The message, by `Exchange.id`.
  package let exchange: UInt32
  /// What the receipt says.
  package let level: Level
  /// From the message's first copy to the receipt, in whole microseconds, never negative.
  package let latency: Nanoseconds
  /// The direction of the message, against which the receipt goes.
  package let direction: Direction
  /// The server's index, as in `ConnectionInfo.endpoint`.
  package let endpoint: UInt32

  /// A receipt of its parts.
  package init(exchange: UInt32, level: Level, latency: Nanoseconds, direction: Direction, endpoint: UInt32) {
    (self.exchange, self.level, self.latency) = (exchange, level, latency)
    (self.direction, self.endpoint) = (direction, endpoint)
  }
}
