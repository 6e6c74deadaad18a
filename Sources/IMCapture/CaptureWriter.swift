import Glibc
package import IMDescriptors
package import IMWire

/// Writes packets to a pcap file, which every analyser reads, or to a pcapng file, in which packets may have comments.
///
/// Bytes collect in 64 KiB; every write(2) is checked. After an error the bytes that did not get out stay in the buffer
/// and the refused packet is not added, so writing may go on when there is room again; a piece of a record that did get
/// out is taken back, so a file ends with a whole one. Each write goes to the file's end, and a file that somebody has
/// emptied meanwhile (copytruncate) begins with a header again. The process must ignore SIGPIPE, else a closed pipe ends
/// it before the error can be told.
package final class CaptureWriter {
  /// What a file is.
  package enum Form: Sendable {
    case pcap
    /// With the name of the interface that packets come from, empty where there is none, and of what has written it.
    case pcapng(interface: String, application: String)
  }

  /// Where buffered bytes are written once this many are waiting.
  private static var bufferSize: Int { 65_536 }

  /// The file's name in messages.
  package let path: String
  /// The open file.
  package let descriptor: Int32
  private let isOwned: Bool
  /// Whether it is a file that can be measured and cut, and no pipe or terminal.
  private let isRegular: Bool
  private let linkType: UInt16
  private let nanosecondsPerUnit: Int64
  private let header: [UInt8]
  private let isPcapng: Bool
  private var buffer: [UInt8] = []
  /// Bytes of `buffer` that are written already.
  private var written = 0
  private var isClosed = false
  /// Bytes of the file's header at the front of `buffer`.
  private var headerCount = 0
  /// Whether the buffer has once got out.
  private var hasBegun = false

  /// Packets taken so far.
  package private(set) var packetCount: UInt64 = 0
  /// Bytes of the file so far, header and waiting bytes included.
  package private(set) var byteCount: UInt64 = 0

  /// Creates or empties the file at `path` (mode 0640; `-` is standard output) for packets of one link type.
  ///
  /// Throws where `OutputFile.open` does.
  ///
  /// - Parameter snapLength: what the file's header says was kept of a packet.
  /// - Parameter nanoseconds: whether times keep nanoseconds; otherwise they are cut to microseconds.
  package convenience init(
    path: String, linkType: UInt16, form: Form = .pcap, snapLength: UInt32 = 262_144, nanoseconds: Bool = true
  ) throws(CaptureError) {
    let isStandard = path == "-"
    let descriptor = try isStandard ? STDOUT_FILENO : OutputFile.open(path)
    self.init(
      descriptor: descriptor, isOwned: !isStandard, name: isStandard ? "standard output" : path, linkType: linkType,
      form: form,
      snapLength: snapLength, nanoseconds: nanoseconds)
  }

  /// Writes to an open descriptor, for files opened in a directory that was opened earlier.
  ///
  /// - Parameter isOwned: whether `close()` closes the descriptor.
  /// - Parameter name: the file's name in messages.
  package init(
    descriptor: Int32, isOwned: Bool, name: String, linkType: UInt16, form: Form = .pcap,
    snapLength: UInt32 = 262_144, nanoseconds: Bool = true
  ) {
    path = name
    self.descriptor = descriptor
    self.isOwned = isOwned
    self.linkType = linkType
    nanosecondsPerUnit = nanoseconds ? 1 : 1_000
    var status = stat()
    isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    buffer.reserveCapacity(2 * Self.bufferSize)
    switch form {
    case .pcap:
      let magic: UInt32 = nanoseconds ? 0xa1b2_3c4d : 0xa1b2_c3d4
      // Version 2.4 as two 16-bit numbers; zone and accuracy are 0.
      let words: [UInt32] = [magic, 4 << 16 | 2, 0, 0, snapLength, UInt32(linkType)]
      // In this machine's byte order; readers know it by the magic.
      header = words.withUnsafeBytes { [UInt8]($0) }
      isPcapng = false
    case .pcapng(let interface, let application):
      header = PcapngBlock.section(application) + PcapngBlock.interface(linkType, interface)
      isPcapng = true
    }
    buffer += header
    headerCount = header.count
    byteCount = UInt64(buffer.count)
  }

  deinit {
    if isOwned, !isClosed { _ = Glibc.close(descriptor) }
  }

  /// Adds one packet, in pcapng with a comment where there is one. `bytes` is the batch that `record` points into.
  ///
  /// Times before 1970 become 0, those after 2106 the last that fits. Throws `.ioError` when waiting bytes cannot be
  /// written, `.unsupported` for a packet of another link type; the packet is then not in the file.
  package func write(_ record: PacketRecord, _ bytes: RawSpan, comment: String? = nil) throws(CaptureError) {
    guard record.linkType == linkType else {
      throw CaptureError(
        .unsupported, path, "cannot write a packet of link type \(record.linkType) to a file of link type \(linkType)")
    }
    if buffer.count >= Self.bufferSize { try flush() }
    packetCount &+= 1
    if isPcapng {
      let before = buffer.count
      PcapngBlock.packet(record, bytes, 0, comment, to: &buffer)
      byteCount &+= UInt64(buffer.count - before)
      return
    }
    let first = Int(record.offset), count = Int(record.capturedLength)
    // 2³²-1 seconds and the last nanosecond before the next.
    let time = min(max(record.timestamp.nanoseconds, 0), 4_294_967_295_999_999_999)
    let header = (
      UInt32(truncatingIfNeeded: time / 1_000_000_000),
      UInt32(truncatingIfNeeded: time % 1_000_000_000 / nanosecondsPerUnit), record.capturedLength,
      record.originalLength
    )
    withUnsafeBytes(of: header) { buffer.append(contentsOf: $0) }
    bytes.extracting(first..<first + count).withUnsafeBytes { buffer.append(contentsOf: $0) }
    byteCount &+= UInt64(16 + count)
  }

  /// Adds TLS secrets, lines of a key log, for the packets after them: to pcapng only. Throws as `write` does.
  package func write(secrets lines: [UInt8]) throws(CaptureError) {
    guard isPcapng else { return }
    if buffer.count >= Self.bufferSize { try flush() }
    let block = PcapngBlock.secrets(lines)
    buffer += block
    byteCount &+= UInt64(block.count)
  }

  /// Bytes that a packet's header has in the file, in front of the packet's own.
  package var bytesBeforePacket: UInt64 { isPcapng ? 28 : 16 }

  /// Bytes that wait to be written.
  package var waitingByteCount: Int { buffer.count - written }

  /// Writes all waiting bytes.  Throws `.ioError` naming the file and the system's reason.
  package func flush() throws(CaptureError) {
    if hasBegun, isRegular, written == 0, !buffer.isEmpty, isEmptied {
      buffer.insert(contentsOf: header, at: 0)
      headerCount = header.count
    }
    if let number = writeRest(of: buffer, from: &written, to: descriptor) {
      takeBackPiece()
      throw CaptureError(.ioError, path, "write: \(systemText(number))", errno: number)
    }
    hasBegun = true
    headerCount = 0
    buffer.removeAll(keepingCapacity: true)
    written = 0
  }

  private var isEmptied: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_size == 0
  }

  /// Cuts the file behind the last whole record that got out.
  private func takeBackPiece() {
    var whole = written < headerCount ? 0 : headerCount
    while written >= headerCount, whole + 16 <= written {
      // A packet's captured length, or its block's whole length.
      let length = buffer.withUnsafeBytes { bytes in
        isPcapng
          ? Int(bytes.loadUnaligned(fromByteOffset: whole + 4, as: UInt32.self))
          : 16 + Int(bytes.loadUnaligned(fromByteOffset: whole + 8, as: UInt32.self))
      }
      guard whole + length <= written else { break }
      whole += length
    }
    var status = stat()
    let piece = written - whole
    guard isRegular, piece > 0, fstat(descriptor, &status) == 0,
      ftruncate(descriptor, status.st_size - off_t(piece)) == 0
    else { return }
    written = whole
  }

  /// Writes all waiting bytes and closes the file.  Closing twice does nothing.
  package func close() throws(CaptureError) {
    guard !isClosed else { return }
    try flush()
    isClosed = true
    if isOwned, Glibc.close(descriptor) != 0, Glibc.errno != EINTR {
      let number = Glibc.errno
      throw CaptureError(.ioError, path, "close: \(systemText(number))", errno: number)
    }
  }
}

/// Writes what of `bytes` stands from `written` on, which moves along; waits for a pipe that is full. Gives the system's error
/// number where not all could be written.
func writeRest(of bytes: [UInt8], from written: inout Int, to descriptor: Int32) -> Int32? {
  while written < bytes.count {
    let result = bytes.withUnsafeBytes { bytes in
      Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
    }
    if result > 0 {
      written += result
      continue
    }
    let number = result == 0 ? ENOSPC : Glibc.errno
    if number == EINTR { continue }
    guard number == EAGAIN else { return number }
    // A run that is to end does not wait for a reader who takes nothing.
    guard waitForReader(of: descriptor) else { return number }
  }
  return nil
}
