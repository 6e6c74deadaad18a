@testable import IMEngine
@testable import IMFields
@testable import IMFilter
@testable import IMOutput
@testable import IMOwners
@testable import IMProfile
@testable import IMTerminal
import IMWire
import IMYAML

/// Parts by themselves, which are faster than anything around them.
let partTargets = [
  Target(name: "tlv", run: tlv),
  Target(name: "checksum", run: checksum),
  Target(name: "varint", run: varint),
  Target(name: "inflate", run: inflate),
  Target(name: "profile", run: profile),
  Target(name: "filter", run: filter),
  Target(name: "proxy", run: proxy),
  Target(name: "fields", run: fields),
  Target(name: "sockets", run: sockets),
  Target(name: "terminal", run: terminal),
]

/// `input` with readable bytes behind it.
private func padded(_ input: UnsafeRawBufferPointer) -> [UInt8] {
  [UInt8](input) + [UInt8](repeating: 0xa5, count: PacketRecord.slack)
}

/// A body of TLVs by the layouts of `tjp` and of `diameter`, walked and counted.
@Sendable private func tlv(_ input: UnsafeRawBufferPointer) {
  for plan in [tjp, diameter] { tlv(input, plan) }
}

private func tlv(_ input: UnsafeRawBufferPointer, _ plan: ProtocolPlan) {
  let bytes = padded(input)
  var walker = TLVWalker(maximumCount: 4_096)
  var frame = Frame(kind: plan.pointer.pointee.unknownKind)
  walker.walk(plan.pointer, Bytes(bytes.span.bytes), at: 0, count: input.count, &frame)
  for i in 0..<walker.count {
    let reference = walker.references[i]
    if Int(reference.offset) + Int(reference.count) > input.count { fail("a TLV outside the body") }
    if reference.depth > 16 { fail("a TLV at depth \(reference.depth)") }
  }
  if walker.count > 4_096 { fail("\(walker.count) TLVs") }
}

/// The Internet checksum and the CRC-32, against their definitions.
@Sendable private func checksum(_ input: UnsafeRawBufferPointer) {
  let bytes = padded(input)
  var fast = InternetChecksum()
  fast.addLong(Bytes(bytes.span.bytes), 0, input.count)
  var slow: UInt32 = 0
  var crc: UInt32 = ~0
  for i in 0..<input.count {
    slow += i % 2 == 0 ? UInt32(input[i]) << 8 : UInt32(input[i])
    crc ^= UInt32(input[i])
    for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 1 ? 0xedb8_8320 : 0) }
  }
  while slow > 0xffff { slow = slow & 0xffff + slow >> 16 }
  if fast.isRight != (slow == 0xffff) { fail("the Internet checksum is not \(slow)") }
  if crc32(Bytes(bytes.span.bytes), 0, input.count) != ~crc { fail("the CRC is not \(~crc)") }
  // The others must not depend on how their bytes come.
  let cut = input.count == 0 ? 0 : Int(input[0]) % (input.count + 1)
  for algorithm in ChecksumAlgorithm.allCases {
    var whole = RunningChecksum(algorithm)
    whole.add(Bytes(bytes.span.bytes), 0, input.count)
    var parts = RunningChecksum(algorithm)
    parts.add(Bytes(bytes.span.bytes), 0, cut)
    parts.add(Bytes(bytes.span.bytes), cut, input.count - cut)
    if whole.value != parts.value { fail("\(algorithm.name) depends on its pieces") }
  }
}

/// The length of an MQTT packet, against its definition.
@Sendable private func varint(_ input: UnsafeRawBufferPointer) {
  let bytes = padded(input)
  var frame = Frame(kind: mqtt.pointer.pointee.unknownKind)
  let result = mqtt.pointer.read(Bytes(bytes.span.bytes), 0, input.count, &frame)
  var length = 0
  var count = 0
  for i in 1..<5 {
    guard i < input.count else { return }
    length |= Int(input[i] & 127) << (7 * (i - 1))
    count = i
    if input[i] < 128 { break }
  }
  if input[count] >= 128 {
    if result != .notAFrame { fail("a length of more than four bytes") }
    return
  }
  if result != .notAFrame, frame.headerCount != 1 + count || frame.count != 1 + count + length {
    fail("a frame of \(frame.count) bytes, not \(1 + count + length)")
  }
}

/// A body that its header calls compressed.
@Sendable private func inflate(_ input: UnsafeRawBufferPointer) {
  let bytes = padded(input)
  var inflater = Inflater(maximumCount: 64 << 10, maximumRatio: 100)
  if inflater.inflate(Bytes(bytes.span.bytes), 0, input.count) == nil,
    inflater.count > min(64 << 10, input.count * 100)
  {
    fail("\(inflater.count) bytes from \(input.count)")
  }
}

/// A profile as text. What is wrong with it is told in one line.
@Sendable private func profile(_ input: UnsafeRawBufferPointer) {
  let text = String(decoding: input, as: UTF8.self)
  do throws(ProfileError) {
    let plan = try ProfileCompiler.compile(text, source: "F")
    // What compiles decodes; frames that end at a delimiter are not read by their length.
    guard !plan.pointer.pointee.framing.isDelimited else { return }
    let bytes = padded(input)
    var frame = Frame(kind: plan.pointer.pointee.unknownKind)
    if plan.pointer.read(Bytes(bytes.span.bytes), 0, input.count, &frame) == .frame, frame.count < 1 {
      fail("a frame of \(frame.count) bytes")
    }
  } catch {
    if error.description.contains("\n") { fail("an error of two lines") }
  }
}

