import CSandbox
import Glibc
import IMAlerts
import IMCapture
import IMEngine
import IMOutput
import IMWire

/// Keeps the packets of late, and writes those behind an alert to a capture of their own: `--evidence`.
///
/// A capture is named after the alert, `RULE-FINGERPRINT-TIME.pcap`, and has every packet of the connections that had
/// samples in the rule's windows, up to the moment at which it fired, and the packet that showed that the moment had come.
/// imdump fires the same alert over it again. Packets are kept in memory up to a limit; what is older is not in the capture.
final class Evidence {
  /// Bytes of packets that are kept, and bytes that are kept together.
  private static let capacity = 64 << 20
  private static let slabSize = 256 << 10
  /// Captures of a run, at most.
  private static let maximumFiles = 1_000

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
  let folder: Int32
  private let path: String
  private let isMade: Bool
  private var slabs: [Slab] = []
  private var first = 0
  private var byteCount = 0
  /// Whether packets had to be forgotten.
  private var hasForgotten = false
  private var wanted: [Wanted] = []
  /// Whether a capture could not be written, and no more are.
  private(set) var hasFailed = false
  private var fileCount = 0
  /// Bytes of captures of alerts in the folder, and how many there may be; what is there already counts.
  private var folderBytes: Int64 = 0
  private let maximumBytes: Int64
  /// Captures that were not written, because the folder is full.
  private(set) var refused = 0
  /// Names of captures that are there; none is written over.
  private var taken: Set<String> = []

  /// Evidence in the folder at `path`, which is made where there is none, as long as the captures in it have no more than
  /// `maximumBytes`.
  init(folder path: String, maximumBytes: Int64) throws(UsageError) {
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
      folderBytes += Int64(status.st_size)
    }
  }

  deinit { close(folder) }

  /// Gives a folder that was made here to the user that the run becomes, whose files will stand in it.
  func give(to user: Confinement.User) {
    if isMade { _ = chown(path, user.uid, user.gid) }
  }

  /// Throws where this process may not make files in the folder.
  func checkRights() throws(CaptureError) {
    let error = -imdump_may_make_files(folder)
    guard error != 0 else { return }
    throw CaptureError(
      .ioError, path,
      "captures of evidence cannot be made: \(systemText(error)) for user \(geteuid()); give the folder to that user, or name another with -Z",
      errno: error)
  }

  /// Keeps a batch.
  func keep(_ bytes: RawSpan, _ records: Span<PacketRecord>) {
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
  func want(_ event: inout AlertEvent) {
    guard event.state == .firing, !event.contributors.isEmpty, !hasFailed, fileCount < Self.maximumFiles else {
      return
    }
    guard folderBytes < maximumBytes else {
      refused += 1
      return
    }
    fileCount += 1
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
  func write() {
    for evidence in wanted { write(evidence) }
    wanted.removeAll()
  }

  private func write(_ evidence: Wanted) {
    guard !hasFailed else { return }
    do throws(CaptureError) {
      try copy(evidence)
    } catch {
      hasFailed = true
      logError("--evidence: \(error.description); no more is written")
    }
  }

  private func copy(_ evidence: Wanted) throws(CaptureError) {
    var pairs: Set<EndpointPair> = []
    for connection in evidence.connections { pairs.insert(EndpointPair(connection.peer, connection.server)) }
    let end = evidence.end
    var writer: CaptureWriter?
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
        folderBytes += 16 + Int64(record.capturedLength)
        if isBehind {
          isOver = true
          break
        }
      }
    }
    try writer?.close()
    if hasForgotten, !evidence.connections.isEmpty {
      logError("\(evidence.name): packets from before the last \(Self.capacity >> 20) MiB are not in it")
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
