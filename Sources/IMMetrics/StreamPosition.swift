/// Where in its stream a message begins: an offset, and its number among those that begin at that byte.
package struct StreamPosition: Equatable, Sendable, BitwiseCopyable {
  /// The offset of its first byte.
  package let offset: UInt64
  /// How many messages that begin at the same byte come before it; it stops at 65,535.
  package let ordinal: UInt16

  /// The position of the message with the number `ordinal`, from 0, of those at `offset`.
  package init(offset: UInt64, ordinal: UInt16 = 0) {
    self.offset = offset
    self.ordinal = ordinal
  }

  /// That of the message after it, which begins at the same byte.
  package var next: StreamPosition {
    StreamPosition(offset: offset, ordinal: ordinal == .max ? .max : ordinal &+ 1)
  }
}
