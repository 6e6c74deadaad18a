import Glibc
package import IMWire

/// Writes packets to a pcapng file, with comments: any link types, several interfaces, times in nanoseconds.
///
/// Blocks stand in this machine's byte order: a section header, an interface description in front of the first packet of
/// each interface, enhanced packet blocks. Source: draft-ietf-opsawg-pcapng.
package final class PcapngWriter {
  /// Where bytes are written once this many are waiting.
  private static let bufferSize = 65_536

  /// An interface of the file.
  private struct Lane: Hashable {
    let linkType: UInt16, name: String
  }

  /// The file's name in messages.
  private let path: String
  private let descriptor: Int32
  private let isOwned: Bool
  private var buffer: [UInt8] = []
  private var lanes: [Lane: UInt32] = [:]
  private var isClosed = false

  /// Writes to an open descriptor. `name` is the file's in messages, `application` what the file says has written it.
  package init(descriptor: Int32, isOwned: Bool, name: String, application: String) {
    path = name
    self.descriptor = descriptor
    self.isOwned = isOwned
    // Byte order magic, version 1.0, a section of unknown length.
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

  deinit {
    if isOwned, !isClosed { _ = Glibc.close(descriptor) }
  }

  /// Adds one packet of the interface `interface`, with a comment where there is something to say of it. `bytes` is the batch
  /// that `record` points into. Throws `.ioError` when waiting bytes cannot be written.
  package func write(
    _ record: PacketRecord, _ bytes: RawSpan, interface: String? = nil, comment: String? = nil
  ) throws(CaptureError) {
    let lane = lane(Lane(linkType: record.linkType, name: interface ?? ""))
    let first = Int(record.offset), count = Int(record.capturedLength)
    let time = UInt64(max(0, record.timestamp.nanoseconds))
    block(6) { body in
      body.word(lane)
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
    if buffer.count >= Self.bufferSize { try flush() }
  }

  /// Writes all waiting bytes. Throws `.ioError` naming the file and the system's reason.
  package func flush() throws(CaptureError) {
    var written = 0
    defer { buffer.removeFirst(written) }
    if let number = writeRest(of: buffer, from: &written, to: descriptor) { throw .system(path, "write", number) }
  }

  /// Writes all waiting bytes and closes the file. Closing twice does nothing.
  package func close() throws(CaptureError) {
    guard !isClosed else { return }
    try flush()
    isClosed = true
    if isOwned, Glibc.close(descriptor) != 0, Glibc.errno != EINTR { throw .system(path, "close", Glibc.errno) }
  }

  private func lane(_ lane: Lane) -> UInt32 {
    if let known = lanes[lane] { return known }
    let index = UInt32(lanes.count)
    lanes[lane] = index
    block(1) { body in
      body.half(lane.linkType)
      body.half(0)
      // No limit on the length of packets.
      body.word(0)
      if !lane.name.isEmpty { body.option(2, lane.name) }
      // Nanoseconds.
      body.option(9, [9])
      body.endOfOptions()
    }
    return index
  }

  private func block(_ type: UInt32, _ make: (inout Body) -> Void) {
    var body = Body()
    make(&body)
    let length = UInt32(body.bytes.count + 12)
    var frame = Body()
    frame.word(type)
    frame.word(length)
    buffer += frame.bytes
    buffer += body.bytes
    withUnsafeBytes(of: length) { buffer += $0 }
  }

  /// What stands between a block's two lengths.
  private struct Body {
    var bytes: [UInt8] = []

    mutating func word(_ value: UInt32) { withUnsafeBytes(of: value) { bytes += $0 } }
    mutating func half(_ value: UInt16) { withUnsafeBytes(of: value) { bytes += $0 } }
    mutating func pad() { while bytes.count % 4 != 0 { bytes.append(0) } }
    mutating func option(_ code: UInt16, _ text: String) { option(code, Array(text.utf8)) }
    mutating func option(_ code: UInt16, _ value: [UInt8]) {
      let value = value.prefix(Int(UInt16.max))
      half(code)
      half(UInt16(value.count))
      bytes += value
      pad()
    }
    mutating func endOfOptions() { word(0) }
  }
}
