import CCrypto
import Glibc
@testable import IMTLS
import IMWire

/// Records, hellos and key logs.
let tlsTargets = [
  Target(name: "tls", run: tls),
  Target(name: "keylog", run: keyLog),
  Target(name: "hello", run: hello),
  Target(name: "tls-stream", run: tlsStream),
]

/// A key log in chunks of any size has the lines that it has as a whole.
@Sendable private func keyLog(_ input: UnsafeRawBufferPointer) {
  let whole = KeyTable(byteLimit: 0)
  var parser = KeyLogParser()
  parser.take(input, into: whole)
  parser.finish(isWhole: true, into: whole)
  let table = KeyTable(byteLimit: 0)
  var chunked = KeyLogParser()
  var at = 0
  while at < input.count {
    let end = min(input.count, at + 1 + Int(input[at] & 31))
    chunked.take(UnsafeRawBufferPointer(rebasing: input[at..<end]), into: table)
    at = end
  }
  chunked.finish(isWhole: true, into: table)
  let counts = (parser.kept, parser.duplicates, parser.foreign, parser.malformed)
  if counts != (chunked.kept, chunked.duplicates, chunked.foreign, chunked.malformed) || table.count != whole.count {
    fail("chunks of a key log: \(counts) and \(chunked)")
  }
}

/// A hello, as it is and cut anywhere.
@Sendable private func hello(_ input: UnsafeRawBufferPointer) {
  guard let hello = TLSHelloMessage(input) else { return }
  if let print = hello.fingerprint {
    _ = print.ja3
    _ = print.ja4
  }
  for count in stride(from: 0, to: input.count, by: 7) {
    // On a page's end of its own, for the sanitizer.
    let cut = [UInt8](input.prefix(count))
    cut.withUnsafeBytes { _ = TLSHelloMessage($0) }
  }
}

/// Both ends of a TLS connection with known secrets: makes their hellos, and seals their records.
private struct Sealer {
  let suite: TLSSuite
  let isTLS13: Bool
  private var keys: [TLSKeys]
  /// Those of TLS 1.3's handshake; empty for TLS 1.2.
  private var handshakeKeys: [TLSKeys] = []
  private var sequence: [UInt64] = [0, 0]
  private let random: [UInt8]
  /// The lines of a key log.
  let log: [String]

