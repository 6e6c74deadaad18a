import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What is in a frame: checksums, TLV lists, labels, types and lengths.
@Suite struct BodyTests {
  /// The checksum field and what is said of it. An empty body has none.
  @Test(
    arguments: [
      ("big endian", "text", .bigEndian, .be), ("little endian", "text", .littleEndian, .le),
      ("wrong", "text", .bad, .bad),
      ("zero", "text", .value(0), .bad), ("empty", "", .bigEndian, .none), ("empty with one", "", .value(7), .bad),
    ] as [(String, String, TJPFrameBuilder.Checksum, ChecksumStatus)])
  func checksum(_ name: String, _ text: String, _ checksum: TJPFrameBuilder.Checksum, _ expected: ChecksumStatus) {
    var frame = TJPFrameBuilder(
      type: TJPType.data, sequence: 1, body: text.isEmpty ? [] : TLVBuilder().text(text).bytes)
    frame.checksum = checksum
    let run = decode([frame.bytes])
    #expect(run.frames.map(\.status) == [expected], "\(name)")
    #expect(run.issues.map(\.kind) == (expected == .bad ? [.checksumMismatch] : []), "\(name)")
    #expect(run.ledger.damagedBytes == (expected == .bad ? UInt64(frame.bytes.count) : 0), "\(name)")
    run.expectLedgerAddsUp()
  }

  /// TLV lists: depths and tags that come out, and what is wrong with them.
  @Test(
    arguments: [
      ("one", "1001 00000002 6869", "0:1001", []),
      ("two", "1001 00000000 1002 00000001 ff", "0:1001 0:1002", []),
      ("nested", "ffff 00000007 1001 00000001 61 1002 00000000", "0:ffff 1:1001 0:1002", []),
      ("empty list", "ffff 00000000", "0:ffff", []),
      ("an unknown tag", "abcd 00000001 00", "0:abcd", []),
      ("a tag twice", "1001 00000000 1001 00000000", "0:1001 0:1001", [.duplicateTag]),
      ("a tag twice, in two lists", "1001 00000000 ffff 00000006 1001 00000000", "0:1001 0:ffff 1:1001", []),
      ("two lists", "ffff 00000000 ffff 00000000", "0:ffff 0:ffff", [.duplicateTag]),
      ("ends in the tag", "1001 00000000 10", "0:1001", [.incompleteTag]),
      ("ends in the length", "1001 00000000 1002 0000", "0:1001", [.incompleteLength]),
      ("ends in the value", "1001 00000003 6869", "", [.incompleteValue]),
      ("a length of 4 GB", "1001 ffffffff 6869", "", [.incompleteValue]),
      ("an inner one reaches out", "ffff 00000006 1001 00000001 1002 00000000", "0:ffff 0:1002", [.incompleteValue]),
      ("an inner one ends in its tag", "ffff 00000001 10 1002 00000000", "0:ffff 0:1002", [.incompleteTag]),
    ] as [(String, String, String, [IssueKind])])
  func tlv(_ name: String, _ hex: String, _ expected: String, _ issues: [IssueKind]) {
    let run = decode([TJPFrameBuilder(type: TJPType.data, sequence: 1, body: [UInt8](hex: hex)).bytes])
    let found = run.frames.flatMap(\.fields).map { "\($0.depth):\(String($0.tag, radix: 16))" }
    #expect(found.joined(separator: " ") == expected, "\(name)")
    #expect(run.issues.map(\.kind) == issues, "\(name)")
    run.expectLedgerAddsUp()
  }

  /// Four levels are allowed, from the fifth on it is noted, and below the sixteenth the lists stay raw.
  @Test(arguments: [1, 4, 5, 16, 17, 40, 100_000]) func depth(_ levels: Int) {
    // Built from the inside: each level is tag, length and what is in it.
    var body: [UInt8] = []
    var header: [UInt8] = []
    for level in 0..<levels {
      header = []
      header.append(big: UInt16(0xffff))
      header.append(big: UInt32(level * 6))
      body += header.reversed()
    }
    let run = decode([TJPFrameBuilder(type: TJPType.data, sequence: 1, body: body.reversed()).bytes])
    let fields = run.frames.flatMap(\.fields)
    #expect(fields.count == min(levels, 17))
    #expect(fields.filter(\.isList).count == min(levels, 16))
    #expect(run.issues.map(\.kind) == (levels > 4 ? [.nestedTooDeep] : []))
    run.expectLedgerAddsUp()
  }

  /// A million empty TLVs: 65,536 are kept.
  @Test func tlvBomb() {
    let one: [UInt8] = [0x12, 0x34, 0, 0, 0, 0]
    let body = [UInt8]((0..<1_000_000).map { one[$0 % 6] }.prefix(999_996))
    let run = decode([TJPFrameBuilder(type: TJPType.data, sequence: 1, body: body).bytes])
    #expect(run.ledger.tlvs == 65_536)
    #expect(run.issues.map(\.kind) == [.tlvLimit])
    run.expectLedgerAddsUp()
  }

