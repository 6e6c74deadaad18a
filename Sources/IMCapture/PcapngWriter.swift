import Glibc
package import IMDescriptors
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
  @exclusivity(unchecked) private var buffer: [UInt8] = []
  @exclusivity(unchecked) private var lanes: [Lane: UInt32] = [:]
  /// The interface of the last packet, and its index.
  @exclusivity(unchecked) private var last: (lane: Lane, index: UInt32)?
  private var isClosed = false

  /// Writes to an open descriptor. `name` is the file's in messages, `application` what the file says has written it.
  package init(descriptor: Int32, isOwned: Bool, name: String, application: String) {
    path = name
    self.descriptor = descriptor
    self.isOwned = isOwned
    buffer.reserveCapacity(2 * Self.bufferSize)
    buffer += PcapngBlock.section(application)
  }

  deinit {
    if isOwned, !isClosed { _ = Glibc.close(descriptor) }
  }

  /// Adds one packet of the interface `interface`, with a comment where there is something to say of it. `bytes` is the batch
  /// that `record` points into. Throws `.ioError` when waiting bytes cannot be written.
  package func write(
    _ record: PacketRecord, _ bytes: RawSpan, interface: String? = nil, comment: String? = nil
  ) throws(CaptureError) {
    let lane = index(of: Lane(linkType: record.linkType, name: interface ?? ""))
    PcapngBlock.packet(record, bytes, lane, comment, to: &buffer)
    if buffer.count >= Self.bufferSize { try flush() }
  }

  /// Adds TLS secrets, lines of a key log, for the packets after them. Throws as `write` does.
  package func write(secrets lines: [UInt8]) throws(CaptureError) {
    buffer += PcapngBlock.secrets(lines)
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

  @inline(__always)
  private func index(of lane: Lane) -> UInt32 {
    if let last, last.lane == lane { return last.index }
    let index = find(lane)
    last = (lane, index)
    return index
  }

  @inline(never)
  private func find(_ lane: Lane) -> UInt32 {
    if let known = lanes[lane] { return known }
    let index = UInt32(lanes.count)
    lanes[lane] = index
    buffer += PcapngBlock.interface(lane.linkType, lane.name)
    return index
  }
}
