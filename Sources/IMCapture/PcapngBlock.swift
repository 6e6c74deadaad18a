import IMWire

/// The blocks of a pcapng file, in this machine's byte order. Source: draft-ietf-opsawg-pcapng.
struct PcapngBlock {
  private var bytes: [UInt8] = []

  /// A section header: byte order magic, version 1.0, a section of unknown length, and what has written it.
  static func section(_ application: String) -> [UInt8] {
    block(0x0a0d_0d0a) { body in
      body.word(0x1a2b_3c4d)
      body.half(1)
      body.half(0)
      body.word(.max)
      body.word(.max)
      body.option(4, application)
      body.endOfOptions()
    }
  }

  /// An interface of packets of one link type, with times in nanoseconds; without a name where it is empty.
  static func interface(_ linkType: UInt16, _ name: String) -> [UInt8] {
    block(1) { body in
      body.half(linkType)
      body.half(0)
      // No limit on the length of packets.
      body.word(0)
      if !name.isEmpty { body.option(2, name) }
      // Nanoseconds.
      body.option(9, [9])
      body.endOfOptions()
    }
  }

  /// Appends a packet of the interface with this index, with a comment where there is one.
  static func packet(
    _ record: PacketRecord, _ bytes: RawSpan, _ interface: UInt32, _ comment: String?, to out: inout [UInt8]
  ) {
    let first = Int(record.offset), count = Int(record.capturedLength)
    let time = UInt64(max(0, record.timestamp.nanoseconds))
    guard comment != nil else {
      let padding = -count & 3
      let length = UInt32(truncatingIfNeeded: 32 + count + padding)
      let head: InlineArray<7, UInt32> = [
        6, length, interface, UInt32(truncatingIfNeeded: time >> 32), UInt32(truncatingIfNeeded: time),
        record.capturedLength, record.originalLength,
      ]
      let tail: InlineArray<2, UInt32> = [0, length]
      withUnsafeBytes(of: head) { out.append(contentsOf: $0) }
      bytes.extracting(first..<first + count).withUnsafeBytes { out.append(contentsOf: $0) }
      // What fills up the last word, and the length again.
      withUnsafeBytes(of: tail) {
        out.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[(4 - padding)...]))
      }
      return
    }
    out += block(6) { body in
      body.word(interface)
      body.word(UInt32(truncatingIfNeeded: time >> 32))
      body.word(UInt32(truncatingIfNeeded: time))
      body.word(record.capturedLength)
      body.word(record.originalLength)
      bytes.extracting(first..<first + count).withUnsafeBytes { body.bytes += $0 }
      body.pad()
      if let comment {
        body.option(1, comment)
        body.endOfOptions()
      }
    }
  }

  /// Secrets of TLS: lines of a key log.
  static func secrets(_ lines: [UInt8]) -> [UInt8] {
    block(10) { body in
      // "TLSK".
      body.word(0x544c_534b)
      body.word(UInt32(truncatingIfNeeded: lines.count))
      body.bytes += lines
      body.pad()
    }
  }

  /// A block: its type, its length, its body, and the length again.
  private static func block(_ type: UInt32, _ make: (inout PcapngBlock) -> Void) -> [UInt8] {
    var block = PcapngBlock()
    block.word(type)
    block.word(0)
    make(&block)
    let length = UInt32(block.bytes.count + 4)
    block.word(length)
    withUnsafeBytes(of: length) { length in
      for i in 0..<4 { block.bytes[4 + i] = length[i] }
    }
    return block.bytes
  }

  private mutating func word(_ value: UInt32) { withUnsafeBytes(of: value) { bytes += $0 } }
  private mutating func half(_ value: UInt16) { withUnsafeBytes(of: value) { bytes += $0 } }
  private mutating func pad() { while bytes.count % 4 != 0 { bytes.append(0) } }
  private mutating func option(_ code: UInt16, _ text: String) { option(code, Array(text.utf8)) }
  private mutating func option(_ code: UInt16, _ value: [UInt8]) {
    let value = value.prefix(Int(UInt16.max))
    half(code)
    half(UInt16(value.count))
    bytes += value
    pad()
  }
  private mutating func endOfOptions() { word(0) }
}