  /// Ends that agree on one of eight suites.
  init(_ kind: UInt8) {
    let numbers: [UInt16] = [0x1301, 0x1303, 0x1302, 0x1304, 0x1305, 0xc02b, 0xcca9, 0xc0ac]
    let number = numbers[Int(kind) % numbers.count]
    guard let suite = TLSSuites.suite(number) else { fail("no suite \(number)") }
    self.suite = suite
    isTLS13 = number >> 8 == 0x13
    let random = (0..<32).map { UInt8($0) &+ kind }
    self.random = random
    func hex(_ bytes: [UInt8]) -> String {
      bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    let count = suite.hash.count
    let secrets = (0..<4).map { side in [UInt8](repeating: UInt8(side + 1), count: count) }
    if isTLS13 {
      let all = secrets.map { secret in secret.withUnsafeBytes { TLSDerivation.keys13(suite, Bytes48($0)) } }
      keys = Array(all[2...])
      handshakeKeys = Array(all[..<2])
      log = zip(
        [
          "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0",
          "SERVER_TRAFFIC_SECRET_0",
        ],
        secrets
      ).map { "\($0) \(hex(random)) \(hex($1))" }
    } else {
      let master = [UInt8](repeating: 9, count: 48)
      let server = [UInt8](repeating: 7, count: 32)
      keys = (0..<2).map { side in
        master.withUnsafeBytes { master in
          random.withUnsafeBytes { random in
            server.withUnsafeBytes { server in
              guard let m = master.baseAddress, let c = random.baseAddress, let s = server.baseAddress else {
                fail("no bytes")
              }
              return TLSDerivation.keys12(
                suite, master: m, clientRandom: Bytes32(c), serverRandom: Bytes32(s), isServer: side == 1,
                order: .isUnknown)
            }
          }
        }
      }
      log = ["CLIENT_RANDOM \(hex(random)) \(hex(master))"]
    }
  }

  /// Both hellos, and of TLS 1.2 the ChangeCipherSpecs; of TLS 1.3 the keys are at once those of application data, as if the rest of the
  /// handshake were missing. Records with the direction of each.
  func hellos(extensions: [UInt8]) -> [(direction: Int, bytes: [UInt8])] {
    let suites: [UInt8] = [0, 2, UInt8(suite.number >> 8), UInt8(suite.number & 255)]
    let tail = [UInt8(extensions.count >> 8), UInt8(extensions.count & 255)] + extensions
    let version: [UInt8] = isTLS13 ? [0, 6, 0, 43, 0, 2, 3, 4] : [0, 0]
    var records = [
      (0, plain(22, message(1, [3, 3] + random + [0] + suites + [1, 0] + tail))),
      (1, plain(22, message(2, [3, 3] + [UInt8](repeating: 7, count: 32) + [0] + suites[2...] + [0] + version))),
    ]
    if !isTLS13 { records += [(0, plain(20, [1])), (1, plain(20, [1]))] }
    return records
  }

  private func message(_ type: UInt8, _ body: [UInt8]) -> [UInt8] {
    [type, 0, UInt8(body.count >> 8), UInt8(body.count & 255)] + body
  }

  private func plain(_ type: UInt8, _ body: [UInt8]) -> [UInt8] {
    [type, 3, 3, UInt8(body.count >> 8), UInt8(body.count & 255)] + body
  }

  /// The Finished of a direction of TLS 1.3, with the keys of the handshake; `nil` for TLS 1.2.
  mutating func finished(_ direction: Int) -> [UInt8]? {
    guard isTLS13 else { return nil }
    (keys, handshakeKeys) = (handshakeKeys, keys)
    let count = suite.hash.count
    let record = seal(direction, 22, [20, 0, 0, UInt8(count)] + [UInt8](repeating: 6, count: count))
    (keys, handshakeKeys) = (handshakeKeys, keys)
    return record
  }

  /// Seals a direction's next record as the peers of the suite do.
  mutating func next(_ direction: Int, _ type: UInt8, _ text: [UInt8]) -> [UInt8] {
    let record = seal(direction, type, text)
    sequence[direction] += 1
    if isTLS13, type == 22, text == Self.keyUpdate {
      keys[direction] = TLSDerivation.updated(keys[direction])
      sequence[direction] = 0
    }
    return record
  }

  /// A KeyUpdate that asks for none of the other side.
  static let keyUpdate: [UInt8] = [24, 0, 0, 1, 0]

  private func seal(_ direction: Int, _ type: UInt8, _ text: [UInt8]) -> [UInt8] {
    let keys = keys[direction]
    let number = sequence[direction]
    var nonce = keys.iv
    var explicit: [UInt8] = []
    if suite.explicitNonceCount > 0 && !isTLS13 {
      let bytes = withUnsafeBytes(of: (number &+ 77).bigEndian) { [UInt8]($0) }
      bytes.withUnsafeBytes { if let base = $0.baseAddress { nonce.setExplicit(base) } }
      explicit = bytes
    } else {
      nonce.xor(number)
    }
    let inner = isTLS13 ? text + [type] : text
    let count = explicit.count + inner.count + suite.tagCount
    let header: [UInt8] = [isTLS13 ? 23 : type, 3, 3, UInt8(count >> 8), UInt8(count & 255)]
    let additional =
      isTLS13
      ? header
      : header.withUnsafeBufferPointer { header -> [UInt8] in
        guard let base = header.baseAddress else { return [] }
        return withUnsafeBytes(of: AdditionalData(number, base, inner.count)) { [UInt8]($0.prefix(13)) }
      }
    guard let context = EVP_CIPHER_CTX_new(), let cipher = Ciphers.all[suite.kind] else { fail("no cipher") }
    defer { EVP_CIPHER_CTX_free(context) }
    var output = [UInt8](repeating: 0, count: inner.count + 16)
    var tag = [UInt8](repeating: 0, count: 16)
    var made: Int32 = 0
    EVP_EncryptInit_ex(context, cipher, nil, nil, nil)
    let isCCM = suite.cipher == .ccm || suite.cipher == .ccm8
    if isCCM {
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, 12, nil)
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(suite.tagCount), nil)
    }
    withUnsafeBytes(of: keys.key) { key in
      withUnsafeBytes(of: nonce) { nonce in
        _ = EVP_EncryptInit_ex(
          context, nil, nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self),
          nonce.baseAddress?.assumingMemoryBound(to: UInt8.self))
      }
    }
    if isCCM { EVP_EncryptUpdate(context, nil, &made, nil, Int32(inner.count)) }
    EVP_EncryptUpdate(context, nil, &made, additional, Int32(additional.count))
    EVP_EncryptUpdate(context, &output, &made, inner, Int32(inner.count))
    EVP_EncryptFinal_ex(context, &tag, &made)
    EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(suite.tagCount), &tag)
    return header + explicit + output.prefix(inner.count) + tag.prefix(suite.tagCount)
  }

}

