import CSandbox
import Glibc
package import IMAlerts
import IMCapture
package import IMDescriptors
import IMEngine
import IMOutput
import IMRun
package import IMSystem
package import IMWire

/// Keeps the packets of late, and writes those behind an alert to a capture of their own: `--evidence`.
///
/// A capture is named after the alert, `RULE-FINGERPRINT-TIME.pcap`, and has every packet of the connections that had
/// samples in the rule's windows, up to the moment at which it fired, and the packet that showed that the moment had come.
/// imdump fires the same alert over it again. Packets are kept in memory up to a limit; what is older is not in the capture. The oldest captures
/// in the folder are deleted where they have more bytes than they may; no other file is, and the newest capture stays however large it is.
package final class Evidence {
  /// Bytes of packets that are kept, and bytes that are kept together.
  private static let capacity = 64 << 20
  private static let slabSize = 256 << 10
  /// Captures of alerts in the folder, at most.
  private static let maximumFiles = 10_000

  private struct Slab {
    var bytes: [UInt8] = []
    var records: [PacketRecord] = []
  }

  private struct Wanted {
    var name: String
    var connections: [ConnectionInfo]
    /// From here on a packet shows that the moment had come.
    var end: Timestamp
  }

  /// The open folder.
  package let folder: Int32
  private let path: String
  private let isMade: Bool
  private var slabs: [Slab] = []
  private var first = 0
  private var byteCount = 0
  /// Whether packets had to be forgotten.
  private var hasForgotten = false
  private var wanted: [Wanted] = []
  /// Whether a capture could not be written, and no more are.
  package private(set) var hasFailed = false
  /// A capture of an alert in the folder.
  private struct Capture {
    var name: String
    /// When its episode began, in milliseconds since 1970, and how many captures of it there were before.
    var time: Int64, copy: Int
    var bytes: Int64
  }

  /// Captures of alerts in the folder, those of other runs, too, oldest first.
  private var captures: [Capture] = []
  /// Their bytes, and how many there may be.
  private var folderBytes: Int64 = 0
  private let maximumBytes: Int64
  /// Captures that were deleted for newer ones.
  package private(set) var deleted: UInt64 = 0
  /// Names of captures that are there or will be; none is written over.
  private var taken: Set<String> = []

  /// Evidence in the folder at `path`, which is made where there is none. The captures in it are to have no more than `maximumBytes`.
  package init(folder path: String, maximumBytes: Int64) throws(UsageError) {
    self.maximumBytes = maximumBytes
    isMade = mkdir(path, 0o755) == 0
    if !isMade, errno != EEXIST {
      throw UsageError(message: "--evidence \(path): \(systemText(errno))")
    }
    folder = imdump_open_folder(path)
    guard folder >= 0 else { throw UsageError(message: "--evidence \(path): \(systemText(-folder))") }
    self.path = path
    // What other runs have left.
    for name in names(in: path) where name.hasSuffix(".pcap") {
      var status = stat()
      guard lstat("\(path)/\(name)", &status) == 0 else { continue }
      taken.insert(name)
      // Who else has a capture here keeps it.
      guard status.st_mode & S_IFMT == S_IFREG, let (time, copy) = Self.episode(name) else { continue }
      captures.append(Capture(name: name, time: time, copy: copy, bytes: Int64(status.st_size)))
      folderBytes &+= Int64(status.st_size)
    }
    captures.sort { ($0.time, $0.copy, $0.name) < ($1.time, $1.copy, $1.name) }
  }

  /// The time and the number of the copy in the name of a capture, `RULE-FINGERPRINT-TIME.pcap` or `RULE-FINGERPRINT-TIME.COPY.pcap`;
  /// `nil` for other names.
  static func episode(_ name: String) -> (time: Int64, copy: Int)? {
    guard name.hasSuffix(".pcap") else { return nil }
    let parts = name.dropLast(5).split(separator: ".", omittingEmptySubsequences: false)
    let words = (parts.first ?? "").split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count <= 2, words.count >= 3, let time = words.last, let fingerprint = words.dropLast().last,
      fingerprint.utf8.count == 16,
      fingerprint.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
      time.utf8.allSatisfy({ (48...57).contains($0) }), let time = Int64(time)
    else { return nil }
    guard parts.count == 2 else { return (time, 1) }
    guard parts[1].utf8.allSatisfy({ (48...57).contains($0) }), let copy = Int(parts[1]) else { return nil }
    return (time, copy)
  }

  /// Deletes the oldest captures, until the newest one has room.
  private func makeRoom() {
    while captures.count > 1, folderBytes > maximumBytes || captures.count > Self.maximumFiles {
      let oldest = captures.removeFirst()
      folderBytes -= oldest.bytes
      let result = imdump_unlink_at(folder, oldest.name)
      // Another run may have been faster.
      guard result == 0 || result == -ENOENT else {
        logError("\(path)/\(oldest.name): delete: \(systemText(-result)); it stays in the folder")
        continue
      }
      taken.remove(oldest.name)
      deleted += 1
      if deleted == 1 {
        logError("\(path): deleting the oldest captures: together they have reached --evidence-max")
      }
    }
  }

  deinit { close(folder) }

  /// Gives a folder that was made here to the user that the run becomes, whose files will stand in it.
  package func give(to user: Sandbox.User) {
    if isMade { user.own(folder: folder) }
  }

  /// Throws where this process may not make files in the folder.
  package func checkRights() throws(CaptureError) {
    try requireMayMakeFiles(in: folder, path, "cannot write evidence captures")
  }

  /// Keeps a batch.
  package func keep(_ bytes: RawSpan, _ records: Span<PacketRecord>) {
    guard !records.isEmpty else { return }
    if slabs.isEmpty || slabs[slabs.count - 1].bytes.count >= Self.slabSize { slabs.append(Slab()) }
    let last = slabs.count - 1
    for i in records.indices {
      var record = records[i]
      let start = Int(record.offset)
      record.offset = UInt32(slabs[last].bytes.count)
      bytes.withUnsafeBytes { slabs[last].bytes += $0[start..<start + Int(record.capturedLength)] }
      slabs[last].records.append(record)
      byteCount += Int(record.capturedLength)
    }
    while byteCount > Self.capacity, first < slabs.count - 1 {
      byteCount -= slabs[first].bytes.count
      slabs[first] = Slab()
      first += 1
      hasForgotten = true
    }
    if first > 256 {
      slabs.removeFirst(first)
      first = 0
    }
  }

  /// Gives an alert that fires the name of its capture, which is written after the batch.
  package func want(_ event: inout AlertEvent) {
    guard event.state == .firing, !event.contributors.isEmpty, !hasFailed else { return }
    let stem = "\(event.rule.name)-\(event.id)"
    var name = "\(stem).pcap", copy = 1
    while !taken.insert(name).inserted {
      copy += 1
      name = "\(stem).\(copy).pcap"
    }
    event.evidence = name
    wanted.append(Wanted(name: name, connections: event.contributors, end: event.at.advanced(by: event.rule.lag)))
  }

  /// Writes what is wanted.
  package func write() {
    for evidence in wanted { write(evidence) }
    wanted.removeAll()
  }

  private func write(_ evidence: Wanted) {
    guard !hasFailed else { return }
    do throws(CaptureError) {
      try copy(evidence)
    } catch {
      hasFailed = true
      logError("--evidence: \(error.description); no more evidence is written")
    }
  }

  private func copy(_ evidence: Wanted) throws(CaptureError) {
    var pairs: Set<EndpointPair> = []
    for connection in evidence.connections { pairs.insert(EndpointPair(connection.peer, connection.server)) }
    let end = evidence.end
    var writer: CaptureWriter?
    // The capture's own header.
    var byteCount: Int64 = 24
    var finder = EndpointFinder()
    var linkType: UInt16?
    var isOver = false
    let last = slabs.last?.records.last?.number
    for slab in slabs[first...] where !isOver {
      // Eight-byte loads near the last packet's end stay inside.
      let bytes = slab.bytes + [UInt8](repeating: 0, count: PacketRecord.slack)
      for record in slab.records {
        // Where time has come no further, the last packet shows how far it has.
        let isBehind = record.timestamp >= end || record.number == last
        let ends = finder.ends(bytes.span.bytes, record)
        guard isBehind || ends.map({ pairs.contains(EndpointPair($0.0, $0.1)) }) ?? false else { continue }
        // A pcap file has one link type; the packets of one connection have.
        if let linkType, linkType != record.linkType {
          if isBehind { isOver = true }
          continue
        }
        if writer == nil { writer = try begin(evidence.name, record.linkType) }
        linkType = record.linkType
        try writer?.write(record, bytes.span.bytes)
        byteCount += 16 + Int64(record.capturedLength)
        if isBehind {
          isOver = true
          break
        }
      }
    }
    try writer?.close()
    if writer != nil {
      let (time, copy) = Self.episode(evidence.name) ?? (0, 1)
      captures.append(Capture(name: evidence.name, time: time, copy: copy, bytes: byteCount))
      folderBytes &+= byteCount
      makeRoom()
    }
    if hasForgotten, !evidence.connections.isEmpty {
      logError("\(evidence.name): without packets from before the last \(Self.capacity >> 20) MiB")
    }
  }

  private func begin(_ name: String, _ linkType: UInt16) throws(CaptureError) -> CaptureWriter {
    let whole = "\(path)/\(name)"
    let descriptor = imdump_open_at(folder, name, O_WRONLY | O_CREAT | O_APPEND | O_EXCL, 0o640)
    guard descriptor >= 0 else {
      throw CaptureError(.ioError, whole, "create: \(systemText(-descriptor))", errno: -descriptor)
    }
    return CaptureWriter(descriptor: descriptor, isOwned: true, name: whole, linkType: linkType)
  }
}
