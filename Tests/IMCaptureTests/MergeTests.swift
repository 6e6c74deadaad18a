import Glibc
import IMDescriptors
import IMTestSupport
import IMWire
import Synchronization
import Testing

@testable import IMCapture

/// Several files as one source, compared with a merge that knows all packets beforehand.
@Suite struct MergeTests {
  /// Files on disk, removed afterwards.
  static func withFiles<T>(_ files: [[UInt8]], _ body: ([String]) throws -> T) rethrows -> T {
    try withPath { base in
      let paths = files.indices.map { "\(base)-\($0)" }
      defer { for path in paths { unlink(path) } }
      for (path, bytes) in zip(paths, files) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        precondition(bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == bytes.count)
        close(descriptor)
      }
      return try body(paths)
    }
  }

  /// A packet at so many milliseconds, whose bytes say which file it is of and which it is there.
  static func packet(_ milliseconds: Int64, file: Int, _ number: Int, count: Int = 40) -> TimedPacket {
    var bytes = [
      UInt8(truncatingIfNeeded: file), UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number),
    ]
    bytes += (3..<max(3, count)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
    return TimedPacket(timestamp: Timestamp(milliseconds: milliseconds), bytes: bytes)
  }

  /// The packets of all files as they have to come: of the next packets of all files the earliest, of equal ones that of the file that begins
  /// first.
  static func merged(_ files: [[TimedPacket]]) -> [Packet] {
    var next = [Int](repeating: 0, count: files.count)
    var result: [Packet] = []
    while let file = files.indices.filter({ next[$0] < files[$0].count }).min(by: {
      (files[$0][next[$0]].timestamp, files[$0][0].timestamp, $0)
        < (files[$1][next[$1]].timestamp, files[$1][0].timestamp, $1)
    }) {
      let packet = files[file][next[file]]
      next[file] += 1
      result.append(
        Packet(
          number: PacketNumber.base(file: file) + UInt64(next[file]), nanoseconds: packet.timestamp.nanoseconds,
          bytes: packet.bytes, original: UInt32(packet.bytes.count)))
    }
    return result
  }

  /// A file as members of gzip.
  static func members(of file: [UInt8]) -> [UInt8] {
    stride(from: 0, to: file.count, by: 60_000).flatMap {
      InputTests.gzipped([UInt8](file[$0..<min(file.count, $0 + 60_000)]))
    }
  }

  static func read(_ source: MergedCapture) -> Reading {
    var reading = Reading()
    IMCaptureTests.read(source, &reading)
    return reading
  }

  /// Packets without their interfaces, which differ where files count time in other units.
  static func bare(_ packets: [Packet]) -> [Packet] {
    packets.map { packet in
      var packet = packet
      packet.interface = 0
      return packet
    }
  }

  // MARK: The order

  /// Files of any number and length, sorted and not, with equal times, packed and not, read in any steps.
  @Test(arguments: UInt64(0)..<UInt64(LongRun.times(40, of: 150))) func model(_ seed: UInt64) {
    var random = SeededRandom(seed)
    let count = 2 + Int(random.next() % 9)
    let isRotated = random.once(in: 3)
    var start: Int64 = 1_700_000_000_000
    let files = (0..<count).map { file -> [TimedPacket] in
      if !isRotated { start = 1_700_000_000_000 + Int64(random.next() % 50) }
      let isSorted = !random.once(in: 4)
      return (0..<Int(random.next() % 120)).map { number in
        start += isSorted ? Int64(random.next() % 3) : Int64(random.next() % 7) - 3
        return Self.packet(start, file: file, number, count: random.once(in: 30) ? 70_000 : Int(random.next() % 200))
      }
    }
    let bytes = files.map { packets in
      let file = CaptureBuilder(packets).pcap(nanoseconds: random.once(in: 2), bigEndian: random.once(in: 4))
      return random.once(in: 4) ? Self.members(of: file) : file
    }
    let steps = random.one(of: [
      ReadingSteps(), ReadingSteps(bytes: 1), ReadingSteps(bytes: 499, packets: 7), ReadingSteps(packets: 1),
    ])
    Self.withFiles(bytes) { paths in
      let source = MergedCapture(paths: paths, steps: steps)
      let reading = Self.read(source)
      #expect(Self.bare(reading.packets) == Self.merged(files), "seed \(seed)")
      #expect(source.failures.isEmpty)
      #expect(reading.statistics.received == UInt64(files.reduce(0) { $0 + $1.count }))
      #expect(reading.statistics.delivered == reading.statistics.received)
      let inOrder = Self.read(MergedCapture(paths: paths, order: .given, steps: steps))
      #expect(inOrder.packets.map(\.bytes) == files.flatMap { $0.map(\.bytes) }, "seed \(seed), in order")
    }
  }

  /// Where each packet's bytes are in its file, whether packets are copied or not.
  @Test(arguments: [1, 40]) func offsets(_ run: Int) {
    let files = (0..<3).map { file in
      (0..<200).map { Self.packet(1_700_000_000_000 + Int64($0 / run * 3 + file), file: file, $0) }
    }
    let bytes = files.map { CaptureBuilder($0).pcap() }
    Self.withFiles(bytes) { paths in
      let source = MergedCapture(paths: paths)
      var seen = 0
      while (try? source.nextBatch { span, records in
        let offsets = source.packetOffsets, base = source.batchOffset
        #expect((base == nil) != offsets.isEmpty)
        for i in records.indices {
          let record = records[i]
          let offset = base.map { Int($0) + Int(record.offset) } ?? Int(offsets[i])
          let file = Int(PacketNumber.file(record.number)), place = Int(record.offset)
          let packet = span.extracting(place..<place + Int(record.capturedLength)).withUnsafeBytes { [UInt8]($0) }
          #expect([UInt8](bytes[file][offset..<offset + packet.count]) == packet)
          #expect(
            Int(packet[0]) == file
              && Int(packet[1]) << 8 + Int(packet[2]) + 1 == Int(PacketNumber.inFile(record.number)))
          seen += 1
        }
      }) == true {}
      #expect(seen == 600)
    }
  }

  /// The same packets in pcapng and pcap; interfaces that are the same in several files are one.
  @Test func interfaces() {
    let pcapng = PcapngTests.mixed(big: false)
    let pcap = CaptureBuilder([Self.packet(1, file: 0, 0)]).pcap()
    Self.withFiles([pcap, pcapng.bytes, pcap, pcapng.bytes]) { paths in
      let alone = readFile(paths[1]), reading = Self.read(MergedCapture(paths: paths))
      #expect(reading.interfaces.count == alone.interfaces.count + 1)
      for packet in reading.packets where [1, 3].contains(PacketNumber.file(packet.number)) {
        let same = alone.packets[Int(PacketNumber.inFile(packet.number)) - 1]
        #expect(packet.bytes == same.bytes)
        #expect(reading.interfaces[Int(packet.interface)].name == alone.interfaces[Int(same.interface)].name)
        #expect(packet.linkType == same.linkType)
      }
    }
  }

  // MARK: Limits

  /// Descriptors that are open at a time, as far as an opener can tell.
  private final class Openings: Sendable {
    private struct State {
      var open: [Int32: UInt64] = [:]
      var most = 0, count = 0
    }
    private let state = Mutex(State())
    /// How many may be open at a time.
    private let limit: Int

    init(limit: Int = .max) { self.limit = limit }

    var most: Int { state.withLock { $0.most } }
    var count: Int { state.withLock { $0.count } }

    private static func inode(_ descriptor: Int32) -> UInt64 {
      var status = stat()
      return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    var opener: CaptureOpener {
      CaptureOpener { [self] path in
        let descriptor = CaptureOpener.system.open(path)
        return state.withLock { state in
          state.count += 1
          for (old, inode) in state.open where Self.inode(old) != inode { state.open[old] = nil }
          guard state.open.count < limit else {
            close(descriptor)
            return -EMFILE
          }
          state.open[descriptor] = Self.inode(descriptor)
          state.most = max(state.most, state.open.count)
          return descriptor
        }
      }
    }
  }

  /// Rotated files, whose times do not overlap, are open one after the other.
  @Test func rotated() {
    let files = (0..<400).map { file in
      (0..<3).map { Self.packet(1_700_000_000_000 + Int64(file * 10 + $0), file: file, $0) }
    }
    // As a shell sorts their names.
    let order = files.indices.sorted { String($0) < String($1) }
    Self.withFiles(order.map { CaptureBuilder(files[$0]).pcap() }) { paths in
      let openings = Openings()
      let source = MergedCapture(paths: paths, opener: openings.opener)
      // A run gives up its privileges in between.
      #expect(openings.count == 1 && !source.isEmpty)
      let reading = Self.read(source)
      #expect(reading.packets.map(\.nanoseconds) == files.flatMap { $0.map(\.timestamp.nanoseconds) })
      #expect(openings.most <= 2)
      #expect(source.notes.count == 1 && source.notes[0].contains("in the order of their packets' times"))
    }
  }

  /// More files at a time than may be open: those beyond are opened for each read.
  @Test func manyAtATime() {
    let files = (0..<300).map { file in
      (0..<4).map { Self.packet(1_700_000_000_000 + Int64($0 * 10), file: file, $0, count: 3_000) }
    }
    Self.withFiles(files.map { CaptureBuilder($0).pcap() }) { paths in
      let openings = Openings()
      let reading = Self.read(MergedCapture(paths: paths, opener: openings.opener))
      #expect(reading.packets == Self.merged(files))
      #expect(openings.most <= 130)
    }
  }

  /// More files at a time than this process may have open: it finds out, and opens more of them for each read.
  @Test func fewDescriptors() {
    let files = (0..<40).map { file in (0..<4).map { Self.packet(Int64($0 * 10), file: file, $0, count: 3_000) } }
    Self.withFiles(files.map { CaptureBuilder($0).pcap() }) { paths in
      let openings = Openings(limit: 12)
      let source = MergedCapture(paths: paths, opener: openings.opener)
      #expect(Self.read(source).packets == Self.merged(files))
      #expect(source.failures.isEmpty)
    }
  }

  /// A file that is exchanged while it is not open is not read on.
  @Test func exchanged() {
    let packets = (0..<300).map { file in (0..<20).map { Self.packet(Int64($0 * 10), file: file, $0, count: 3_000) } }
    Self.withFiles(packets.map { CaptureBuilder($0).pcap() }) { paths in
      let source = MergedCapture(paths: paths)
      _ = try? source.nextBatch { _, _ in }
      let last = paths[299]
      unlink(last)
      let descriptor = open(last, O_WRONLY | O_CREAT, 0o600)
      close(descriptor)
      _ = Self.read(source)
      #expect(source.failures.map(\.subject) == [last])
    }
  }

  /// A pipe is read once, and waited for.
  @Test func pipe() {
    let files = (0..<3).map { file in (0..<50).map { Self.packet(Int64($0 * 3 + file), file: file, $0) } }
    Self.withFiles(files[..<2].map { CaptureBuilder($0).pcap() }) { paths in
      let reading = InputTests.pipe(CaptureBuilder(files[2]).pcap(), by: 97) { descriptor in
        Self.read(MergedCapture(paths: paths + ["/dev/fd/\(descriptor)"]))
      }
      #expect(reading.packets == Self.merged(files))
    }
  }

  /// What is wrong with a file is said, and the others are read to their ends.
  @Test func failures() {
    let files = (0..<4).map { file in (0..<9).map { Self.packet(Int64($0 * 3 + file), file: file, $0) } }
    var bytes = files.map { CaptureBuilder($0).pcap() }
    bytes[1].removeLast(7)
    bytes[2] = Array("no capture".utf8)
    Self.withFiles(bytes) { paths in
      let source = MergedCapture(paths: paths + ["/nonexistent"])
      let reading = Self.read(source)
      var readable = files
      readable[1].removeLast()
      readable[2] = []
      #expect(reading.packets == Self.merged(readable))
      #expect(source.failures.map(\.code) == [.truncated, .notACapture, .notFound])
      #expect(source.failures.map(\.subject) == [paths[1], paths[2], "/nonexistent"])
      #expect(MergedCapture(paths: ["/nonexistent", "/nonexistent2"]).isEmpty)
    }
  }

  /// A filter that does not compile is said once.
  @Test func badFilter() {
    let file = CaptureBuilder([Self.packet(1, file: 0, 0)]).pcap()
    Self.withFiles([file, file, file]) { paths in
      let source = MergedCapture(paths: paths, filter: "no filter")
      #expect(Self.read(source).packets.isEmpty)
      #expect(source.failures.map(\.code) == [.badFilter])
    }
  }

  /// The longest record that is buffered of one of several files.
  @Test func longRecord() {
    var long = CaptureBuilder([Self.packet(2, file: 0, 0)]).pcap()
    // A snaplen and a record of 20 MiB.
    let count = 20 << 20
    long.replaceSubrange(16..<20, with: withUnsafeBytes(of: UInt32(count)) { [UInt8]($0) })
    long.replaceSubrange(32..<36, with: withUnsafeBytes(of: UInt32(count)) { [UInt8]($0) })
    long.replaceSubrange(36..<40, with: withUnsafeBytes(of: UInt32(count)) { [UInt8]($0) })
    long += [UInt8](repeating: 0, count: count - 40)
    let short = CaptureBuilder([Self.packet(1, file: 1, 0)]).pcap()
    Self.withFiles([long, short]) { paths in
      let source = MergedCapture(paths: paths)
      #expect(Self.read(source).packets.count == 1)
      #expect(source.failures.map(\.code) == [.unsupported])
      #expect(Self.read(MergedCapture(paths: paths, order: .given)).packets.count == 2)
    }
  }

  // MARK: What is said

  @Test func notes() {
    func times(_ times: Int64...) -> FileTimes {
      times.reduce(into: FileTimes()) { $0.add(Timestamp(milliseconds: $1)) }
    }
    let table: [(String, [FileTimes], MergeOrder, [String])] = [
      ("in order", [times(1, 2), times(2, 3)], .time, []), ("one file", [times(2, 1)], .time, []),
      ("an empty one", [times(), times(1)], .time, []),
      ("out of order", [times(5, 6), times(1, 2)], .time, ["not in the given order"]),
      ("overlapping", [times(1, 5), times(3, 6)], .time, ["f0 and f1 overlap"]),
      (
        "two of three", [times(1, 5), times(6, 7), times(3, 6)], .time, ["not in the given order", "f0 and f2 overlap"]
      ),
      ("three", [times(1, 9), times(2, 3), times(4, 5)], .time, ["3 files overlap in time, such as f0 and f1"]),
      ("unsorted", [times(1, 3, 2), times(4)], .time, ["f0 has 1 packet that is earlier"]),
      ("as given", [times(5, 6), times(1, 2)], .given, ["f1 begins before f0 ends"]),
      ("as given, in order", [times(1, 2), times(2, 6)], .given, []),
    ]
    for (name, files, order, expected) in table {
      let notes = FileTimes.notes(files.enumerated().map { ("f\($0.offset)", $0.element) }, order: order)
      #expect(notes.count == expected.count, "\(name): \(notes)")
      for (note, part) in zip(notes, expected) { #expect(note.contains(part), "\(name): \(note)") }
    }
  }

  @Test(arguments: 0..<20) func queue(_ seed: UInt64) {
    var random = SeededRandom(seed)
    var queue = MergeQueue(), model: [MergeKey] = []
    for step in 0..<300 {
      switch random.next() % 4 {
      case 0, 1:
        let key = MergeKey(time: Timestamp(nanoseconds: Int64(random.next() % 20)), rank: step, file: step)
        queue.insert(key)
        model.append(key)
      case 2:
        queue.removeFirst()
        if !model.isEmpty { model.removeFirst() }
      default:
        let time = Timestamp(nanoseconds: Int64(random.next() % 20))
        queue.moveFirst(to: time)
        if !model.isEmpty { model[0].time = time }
      }
      model.sort()
      #expect(queue.first == model.first && queue.second == model.dropFirst().first)
    }
  }
}