/// A conversation that is sealed with known secrets, between what the input says of bytes, gaps and keys: what is handed on was sent.
private struct Conversation {
  let context: TLSContext
  let connection: TLSConnection
  private var sealer: Sealer
  /// What was sent sealed, by the offset of its ciphertext.
  private var sent: [[Int: [UInt8]]] = [[:], [:]]
  private var end = [0, 0]
  private var held: [[UInt8]] = [[], []]
  private var offset = [0, 0]
  private var total = 0
  var log: [String] { sealer.log }

  init(_ kind: UInt8, certain: Bool) {
    context = TLSContext(keys: KeyTable(byteLimit: 0))
    connection = TLSConnection(sidesAreCertain: certain)
    sealer = Sealer(kind)
  }

  /// Both hellos.
  mutating func hellos(extensions: [UInt8]) {
    for record in sealer.hellos(extensions: extensions) { raw(record.direction, record.bytes) }
  }

  /// Sends a sealed record, or has it be lost.
  mutating func send(_ direction: Int, _ type: UInt8, _ text: [UInt8], isLost: Bool, from: Int = 0) {
    let record = sealer.next(direction, type, text)
    if type == 23 {
      sent[direction][end[direction] + 5 + (sealer.isTLS13 ? 0 : sealer.suite.explicitNonceCount)] = text
    }
    if isLost {
      // The end of the record may come.
      lose(direction, from: record.count - min(from, record.count))
      raw(direction, [UInt8](record.suffix(min(from, record.count))))
    } else {
      raw(direction, record)
    }
  }

  mutating func raw(_ direction: Int, _ bytes: [UInt8]) {
    end[direction] += bytes.count
    total += bytes.count
    held[direction] += bytes
    pull(direction, isEnd: false)
    for other in 0..<2 where connection.canRetry(direction: other, in: context) { pull(other, isEnd: false) }
  }

  mutating func lose(_ direction: Int, from count: Int, isKnown: Bool = true) {
    held[direction].withUnsafeBytes {
      _ = connection.lose(
        byteCount: isKnown ? UInt64(count) : nil, after: $0, direction: direction, time: Timestamp(nanoseconds: 0),
        in: context)
    }
    offset[direction] += held[direction].count + count
    held[direction] = []
    end[direction] += count
  }

  mutating func giveUp(_ direction: Int) {
    connection.giveUpWaiting(direction: direction)
    pull(direction, isEnd: false)
  }

  mutating func addKeys(_ lines: ArraySlice<String>) {
    for line in lines { Array(line.utf8).withUnsafeBytes { _ = context.keys.take(line: $0) } }
    for direction in 0..<2 where connection.canRetry(direction: direction, in: context) {
      pull(direction, isEnd: false)
    }
  }

