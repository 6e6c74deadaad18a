/// The position of a message in its stream: an offset, and its ordinal among the messages that begin at that byte.
package struct StreamPosition: Equatable, Sendable, BitwiseCopyable {
  /// The offset of its first byte.
  package let offset: UInt64
  /// The number of earlier messages that begin at the same byte, at most 65,535.
  package let ordinal: UInt16

  /// The position of the message with the given ordinal, 0 or greater, among those at `offset`.
  package init(offset: UInt64, ordinal: UInt16 = 0) {
    self.offset = offset
    self.ordinal = ordinal
  }

  /// The position of the next message, which begins at the same byte.
  package var next: StreamPosition {
    StreamPosition(offset: offset, ordinal: ordinal == .max ? .max : ordinal &+ 1)
  }
}