/// A PROXY header and an HTTP upgrade: what is found lies in the bytes, and more bytes behind it change nothing.
@Sendable private func proxy(_ input: UnsafeRawBufferPointer) {
  let bytes = padded(input)
  let view = Bytes(bytes.span.bytes)
  if case .header(let header, let count) = ProxyHeader.read(view, 0, input.count) {
    if count > input.count { fail("a header of \(count) bytes") }
    if ProxyHeader.read(view, 0, count) != .header(header, count: count) { fail("another header without what follows") }
    for end in 0..<min(count, 300) where end > 0 && ProxyHeader.read(view, 0, end) != .needMore {
      fail("a header that is there after \(end) of \(count) bytes")
    }
  }
  if case .upgrade(_, let count) = HTTPUpgrade.read(view, 0, input.count), count > input.count {
    fail("HTTP of \(count) bytes")
  }
  if case .header(let header) = WebSocketHeader.read(view, 0, input.count, isMasked: nil, allowsCompression: true) {
    if header.count > input.count || header.payloadCount > WebSocketHeader.longestPayload {
      fail("a header of \(header)")
    }
  }
}

/// Named fields of frames that one connection sends: a plan, then for each frame its type, whose it is, the lengths of header
/// and body, and their bytes. What is found is bounded, hides nothing outside of the frame, and is one line of JSON.
@Sendable private func fields(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  let all = [tjp, mqtt, smpp, diameter, goim, jt808]
  let plan = all[Int(script.byte()) % all.count]
  guard let fields = plan.fields else { fail("\(plan.name) has no fields") }
  var memory = FieldMemory()
  while !script.isEmpty {
    let type = Int(script.byte()) % plan.typeNames.count
    let flags = script.byte()
    let header = script.take(Int(script.byte() & 63))
    let body = script.take(script.u16() & 0x7ff)
    var frame = FieldFrame(bytes: header + body, body: header.count, type: plan.typeNames[type])
    frame.isVariant = flags & 1 != 0
    frame.isReadable = flags & 2 == 0
    frame.isBack = flags & 4 != 0
    let (found, secrets) = FieldReader.read(frame, fields, &memory)
    for range in secrets where range.upperBound > frame.bytes.count { fail("a secret outside of the frame") }
    func count(_ value: FieldValue, _ depth: Int) -> Int {
      if depth > 2 * FieldReader.maximumDepth { fail("groups \(depth) deep") }
      return switch value {
      case .list(let values): values.reduce(1) { $0 + count($1, depth + 1) }
      case .object(let members): members.reduce(1) { $0 + count($1.value, depth + 1) }
      default: 1
      }
    }
    if count(.object(found), 0) > 4 * FieldReader.maximumValues { fail("too many values") }
    var line = ByteWriter(capacity: 256)
    line.literal("{}\n")
    FrameJSONWriter.amend(fields: found, fields, to: &line)
    if line.text.dropLast().contains("\n") { fail("a value that ends its line") }
  }
  memory.forget(0)
}

/// What the kernel says of sockets, as it never would.
@Sendable private func sockets(_ input: UnsafeRawBufferPointer) {
  if DiagMessage.answers(input).count > input.count / 16 { fail("more answers than there is room for") }
  let owner = SocketOwner(path: String(decoding: input, as: UTF8.self), user: 0)
  if owner.unit != nil, owner.container != nil { fail("a unit and a container") }
}

private struct Nothing: FilterRecord {
  func value(of field: Int, at index: Int) -> FilterValue? { index < 2 ? .integer(Int64(field)) : nil }
  func anyText(of field: Int, path: FilterPath, where test: (RawSpan) -> Bool) -> Bool {
    let bytes: [UInt8] = [0x61, 0x62, 0xe4, 0xbd, 0xa0, 0xff, 0]
    return test(bytes.span.bytes)
  }
}

/// A display filter as text, compiled and asked.
@Sendable private func filter(_ input: UnsafeRawBufferPointer) {
  let text = String(decoding: input, as: UTF8.self)
  do {
    _ = try Filter(text, schema: .messages).matches(Nothing())
  } catch {
    if !(1...text.count + 1).contains(error.column) { fail("column \(error.column) of \(text.count)") }
  }
}

/// What a terminal sends, in two pieces and in one, which is the same; and as text from the wire that is painted: no byte that
/// would move a cursor gets through but the painter's own.
@Sendable private func terminal(_ input: UnsafeRawBufferPointer) {
  let bytes = [UInt8](input)
  let middle = Int(bytes.first ?? 0) % (bytes.count + 1)
  var (whole, split) = (InputParser(), InputParser())
  let events = whole.feed(bytes)
  if split.feed(bytes[..<middle]) + split.feed(bytes[middle...]) != events {
    fail("keys depend on how bytes are split")
  }
  if whole.timeout() != split.timeout() { fail("what is left depends on how bytes are split") }

  var grid = Grid(width: 40, height: 3)
  grid.put(String(decoding: bytes, as: UTF8.self), row: 1, column: 2)
  var painter = Painter(.none)
  _ = painter.paint(Grid(width: 40, height: 3))
  for row in 0..<3 {
    for scalar in grid.text(row: row).unicodeScalars where scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) {
      fail("a control character in a grid")
    }
  }
  _ = painter.paint(grid)
}
