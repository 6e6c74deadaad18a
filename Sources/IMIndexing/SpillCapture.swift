import CSandbox
import Glibc
import IMCapture
import IMDescriptors
import IMRun
import IMSystem
import IMWire

/// The packets of a live run beside its store, where no `-w` keeps them: so that the bytes of its messages can be read.
///
/// A row of pcap files, `STORE.spill-1.pcap` and so on, each an eighth of what all may take: before a ninth one would be begun the
/// oldest goes. Whoever reads a file that goes keeps it. Nothing of this ends the run: a file that cannot be written is said once, and
/// packets are kept no more.
package final class SpillCapture {
  /// Files that there are at a time, at most.
  static let fileCount: UInt32 = 8

  /// The store's path, and its name in the folder.
  private let path: String, name: String
  private let folder: Int32
  private let limit: UInt64
  private let linkType: UInt16
  private let user: Sandbox.User?
  private var writer: CaptureWriter?
  /// The number of the file that is written, from 1; of the oldest one that is there.
  private(set) var number: UInt32 = 0
  private var oldest: UInt32 = 1
  private var packets: [BatchPlaces.Packet] = []
  /// Files that were begun, and numbers of those that went, since `takeChanges`.
  private var begun: [(number: UInt32, path: String)] = []
  private var gone: [UInt32] = []

  /// Files beside the store at `path`, which is in `folder`; all of them together have at most `maximumBytes`. Files of an older store
  /// of that name are removed. The first file is open afterwards.
  init(_ path: String, folder: Int32, maximumBytes: UInt64, linkType: UInt16, user: Sandbox.User?) {
    self.path = path
    self.folder = folder
    self.linkType = linkType
    self.user = user
    name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    limit = max(32 << 10, maximumBytes / UInt64(Self.fileCount))
    removeOld()
    attempt { () throws(CaptureError) in try openNext() }
  }

  /// Keeps packets, and says where each stands; nothing where they are kept no more.
  func write(_ records: Span<PacketRecord>, _ bytes: RawSpan) -> [BatchPlaces.Packet] {
    packets.removeAll(keepingCapacity: true)
    attempt { () throws(CaptureError) in
      for i in records.indices {
        let record = records[i]
        if let writer, writer.packetCount > 0, writer.byteCount + UInt64(record.capturedLength) + 16 > limit {
          try writer.close()
          try openNext()
        }
        guard let writer else { return }
        // A record's header has 16 bytes.
        let offset = writer.byteCount + 16
        try writer.write(record, bytes)
        packets.append(
          BatchPlaces.Packet(
            first: Int(record.offset), end: Int(record.offset) + Int(record.capturedLength), offset: offset,
            capture: number - 1))
      }
    }
    return packets
  }

  /// Writes what waits: a row of the store comes behind its bytes.
  func flush() { attempt { () throws(CaptureError) in try writer?.flush() } }

  /// Removes the files in front of number `first`, whose messages are all removed; never the one that is written.
  func forget(before first: UInt32) {
    while oldest < min(first, number) { removeOldest() }
  }

  /// The files that were begun, and those that went, since the last call.
  func takeChanges() -> (begun: [(number: UInt32, path: String)], gone: [UInt32]) {
    defer { (begun, gone) = ([], []) }
    return (begun, gone)
  }

  /// Closes the file.
  func close() {
    attempt { () throws(CaptureError) in try writer?.close() }
    writer = nil
  }

  private func attempt(_ body: () throws(CaptureError) -> Void) {
    do throws(CaptureError) { try body() } catch {
      logError("\(error.description); the bytes of further messages are not kept")
      writer = nil
    }
  }

  private func fileName(_ number: UInt32) -> String { "\(name).spill-\(number).pcap" }

  /// Whether a file's name is that of packets beside the store `name`.
  package static func isFile(_ found: String, of name: String) -> Bool {
    let start = "\(name).spill-", end = ".pcap"
    return found.hasPrefix(start) && found.hasSuffix(end)
      && UInt32(found.dropFirst(start.utf8.count).dropLast(end.utf8.count)) != nil
  }

  private func openNext() throws(CaptureError) {
    while number >= Self.fileCount, oldest <= number - (Self.fileCount - 1) { removeOldest() }
    let descriptor = imdump_replace_file(folder, fileName(number + 1))
    let whole = "\(path).spill-\(number + 1).pcap"
    guard descriptor >= 0 else {
      throw CaptureError(.ioError, whole, "create: \(systemText(-descriptor))", errno: -descriptor)
    }
    if let user { _ = fchown(descriptor, user.uid, user.gid) }
    number += 1
    let made = CaptureWriter(descriptor: descriptor, isOwned: true, name: whole, linkType: linkType)
    try made.flush()
    writer = made
    begun.append((number, whole))
  }

  private func removeOldest() {
    _ = imdump_remove_file(folder, fileName(oldest))
    gone.append(oldest)
    oldest += 1
  }

  /// Removes what an older store of that name has left.
  private func removeOld() {
    let place = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    for found in names(in: place) where Self.isFile(found, of: name) { _ = imdump_remove_file(folder, found) }
  }
}
