import Glibc
import IMCapture
package import IMDescriptors
import IMSystem
import IMWire

/// The capture that an export writes: pcapng, or pcap where its name ends so.
package final class ExportFile {
  private enum Form {
    case pcapng(PcapngWriter)
    /// Made with the first packet, whose link type the file has.
    case pcap(CaptureWriter?)
  }

  let path: String
  private let descriptor: Int32
  @exclusivity(unchecked) private var form: Form
  @exclusivity(unchecked) private(set) var packetCount: UInt64 = 0
  /// The link type of the first packet.
  @exclusivity(unchecked) private(set) var linkType: UInt16?

  /// Opens the file at `path`, `-` for standard output. Throws where it cannot be, or is one of `inputs`.
  init(_ path: String, inputs: [String]) throws(CaptureError) {
    self.path = path
    let isStandard = path == "-"
    if !isStandard { try Self.check(path, inputs) }
    // Opened before privileges are dropped, and through a symbolic link only if that may be followed, as -w does.
    descriptor = try isStandard ? STDOUT_FILENO : OutputFile.open(path)
    var info = stat()
    isRegular = !isStandard && fstat(descriptor, &info) == 0 && info.st_mode & S_IFMT == S_IFREG
    if isRegular { InputFile.expect([path]) }
    if path.hasSuffix(".pcap") || path.hasSuffix(".cap") {
      form = .pcap(nil)
    } else {
      form = .pcapng(
        PcapngWriter(
          descriptor: descriptor, isOwned: !isStandard, name: isStandard ? "standard output" : path,
          application: "imdump \(imdumpVersion)"))
    }
  }

  /// Whether it is a file that can be read again, and no pipe or terminal.
  let isRegular: Bool

  /// Whether packets can have comments.
  var hasComments: Bool { if case .pcapng = form { true } else { false } }

  /// Writes a packet, which `counts` or not.
  func write(
    _ record: PacketRecord, _ bytes: RawSpan, interface: String?, comment: @autoclosure () -> String?,
    counts: Bool = true
  ) throws(CaptureError) {
    switch form {
    case .pcapng(let writer): try writer.write(record, bytes, interface: interface, comment: comment())
    case .pcap(let made):
      let writer =
        made ?? CaptureWriter(descriptor: descriptor, isOwned: true, name: path, linkType: record.linkType)
      if made == nil { form = .pcap(writer) }
      do throws(CaptureError) { try writer.write(record, bytes) } catch {
        guard error.code == .unsupported else { throw error }
        throw CaptureError(.unsupported, path, "a pcap file can have only one link type: name the file .pcapng")
      }
    }
    if linkType == nil { linkType = record.linkType }
    if counts { packetCount += 1 }
  }

  /// Writes TLS secrets, lines of a key log, for the packets after them: to pcapng only.
  func write(secrets lines: [UInt8]) throws(CaptureError) {
    guard case .pcapng(let writer) = form else { return }
    try writer.write(secrets: lines)
  }

  /// Writes what waits, and closes the file.
  func close() throws(CaptureError) {
    switch form {
    case .pcapng(let writer): try writer.close()
    case .pcap(let writer):
      try (writer ?? CaptureWriter(descriptor: descriptor, isOwned: true, name: path, linkType: 1)).close()
    }
  }

  /// What is read cannot be written.
  package static func check(_ path: String, _ inputs: [String]) throws(CaptureError) {
    var there = stat()
    guard stat(path, &there) == 0 else { return }
    for input in inputs {
      var info = stat()
      if stat(input, &info) == 0, info.st_dev == there.st_dev, info.st_ino == there.st_ino {
        throw CaptureError(.ioError, path, "is the input capture; name another file")
      }
    }
  }
}