  /// The compression and encryption labels. The zlib bytes are Python's `zlib.compress` of tag 1001 with twelve "z".
  @Test(
    arguments: [
      ("zlib", 1, 0, "789c1360646060e0a9420200270b05d6", [.inflated], ["zzzzzzzzzzzz"]),
      (
        "zlib with a byte behind it", 1, 0, "789c1360646060e0a9420200270b05d600",
        [.compressLabelOnly, .incompleteValue], []
      ),
      ("label only", 1, 0, "1001000000026869", [.compressLabelOnly], ["hi"]),
      ("another label", 2, 0, "1001000000026869", [], ["hi"]),
      ("encrypted", 0, 2, "1001000000026869", [.encrypted], []),
      ("a checksum's label", 0, 1, "1001000000026869", [], ["hi"]),
      ("both", 1, 2, "789c", [.encrypted], []),
    ] as [(String, UInt8, UInt8, String, Frame.Flags, [String])])
  func labels(
    _ name: String, _ compression: UInt8, _ encryption: UInt8, _ hex: String, _ flags: Frame.Flags, _ texts: [String]
  ) {
    var frame = TJPFrameBuilder(type: TJPType.data, sequence: 1, body: [UInt8](hex: hex))
    frame.compression = compression
    frame.encryption = encryption
    let run = decode([frame.bytes])
    #expect(run.frames.map { $0.flags.subtracting([.sequence, .opened]) } == [flags], "\(name)")
    #expect(run.frames.flatMap(\.fields).map { String(decoding: $0.value, as: UTF8.self) } == texts, "\(name)")
    run.expectLedgerAddsUp()
  }

  /// A body that inflates beyond a limit is left alone, and the stream goes on.
  @Test(arguments: [(1 << 20, 100, true), (100, 1_000, false), (1 << 20, 2, false)])
  func inflateLimits(_ bytes: Int, _ ratio: Int, _ fits: Bool) {
    // Python's zlib.compress of tag 1001 with 1,000 "z".
    var frame = TJPFrameBuilder(
      type: TJPType.data, sequence: 1, body: [UInt8](hex: "789c13606460607e51350a46c12818f60000cbf2dd9c"))
    frame.compression = 1
    let run = decode([frame.bytes, TJPFrameBuilder(text: "next", sequence: 2).bytes]) {
      $0.inflateLimit = bytes
      $0.inflateRatio = ratio
    }
    #expect(run.frames.count == 2)
    #expect(run.frames[0].flags.contains(.inflated) == fits)
    #expect(run.issues.map(\.kind) == (fits ? [] : [.inflateLimit]))
    run.expectLedgerAddsUp()
  }

  /// Bytes that are no frame between two frames that are: what is passed over is told to the byte.
  @Test(arguments: [
    ("text", "474554202f20485454502f312e310d0a0d0a", 18), ("a magic alone", "decafbad", 4), ("half a magic", "deca", 2),
    ("a header of version 2", "decafbad 02 00 0000 00000001 00000000 00 00 0000 00000000 00000000", 28),
    ("a length of 2 GB", "decafbad 01 00 0000 00000001 00000000 00 00 0000 7fffffff 00000000", 28),
    ("zeros", "00000000000000000000000000000000000000000000000000000000", 28),
  ])
  func between(_ name: String, _ hex: String, _ count: UInt64) {
    let first = TJPFrameBuilder(text: "first", sequence: 1).bytes
    let second = TJPFrameBuilder(text: "second", sequence: 2).bytes
    let third = TJPFrameBuilder(text: "third", sequence: 3).bytes
    let run = decode([first + [UInt8](hex: hex) + second + third])
    #expect(run.frames.map(\.sequence) == [1, 2, 3], "\(name)")
    let found = run.issues.filter { $0.kind == .resynchronised }
    #expect(found.map(\.byteCount) == [count], "\(name)")
    #expect(found.map(\.streamOffset) == [UInt64(first.count)], "\(name)")
    #expect(run.ledger.strayBytes == count, "\(name)")
    run.expectLedgerAddsUp("\(name)")
  }

  /// A damaged frame with the beginning of something else behind it, at the end: found once, dropped once.
  @Test func falseFrame() {
    var damaged = TJPFrameBuilder(text: "damaged", sequence: 2)
    damaged.checksum = .bad
    for tail in [[0xde], [0xde, 0xca, 1], [1], [UInt8](repeating: 7, count: 27), [UInt8](repeating: 7, count: 28)]
      as [[UInt8]]
    {
      for before in [[], [9, 9, 9]] as [[UInt8]] {
        let run = decode([TJPFrameBuilder(text: "sound", sequence: 1).bytes, before + damaged.bytes + tail])
        #expect(run.frames.first?.sequence == 1)
        run.expectLedgerAddsUp("\(before.count) and \(tail)")
      }
    }
  }

  private func decode(_ payloads: [[UInt8]], _ change: (inout EngineOptions) -> Void = { _ in }) -> Run {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.segmentSize = 60_000
    talk.open(at: Timestamp(milliseconds: 1_700_000_000_000))
    for (i, payload) in payloads.enumerated() {
      talk.send(payload, .clientToServer, at: Timestamp(milliseconds: 1_700_000_000_010 + Int64(i) * 10))
    }
    return Run(talk.packets, plans: Plans.both, change)
  }
}