  mutating func pull(_ direction: Int, isEnd: Bool) {
    var at = 0
    var decided = 0
    held[direction].withUnsafeBytes { all in
      loop: while at < all.count {
        // A copy of its own, so that a read past its end is seen.
        let rest = [UInt8](all[at...])
        let left = rest.count
        let taken = rest.withUnsafeBytes { bytes -> Int in
          switch connection.next(
            bytes, direction: direction, time: Timestamp(nanoseconds: 0), isEnd: isEnd, in: context)
          {
          case .more(let count):
            if count <= left { fail("more of \(count) with \(left)") }
            if count > 18_432 + 5 + 5 { fail("more of \(count)") }
            return isEnd ? left : 0
          case .plaintext(let text):
            let place = offset[direction] + at + text.ciphertextIndex
            if sent[direction][place] != [UInt8](text.bytes) {
              fail("direction \(direction) at \(place): not what was sent")
            }
            return text.count
          case .control(let count, _), .unread(let count, _): return count
          case .undecided:
            decided += 1
            if decided > 1 { fail("undecided after it was given up") }
            if isEnd || left > 65_536 {
              connection.giveUpWaiting(direction: direction)
              return -1
            }
            return 0
          }
        }
        if taken == -1 { continue }
        decided = 0
        if taken == 0 { break }
        if taken > left { fail("\(taken) of \(left)") }
        at += taken
      }
    }
    held[direction].removeFirst(at)
    offset[direction] += at
  }

  func check() {
    // Work is paid for by bytes and gaps.
    let counters = context.counters
    if counters.tries > UInt64(total) + 5_000 * (counters.gaps + 2) { fail("\(counters) for \(total) bytes") }
    if connection.byteCount > 2 * 65_536 + 4_096 { fail("\(connection.byteCount) bytes") }
  }
}

@Sendable private func tls(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  let kind = script.byte()
  let start = script.byte()
  var talk = Conversation(kind, certain: start & 16 == 0)
  if start & 1 == 0 { talk.addKeys(talk.log[...]) }
  if start & 2 == 0 {
    talk.hellos(extensions: script.take(Int(script.byte() & 63)))
  } else {
    talk.lose(0, from: 100, isKnown: start & 4 == 0)
    talk.lose(1, from: 100, isKnown: start & 8 == 0)
  }
  var steps = 0
  while !script.isEmpty, steps < 200 {
    steps += 1
    let action = script.byte()
    let direction = Int(action >> 7)
    switch action & 15 {
    case 0, 1, 2: talk.send(direction, 23, script.take(Int(script.byte())), isLost: false)
    case 3: talk.send(direction, 23, script.take(Int(script.byte())), isLost: true, from: Int(script.byte()))
    case 4: talk.send(direction, 22, script.take(Int(script.byte())), isLost: false)
    case 5: talk.send(direction, 22, Sealer.keyUpdate, isLost: script.byte() & 1 == 1)
    case 6: talk.raw(direction, script.take(Int(script.byte())))
    case 7: talk.lose(direction, from: script.u16())
    case 8: talk.lose(direction, from: 50, isKnown: false)
    case 9: talk.giveUp(direction)
    case 10: talk.addKeys(talk.log[...(Int(script.byte()) % talk.log.count)])
    case 11: talk.send(direction, 21, script.take(2), isLost: false)
    case 12:
      // A header that is likely, and what follows it.
      let count = script.u16() & 0x3fff
      talk.raw(
        direction,
        [20 + script.byte() % 5, 3, 3, UInt8(count >> 8), UInt8(count & 255)] + script.take(Int(script.byte())))
    case 13: for _ in 0..<Int(script.byte()) { talk.send(direction, 23, [1, 2, 3], isLost: true) }
    case 14: talk.hellos(extensions: script.take(Int(script.byte() & 63)))
    default: talk.send(direction, script.byte(), script.take(Int(script.byte())), isLost: false)
    }
    talk.check()
  }
  for direction in 0..<2 { talk.pull(direction, isEnd: true) }
}

/// TLS in TCP segments through an engine: lost, late and repeated segments, keys before and after their records, WebSocket inside, a clear
/// beginning. Unless the input brings bytes of its own, the records carry frames that are made here: each that is decoded was sent, and
/// none is decoded twice; all are decoded where nothing is missing.
@Sendable private func tlsStream(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  var talk = SegmentedTLS(script.byte(), options: UInt16(script.u16()))
  while !script.isEmpty, talk.segmentCount < 400 {
    let how = script.byte()
    talk.direction = Int(how >> 7)
    talk.setFate(how >> 4 & 7, script.byte())
    switch how & 15 {
    case 0...4: talk.sendFrames(1 + Int(how & 3), filler: Int(script.byte()))
    case 5: talk.sendKeyUpdate()
    case 6: talk.sendForeign(type: 23, script.take(Int(script.byte())))
    case 7: talk.sendForeign(type: script.byte(), script.take(Int(script.byte())))
    case 8: talk.sendRaw(script.take(Int(script.byte())))
    case 9: talk.pass(Int64(script.byte()) * 100_000_000)
    case 10: talk.deliverLate(Int(script.byte()))
    case 11: talk.sendControl(script.byte())
    case 12: talk.addKeys(Int(script.byte()))
    case 13: talk.sendSplit(Int(script.byte()))
    case 14: talk.sendHellos(script.take(Int(script.byte() & 63)))
    default: talk.skip(script.u16())
    }
  }
  talk.finish()
}

