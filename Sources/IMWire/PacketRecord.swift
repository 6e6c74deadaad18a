/// Where one captured packet stands in a batch of bytes, and what the capture knows about it.
///
/// A batch is a `RawSpan` and a `Span<PacketRecord>`. Whoever makes a batch promises that `offset + capturedLength` lies
/// inside the bytes and that `PacketRecord.slack` readable bytes follow the last packet, so that eight-byte loads near
/// the end of a packet stay inside the buffer.
@frozen
public struct PacketRecord: Sendable, BitwiseCopyable {
  /// Bytes that must be readable after the last packet of a batch.
  @inlinable public static var slack: Int { 16 }

  /// When the packet was captured.
  public var timestamp: Timestamp
  /// The packet's number in its capture, from 1; records that a filter left out keep their number.
  public var number: UInt64
  /// Where the packet's first byte stands in the batch.
  public var offset: UInt32
  /// Bytes captured.
  public var capturedLength: UInt32
  /// Bytes the packet had on the wire, as the capture claims.
  public var originalLength: UInt32
  /// The link type (`LINKTYPE_` value) of the packet's interface.
  public var linkType: UInt16
  /// The interface's index in the capture, from 0.
  public var interface: UInt16

  /// A record of its parts.
  @inlinable public init(
    timestamp: Timestamp, number: UInt64, offset: UInt32, capturedLength: UInt32,
    originalLength: UInt32, linkType: UInt16, interface: UInt16
  ) {
    self.timestamp = timestamp
    self.number = number
    self.offset = offset
    self.capturedLength = capturedLength
    self.originalLength = originalLength
    self.linkType = linkType
    self.interface = interface
  }
}
