import Glibc
import IMEngine
import IMOutput
import IMTestSupport
import IMWire
import Testing

/// Streams as JSON, as a table and as files.
@Suite struct StreamOutputTests {
  static let client = Endpoint(address: IPAddress(v4: 0xc000_0201), port: 40_000)
  static let server = Endpoint(address: IPAddress(v4: 0xc633_6402), port: 5_222)

  /// Two streams: one whole, with a hole in its second direction, and one that begins in the middle.
  static func streams() -> [CollectedStream] {
    var first = ConversationBuilder(client: client, server: server)
    first.acknowledges = false
    first.open(at: Timestamp(milliseconds: 1_000))
    first.send(Array("to".utf8), .clientToServer, at: Timestamp(milliseconds: 1_010))
    first.drop(first.send(Array("lost".utf8), .serverToClient, at: Timestamp(milliseconds: 1_020))[0])
    first.send(Array("from".utf8), .serverToClient, at: Timestamp(milliseconds: 1_030))
    let other = Endpoint(address: IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 1), port: 9)
    var second = ConversationBuilder(client: other, server: other)
    second.acknowledges = false
    second.send([1], .clientToServer, at: Timestamp(milliseconds: 2_000))
    var collector = StreamCollector(options: StreamOptions())
    let batch = CaptureBuilder(first, second).batch()
    collector.process(batch.bytes.span.bytes, batch.records.span)
    return collector.finish()
  }

  @Test func json() {
    var out = ByteWriter()
    for stream in Self.streams() { StreamJSONWriter().write(stream, to: &out) }
    let lines = out.text.split(separator: "\n")
    #expect(lines.count == 2)
    #expect(
      lines.first == """
        {"id":1,"first_frame":1,"client":"192.0.2.1 40000","server":"198.51.100.2 5222","saw_syn":true,\
        "first_us":1000000,"last_us":1030000,"handshake_rtt_server_us":100.0,"handshake_rtt_client_us":100.0,\
        "analysis":{"retransmission":0,"fast_retransmission":0,"spurious_retransmission":0,"out_of_order":0,\
        "capture_duplicate":0,"lost_segment":1,"ack_lost_segment":0,"duplicate_ack":0,"keep_alive":0,\
        "keep_alive_ack":0,"zero_window":0,"zero_window_probe":0,"zero_window_probe_ack":0,"window_full":0,\
        "window_update":0},"dirs":[{"dir":"c2s","packets":3,"wire_bytes":172,"payload_captured":2,"ranges":[[0,2]],\
        "gaps":[],"overlap_bytes":0,"overlap_conflict_bytes":0,"analysis":{},\
        "ack_rtt_karn_us":{"n":1,"min":100.0,"mean":100.0,"max":100.0}},{"dir":"s2c","packets":2,"wire_bytes":120,\
        "payload_captured":4,"ranges":[[4,4]],"gaps":[[0,4]],"overlap_bytes":0,"overlap_conflict_bytes":0,\
        "analysis":{"lost_segment":1},"ack_rtt_karn_us":{"n":2,"min":100.0,"mean":10050.0,"max":20000.0}}]}
        """)
    #expect(lines.last?.contains(#""client":"2001:db8::1 9","server":"2001:db8::1 9","saw_syn":false"#) == true)
  }

  @Test func table() {
    var out = ByteWriter()
    StreamTableWriter().write(Self.streams(), to: &out)
    let rows = out.text.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true) }
    #expect(rows.count == 3)
    #expect(
      rows[1] == [
        "1", "192.0.2.1:40000", "198.51.100.2:5222", "5", "2", "4", "1", "4", "0", "0", "0", "1", "0", "0", "0",
        "0.200",
      ])
    #expect(rows[2].suffix(3) == ["-", "no", "SYN"])
    #expect(out.text.utf8.allSatisfy { $0 == 10 || (0x20..<0x7f).contains($0) })
    // Columns stand below their headings.
    let widths = out.text.split(separator: "\n").prefix(2).map(\.count)
    #expect(widths[0] == widths[1])
  }

  @Test func files() throws {
    let path = try #require(temporaryFolder())
    defer { remove(path) }
    let streams = Self.streams()
    let folder = try StreamFolder(path: path + "/new")
    for stream in streams { try folder.write(stream) }
    #expect(contents(path + "/new/1.c2s.bin") == Array("to".utf8))
    #expect(contents(path + "/new/1.s2c.bin") == Array("from".utf8))
    #expect(contents(path + "/new/2.c2s.bin") == [1])
    #expect(contents(path + "/new/2.s2c.bin") == nil)
    // What is there stays.
    let first = try #require(streams.first)
    #expect(throws: StreamFolder.Failure(action: "create", path: path + "/new/1.c2s.bin", code: EEXIST)) {
      try folder.write(first)
    }
  }

  @Test func linksAreNotFollowed() throws {
    let path = try #require(temporaryFolder())
    defer { remove(path) }
    symlink(path + "/elsewhere", path + "/1.c2s.bin")
    let folder = try StreamFolder(path: path)
    let first = try #require(Self.streams().first)
    #expect(throws: StreamFolder.Failure.self) { try folder.write(first) }
    #expect(contents(path + "/elsewhere") == nil)
  }

  @Test func folderThatCannotBe() {
    #expect(throws: StreamFolder.Failure(action: "create", path: "/nonexistent/a", code: ENOENT)) {
      _ = try StreamFolder(path: "/nonexistent/a")
    }
    #expect(throws: StreamFolder.Failure(action: "open", path: "/dev/null", code: ENOTDIR)) {
      _ = try StreamFolder(path: "/dev/null")
    }
  }

  private func temporaryFolder() -> String? {
    var template = Array("/tmp/imdump-streams-XXXXXX".utf8CString)
    return template.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return nil }
      return String(cString: base)
    }
  }

  private func remove(_ path: String) {
    for name in ["/new/1.c2s.bin", "/new/1.s2c.bin", "/new/2.c2s.bin", "/1.c2s.bin", "/elsewhere"] {
      unlink(path + name)
    }
    rmdir(path + "/new")
    rmdir(path)
  }

  private func contents(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(file, &bytes, bytes.count)
    return count < 0 ? nil : Array(bytes.prefix(count))
  }
}