/// The connection of `tlsStream`.
private struct SegmentedTLS {
  private var sealer: Sealer
  private let options: UInt16
  private var segments: SegmentScript
  private var next: [UInt32] = [1, 1]
  private var late: [(side: Int, sequence: UInt32, bytes: [UInt8])] = []
  /// Which lines of the key log come after how many packets.
  private var growth: [(after: Int, line: String)] = []
  private var sent: Set<[UInt8]> = []
  private var isWhole: Bool
  private var isOwn = true
  private var hasLate = false
  private var fate: (kind: UInt8, cut: UInt8) = (0, 0)
  private var number = 0
  private var isFragmented = [false, false]
  /// Who sends.
  var direction = 0
  var segmentCount: Int { segments.records.count }

  private var isWebSocket: Bool { options & 4 != 0 }
  private var isDeflated: Bool { options & 8 != 0 }

  init(_ kind: UInt8, options: UInt16) {
    sealer = Sealer(kind)
    self.options = options
    segments = SegmentScript(port: options & 64 == 0 ? 1_883 : 8_443)
    isWhole = options & 0b11_0011 == 0
    if options & 1 == 0 {
      segments.add(0, 2, 0, 0, [])
      segments.add(1, 0x12, 0, 1, [])
    }
    if options & 2 == 0 { growth = sealer.log.map { (0, $0) } }
    if options & 32 != 0 {
      for (side, text) in [(0, "STARTTLS\r\n"), (1, "220 ready\r\n")] {
        direction = side
        put([UInt8](text.utf8))
      }
    }
    if options & 16 == 0 {
      sendHellos([])
      for side in [1, 0] {
        direction = side
        if let record = sealer.finished(side) { put(record) }
      }
    }
    if isWebSocket {
      let agreed = isDeflated ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : ""
      for (side, text) in [
        (0, "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\(agreed)\r\n"),
        (1, "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\(agreed)\r\n"),
      ] {
        direction = side
        put(sealer.next(side, 23, [UInt8](text.utf8)))
      }
    }
    direction = 0
    sendText(framed([0x10, 13, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 60, 0, 1, 0x61]))
    direction = 1
    sendText(framed([0x20, 2, 0, 0]))
  }

  /// What becomes of the next segments: 0 to 3 they come, 4 twice, 5 in two parts, 6 late, 7 never.
  mutating func setFate(_ kind: UInt8, _ cut: UInt8) { fate = (kind, cut) }

  mutating func pass(_ nanoseconds: Int64) {
    segments.time &+= nanoseconds
    isWhole = false
  }

  /// A frame of MQTT that no other one is the same as; remembered as sent.
  private mutating func frame(_ filler: Int) -> [UInt8] {
    number += 1
    let identifier = [UInt8(number >> 8 & 255), UInt8(number & 255)]
    let body = [0, 1, 0x61] + identifier + identifier + [UInt8](repeating: 0x55, count: filler & 63)
    let frame = [0x32, UInt8(body.count)] + body
    sent.insert(frame)
    return frame
  }

