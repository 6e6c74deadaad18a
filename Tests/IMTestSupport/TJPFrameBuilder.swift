/// The types of a `tjp` frame. Source: `Samples/README.md`, "Header".
package enum TJPType {
  /// A message.
  package static let data: UInt16 = 0
  /// A sign of life, with an empty body.
  package static let heartbeat: UInt16 = 1
  /// An acknowledgment.
  package static let ack: UInt16 = 2
  /// The version handshake.
  package static let control: UInt16 = 3
  /// "Read".
  package static let receipt: UInt16 = 4
}

/// One `tjp` frame in parts, made into bytes by `bytes`.
///
///      0        4    5    6      8          12          16   17   18        20         24
///     +--------+----+----+------+----------+-----------+----+----+---------+----------+----------+------
///     | magic  |maj |min | type | sequence | timestamp |enc |zip | session | body len | checksum | body
///     +--------+----+----+------+----------+-----------+----+----+---------+----------+----------+------
///
/// All numbers are big-endian. The checksum is the CRC-32 of the body as it travels, and 0 for an empty body.
/// Source: `Samples/README.md`, "Header".
package struct TJPFrameBuilder: Sendable {
  /// How the checksum is written.
  package enum Checksum: Sendable, Equatable {
    /// As the protocol says.
    case bigEndian
    /// Turned round, as some servers do.
    case littleEndian
    /// With a bit turned over.
    case bad
    /// This number, whatever the body.
    case value(UInt32)
  }

  /// The first four bytes.
  package var magic: UInt32 = 0xdeca_fbad
  /// Major and minor version.
  package var version: (UInt8, UInt8) = (1, 0)
  /// One of `TJPType`, or any other number.
  package var type: UInt16
  /// Category in the high byte, counter in the low three.
  package var sequence: UInt32
  /// Seconds since 1970 of this transmission.
  package var timestamp: UInt32 = 1_700_000_000
  /// The encryption label.
  package var encryption: UInt8 = 0
  /// The compression label; 1 says zlib. The body is written as it is given.
  package var compression: UInt8 = 0
  /// The folded session identifier.
  package var session: UInt16
  /// The body as it travels.
  package var body: [UInt8]
  /// How the checksum is written.
  package var checksum: Checksum = .bigEndian
  /// What the length field says, where it is to lie.
  package var claimedLength: UInt32?

  /// A frame as the protocol wants it.
  package init(type: UInt16, sequence: UInt32, session: UInt16 = 0x1a2b, body: [UInt8] = []) {
    self.type = type
    self.sequence = sequence
    self.session = session
    self.body = body
  }

  /// A message with one text in it.
  package init(text: String, sequence: UInt32, session: UInt16 = 0x1a2b) {
    self.init(type: TJPType.data, sequence: sequence, session: session, body: TLVBuilder().text(text).bytes)
  }

  /// The server's kind of ACK: the original's sequence in the header, no body.
  package static func echoACK(of sequence: UInt32, session: UInt16 = 0x1a2b) -> TJPFrameBuilder {
    TJPFrameBuilder(type: TJPType.ack, sequence: sequence, session: session)
  }

  /// The client's kind of ACK: a sequence of its own, the original's in a body of four bytes that is not a TLV.
  package static func bodyACK(of original: UInt32, sequence: UInt32, session: UInt16 = 0x1a2b) -> TJPFrameBuilder {
    var body: [UInt8] = []
    body.append(big: original)
    return TJPFrameBuilder(type: TJPType.ack, sequence: sequence, session: session, body: body)
  }

  /// A heartbeat.
  package static func heartbeat(sequence: UInt32, session: UInt16 = 0x1a2b) -> TJPFrameBuilder {
    TJPFrameBuilder(type: TJPType.heartbeat, sequence: sequence, session: session)
  }

  /// The header's 28 bytes and the body.
  package var bytes: [UInt8] {
    let sum = body.isEmpty ? 0 : CRC32.checksum(body)
    var bytes: [UInt8] = []
    bytes.append(big: magic)
    bytes += [version.0, version.1]
    bytes.append(big: type)
    bytes.append(big: sequence)
    bytes.append(big: timestamp)
    bytes += [encryption, compression]
    bytes.append(big: session)
    bytes.append(big: claimedLength ?? UInt32(body.count))
    switch checksum {
    case .bigEndian: bytes.append(big: sum)
    case .littleEndian: bytes.append(little: sum)
    case .bad: bytes.append(big: sum ^ 0x0001_0000)
    case .value(let value): bytes.append(big: value)
    }
    return bytes + body
  }
}
