package import IMWire

/// The control bits of a TCP header. Source: RFC 9293, section 3.1.
package struct TCPFlags: OptionSet, Sendable {
  /// The byte as it travels.
  package var rawValue: UInt8

  /// The bits of `rawValue`.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// No more data from the sender.
  package static let fin = TCPFlags(rawValue: 0x01)
  /// The first segment of a direction.
  package static let syn = TCPFlags(rawValue: 0x02)
  /// The connection ends at once.
  package static let rst = TCPFlags(rawValue: 0x04)
  /// Deliver without waiting.
  package static let psh = TCPFlags(rawValue: 0x08)
  /// The acknowledgment number counts.
  package static let ack = TCPFlags(rawValue: 0x10)
  /// The urgent pointer counts.
  package static let urg = TCPFlags(rawValue: 0x20)
}

/// One TCP segment in parts, made into bytes by `bytes(from:to:)`.
package struct TCPSegment: Sendable {
  /// The sender's port.
  package var sourcePort: UInt16
  /// The receiver's port.
  package var destinationPort: UInt16
  /// The number of the first payload byte.
  package var sequence: UInt32
  /// The next number expected from the other side.
  package var acknowledgment: UInt32
  /// The control bits.
  package var flags: TCPFlags
  /// The window as it travels, without scaling.
  package var window: UInt16 = 0xffff
  /// The urgent pointer.
  package var urgentPointer: UInt16 = 0
  /// Options; `bytes(from:to:)` fills them up with zero bytes to a multiple of four.
  package var options: [UInt8] = []
  /// What the segment carries.
  package var payload: [UInt8] = []
  /// Which checksum to write.
  package var checksum: ChecksumKind = .correct
  /// Header length in 32-bit words, when it is to differ from the truth.
  package var claimedHeaderWords: UInt8?

  /// A segment with the largest window and no options.
  package init(
    sourcePort: UInt16, destinationPort: UInt16, sequence: UInt32, acknowledgment: UInt32 = 0, flags: TCPFlags,
    payload: [UInt8] = []
  ) {
    self.sourcePort = sourcePort
    self.destinationPort = destinationPort
    self.sequence = sequence
    self.acknowledgment = acknowledgment
    self.flags = flags
    self.payload = payload
  }

  /// The segment's bytes; the addresses enter its checksum.
  package func bytes(from source: IPAddress, to destination: IPAddress) -> [UInt8] {
    let padded = options + [UInt8](repeating: 0, count: (4 - options.count % 4) % 4)
    var bytes: [UInt8] = []
    bytes.append(big: sourcePort)
    bytes.append(big: destinationPort)
    bytes.append(big: sequence)
    bytes.append(big: acknowledgment)
    bytes.append((claimedHeaderWords ?? UInt8(5 + padded.count / 4)) << 4)
    bytes.append(flags.rawValue)
    bytes.append(big: window)
    bytes.append(big: UInt16(0))
    bytes.append(big: urgentPointer)
    bytes += padded + payload
    let pseudo = pseudoHeader(from: source, to: destination, protocolNumber: 6, length: bytes.count)
    bytes.overwrite(at: 16, big: checksum.value(internetChecksum(pseudo + bytes)))
    return bytes
  }
}

/// TCP options as bytes, to be joined with `+`.
package enum TCPOption {
  /// One byte that fills.
  package static let noOperation: [UInt8] = [1]
  /// Selective acknowledgments are welcome.
  package static let sackPermitted: [UInt8] = [4, 2]

  /// The largest segment the sender takes.
  package static func maximumSegmentSize(_ size: UInt16) -> [UInt8] { [2, 4, UInt8(size >> 8), UInt8(size & 0xff)] }

  /// The power of two by which later windows are to be multiplied.
  package static func windowScale(_ shift: UInt8) -> [UInt8] { [3, 3, shift] }

  /// The sender's clock and the last one it saw from the other side.
  package static func timestamps(_ value: UInt32, echo: UInt32) -> [UInt8] {
    var bytes: [UInt8] = [8, 10]
    bytes.append(big: value)
    bytes.append(big: echo)
    return bytes
  }

  /// Ranges that have arrived beyond a hole: first number and the number after the last.
  package static func sack(_ blocks: [(UInt32, UInt32)]) -> [UInt8] {
    var bytes: [UInt8] = [5, UInt8(2 + 8 * blocks.count)]
    for (left, right) in blocks {
      bytes.append(big: left)
      bytes.append(big: right)
    }
    return bytes
  }
}