  /// Bytes as WebSocket carries them, where it does.
  private func framed(_ bytes: [UInt8], opcode: UInt8 = 0x82) -> [UInt8] {
    guard isWebSocket else { return bytes }
    let mask: UInt8 = direction == 0 ? 0x80 : 0
    let length =
      bytes.count < 126 ? [mask | UInt8(bytes.count)] : [mask | 126, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)]
    let key: [UInt8] = [1, 2, 3, 4]
    return [opcode] + length + (direction == 0 ? key + bytes.enumerated().map { $1 ^ key[$0 & 3] } : bytes)
  }

  private mutating func sendText(_ text: [UInt8]) { put(sealer.next(direction, 23, text)) }

  /// One record with `count` frames.
  mutating func sendFrames(_ count: Int, filler: Int) {
    var text: [UInt8] = []
    for _ in 0..<count { text += framed(frame(filler)) }
    sendText(text)
  }

  /// A frame over two records, and with WebSocket over two fragments.
  mutating func sendSplit(_ at: Int) {
    let whole = frame(at)
    let cut = 1 + at % (whole.count - 1)
    sendText(framed([UInt8](whole[..<cut]), opcode: 0x02))
    sendText(framed([UInt8](whole[cut...]), opcode: 0x80))
  }

  mutating func sendKeyUpdate() { put(sealer.next(direction, 22, Sealer.keyUpdate)) }

  /// An alert; with WebSocket a ping or pong.
  mutating func sendControl(_ kind: UInt8) {
    if isWebSocket {
      sendText(framed([kind], opcode: 0x89 + (kind & 1)))
    } else {
      put(sealer.next(direction, 21, [1, kind]))
    }
  }

  mutating func sendForeign(type: UInt8, _ text: [UInt8]) {
    isOwn = false
    put(sealer.next(direction, type, text))
  }

  mutating func sendRaw(_ bytes: [UInt8]) {
    isOwn = false
    put(bytes)
  }

  mutating func sendHellos(_ extensions: [UInt8]) {
    let sender = direction
    for record in sealer.hellos(extensions: extensions) {
      direction = record.direction
      put(record.bytes)
    }
    direction = sender
    if number > 0 { isOwn = false }
  }

  mutating func addKeys(_ line: Int) {
    growth.append((segments.records.count, sealer.log[line % sealer.log.count]))
  }

  /// Bytes of unknown content that were never captured.
  mutating func skip(_ count: Int) {
    next[direction] &+= UInt32(count)
    isWhole = false
  }

  mutating func deliverLate(_ i: Int) {
    guard !late.isEmpty else { return }
    let segment = late.remove(at: i % late.count)
    hasLate = true
    segments.add(segment.side, 0x18, segment.sequence, next[1 - segment.side], segment.bytes)
  }

  private mutating func put(_ bytes: [UInt8]) {
    segments.time &+= 1_000_000
    let first = next[direction]
    next[direction] &+= UInt32(bytes.count)
    func add(_ sequence: UInt32, _ bytes: [UInt8]) {
      segments.add(direction, 0x18, sequence, next[1 - direction], bytes)
    }
    switch fate.kind {
    case 4:
      add(first, bytes)
      add(first, bytes)
    case 5 where bytes.count > 1:
      let cut = 1 + Int(fate.cut) % (bytes.count - 1)
      add(first, [UInt8](bytes[..<cut]))
      if fate.cut & 1 == 0 {
        add(first &+ UInt32(cut), [UInt8](bytes[cut...]))
      } else {
        isWhole = false
        late.append((direction, first &+ UInt32(cut), [UInt8](bytes[cut...])))
      }
    case 6:
      isWhole = false
      if late.count < 16 { late.append((direction, first, bytes)) }
    case 7: isWhole = false
    default: add(first, bytes)
    }
  }

  mutating func finish() {
    while !late.isEmpty, options & 128 != 0 { deliverLate(0) }
    segments.close()
    let keys = KeyTable(byteLimit: 0)
    var decoded: Set<[UInt8]> = []
    run(
      segments.bytes, segments.records, plans: usual, memory: options & 256 == 0 ? 256 << 20 : 1 << 20, keys: keys,
      growth: growth, hasLate: hasLate
    ) { frame in
      guard isOwn, !isDeflated, frame.first == 0x32 else { return }
      let frame = [UInt8](frame)
      if !sent.contains(frame) { fail("decoded, but never sent: \(frame)") }
      if !decoded.insert(frame).inserted { fail("decoded twice: \(frame)") }
    }
    if isOwn, isWhole, !isDeflated, decoded != sent { fail("decoded \(decoded.count) of \(sent.count) frames") }
  }
}
