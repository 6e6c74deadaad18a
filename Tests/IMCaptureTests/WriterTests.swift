import Glibc
import IMCapture
import IMDescriptors
import IMWire
import Testing

@Suite struct WriterTests {
  /// Copies a capture with a writer.
  static func copy(_ bytes: [UInt8], to path: String, nanoseconds: Bool) throws(CaptureError) {
    let writer = try CaptureWriter(path: path, linkType: 1, nanoseconds: nanoseconds)
    try forEachPacket(of: bytes) { record, batch, _ throws(CaptureError) in try writer.write(record, batch) }
    try writer.close()
  }

  @Test(arguments: Form.all) func roundTrip(form: Form) throws {
    try withPath { path in
      try Self.copy(form.file, to: path, nanoseconds: true)
      let reading = readFile(path)
      #expect(reading.error == nil)
      #expect(
        reading.packets
          == form.packets.map {
            var packet = $0
            packet.nanoseconds = min(packet.nanoseconds, 4_294_967_295_999_999_999)
            return packet
          })
    }
  }

  /// What was written is byte for byte what was read.
  @Test func sameBytes() throws {
    var file = CaptureBytes.pcap()
    for index in 0..<5_000 { file.record(packet(index, index % 1_500), seconds: 5, fraction: UInt32(index)) }
    try withPath { path in
      try Self.copy(file.bytes, to: path, nanoseconds: false)
      #expect(contents(path) == file.bytes)
    }
  }

  static let record = PacketRecord(
    timestamp: Timestamp(nanoseconds: 5), number: 1, offset: 0, capturedLength: 100, originalLength: 100, linkType: 1,
    interface: 0)

  /// Writes `record` until something fails, at most `count` times.
  static func fill(_ writer: CaptureWriter, _ count: Int) throws(CaptureError) {
    let bytes = [UInt8](repeating: 1, count: 100)
    for _ in 0..<count { try writer.write(record, bytes.span.bytes) }
    try writer.close()
  }

  @Test func diskFull() throws {
    let writer = try CaptureWriter(path: "/dev/full", linkType: 1)
    #expect(throws: CaptureError(.ioError, "/dev/full", "write: no space left on device", errno: ENOSPC)) {
      try Self.fill(writer, 10)
    }
    // A file that outgrows the buffer fails while writing, and takes no more packets.
    let large = try CaptureWriter(path: "/dev/full", linkType: 1)
    #expect(throws: CaptureError.self) { try Self.fill(large, 10_000) }
    #expect(large.packetCount == (65_536 - 24 + 115) / 116)
  }

  @Test func rejections() throws {
    #expect(throws: CaptureError(.notFound, "/nonexistent/a.pcap", "open: no such file or directory", errno: ENOENT)) {
      try CaptureWriter(path: "/nonexistent/a.pcap", linkType: 1)
    }
    let writer = try CaptureWriter(path: "/dev/null", linkType: 113)
    #expect(throws: CaptureError.self) { try Self.fill(writer, 1) }
    #expect(writer.packetCount == 0)
  }

  /// A closed pipe is an error like any other, once SIGPIPE is ignored.
  @Test func brokenPipe() throws {
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    close(ends[0])
    let writer = CaptureWriter(descriptor: ends[1], isOwned: true, name: "pipe", linkType: 1)
    #expect(throws: CaptureError(.ioError, "pipe", "write: broken pipe", errno: EPIPE)) { try Self.fill(writer, 1) }
  }

  @Test func flushReachesTheFile() throws {
    try withPath { path in
      let writer = try CaptureWriter(path: path, linkType: 1)
      try writer.write(Self.record, [UInt8](repeating: 1, count: 100).span.bytes)
      #expect(contents(path).isEmpty)
      try writer.flush()
      #expect(contents(path).count == 140)
      #expect(writer.byteCount == 140)
    }
  }

  /// In pcapng packets have comments, the interface its name, and what is read is what was written.
  @Test(arguments: Form.all) func pcapng(form: Form) throws {
    try withPath { path in
      guard let linkType = form.packets.first?.linkType else { return }
      let writer = try CaptureWriter(
        path: path, linkType: linkType, form: .pcapng(interface: "wire0", application: "test"))
      var written: [Packet] = []
      try forEachPacket(of: form.file) { record, batch, _ throws(CaptureError) in
        guard record.linkType == linkType else { return }
        try writer.write(record, batch, comment: record.number % 3 == 0 ? "packet \(record.number)" : nil)
        var packet = form.packets[Int(record.number) - 1]
        packet.nanoseconds = max(0, packet.nanoseconds)
        written.append(packet)
      }
      let count = writer.byteCount
      try writer.close()
      #expect(contents(path).count == Int(count))
      let reading = readFile(path)
      #expect(reading.error == nil)
      #expect(reading.packets == written)
    }
  }

  /// A file that somebody has copied and emptied begins with a header again.
  @Test func emptiedFile() throws {
    try withPath { path in
      let writer = try CaptureWriter(path: path, linkType: 1)
      let bytes = [UInt8](repeating: 1, count: 100)
      for _ in 0..<3 { try writer.write(Self.record, bytes.span.bytes) }
      try writer.flush()
      let before = contents(path)
      #expect(before.count == 24 + 3 * 116)
      #expect(truncate(path, 0) == 0)
      try writer.write(Self.record, bytes.span.bytes)
      try writer.close()
      #expect(contents(path) == Array(before[..<140]))
    }
  }
}
