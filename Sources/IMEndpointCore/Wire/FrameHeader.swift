/// The 28 bytes every frame begins with, in network byte order.
///
///      0          4    5    6      8           12          16   17   18       20          24          28
///     +----------+----+----+------+-----------+-----------+----+----+--------+-----------+-----------+
///     | DECAFBAD | maj| min| kind | sequence  | Unix time |enc |zip | session| body bytes| CRC-32    |
///     +----------+----+----+------+-----------+-----------+----+----+--------+-----------+-----------+
///
/// The checksum covers the body as it is on the wire, and is 0 without one. The time is that of this transmission, in
/// seconds: a frame sent again differs from the first in it alone.
@frozen
public struct FrameHeader: Hashable, Sendable, BitwiseCopyable {
  /// The version the sender speaks.
  public var version: ProtocolVersion
  /// What the frame is for.
  public var kind: FrameKind
  /// The frame's number; an acknowledgment without a body repeats the number it acknowledges.
  public var sequence: SequenceNumber
  /// Unix time of the transmission, in seconds.
  public var time: UInt32
  /// The label of an encryption: 0 none.
  public var encryption: UInt8
  /// 1: the body is in zlib's format.
  public var compression: UInt8
  /// Which session of the connection the frame belongs to.
  public var session: UInt16
  /// Bytes after the header.
  public var bodyCount: UInt32
  /// CRC-32 of those bytes.
  public var checksum: UInt32

  /// Bytes of a header.
  @inlinable public static var byteCount: Int { 28 }
  /// The first four bytes.
  @inlinable public static var magic: UInt32 { 0xdeca_fbad }
  /// The longest body there may be.
  @inlinable public static var maximumBodyCount: Int { 10 << 20 }

  /// A header of its parts.
  @inlinable public init(
    version: ProtocolVersion = .current, kind: FrameKind, sequence: SequenceNumber, time: UInt32, encryption: UInt8 = 0,
    compression: UInt8 = 0, session: UInt16, bodyCount: UInt32 = 0, checksum: UInt32 = 0
  ) {
    self.version = version
    self.kind = kind
    self.sequence = sequence
    self.time = time
    self.encryption = encryption
    self.compression = compression
    self.session = session
    self.bodyCount = bodyCount
    self.checksum = checksum
  }

  /// The header of a control frame with `body`.
  init(
    control body: [UInt8], _ sequence: SequenceNumber, version: ProtocolVersion, time: UInt32, session: UInt16
  ) {
    self.init(
      version: version, kind: .control, sequence: sequence, time: time, session: session,
      bodyCount: UInt32(truncatingIfNeeded: body.count), checksum: Checksum.of(body.span.bytes))
  }

  /// Reads the 28 bytes from `offset`; the caller has proved that they are there and begin with the magic.
  @inline(__always)
  package init(_ bytes: RawSpan, at offset: Int) {
    func word(_ index: Int) -> UInt32 {
      UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset + index * 4, as: UInt32.self))
    }
    let (what, labels) = (word(1), word(4))
    version = ProtocolVersion(UInt8(what >> 24), UInt8(what >> 16 & 0xff))
    kind = FrameKind(rawValue: UInt16(what & 0xffff))
    sequence = SequenceNumber(rawValue: word(2))
    time = word(3)
    encryption = UInt8(labels >> 24)
    compression = UInt8(labels >> 16 & 0xff)
    session = UInt16(labels & 0xffff)
    bodyCount = word(5)
    checksum = word(6)
  }

  /// Appends the 28 bytes.
  func append(to bytes: inout [UInt8]) {
    let what = UInt32(version.major) << 24 | UInt32(version.minor) << 16 | UInt32(kind.rawValue)
    let labels = UInt32(encryption) << 24 | UInt32(compression) << 16 | UInt32(session)
    let words: InlineArray<7, UInt32> = [
      Self.magic.bigEndian, what.bigEndian, sequence.rawValue.bigEndian, time.bigEndian, labels.bigEndian,
      bodyCount.bigEndian, checksum.bigEndian,
    ]
    words.span.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }
}
