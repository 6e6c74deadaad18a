import CCrypto
import Glibc
@testable import IMTLS
import IMWire

/// Records, hellos and key logs.
let tlsTargets = [
  Target(name: "tls", run: tls),
  Target(name: "keylog", run: keyLog),
  Target(name: "hello", run: hello),
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

/// A conversation that is sealed with known secrets, between what the input says of bytes, gaps and keys: what is handed on was sent.
private struct Conversation {
  let context: TLSContext
  let connection: TLSConnection
  private let suite: TLSSuite
  private let isTLS13: Bool
  private var keys: [TLSKeys]
  private var sequence: [UInt64] = [0, 0]
  /// What was sent sealed, by the offset of its ciphertext.
  private var sent: [[Int: [UInt8]]] = [[:], [:]]
  private var end = [0, 0]
  private var held: [[UInt8]] = [[], []]
  private var offset = [0, 0]
  private var total = 0
  let random: [UInt8]
  let log: [String]

  init(_ kind: UInt8, certain: Bool) {
    let numbers: [UInt16] = [0x1301, 0x1303, 0x1302, 0x1304, 0x1305, 0xc02b, 0xcca9, 0xc0ac]
    let number = numbers[Int(kind) % numbers.count]
    guard let suite = TLSSuites.suite(number) else { fail("no suite \(number)") }
    self.suite = suite
    isTLS13 = number >> 8 == 0x13
    context = TLSContext(keys: KeyTable(byteLimit: 0))
    connection = TLSConnection(sidesAreCertain: certain)
    let random = (0..<32).map { UInt8($0) &+ kind }
    self.random = random
    func hex(_ bytes: [UInt8]) -> String {
      bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    let count = suite.hash.count
    let secrets = (0..<4).map { side in [UInt8](repeating: UInt8(side + 1), count: count) }
    if isTLS13 {
      keys = secrets[2...].map { secret in secret.withUnsafeBytes { TLSDerivation.keys13(suite, Bytes48($0)) } }
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
  /// handshake were missing.
  mutating func hellos(extensions: [UInt8]) {
    let suites: [UInt8] = [0, 2, UInt8(suite.number >> 8), UInt8(suite.number & 255)]
    let tail = [UInt8(extensions.count >> 8), UInt8(extensions.count & 255)] + extensions
    plain(0, 22, message(1, [3, 3] + random + [0] + suites + [1, 0] + tail))
    let version: [UInt8] = isTLS13 ? [0, 6, 0, 43, 0, 2, 3, 4] : [0, 0]
    plain(1, 22, message(2, [3, 3] + [UInt8](repeating: 7, count: 32) + [0] + suites[2...] + [0] + version))
    if !isTLS13 {
      plain(0, 20, [1])
      plain(1, 20, [1])
    }
  }

  private func message(_ type: UInt8, _ body: [UInt8]) -> [UInt8] {
    [type, 0, UInt8(body.count >> 8), UInt8(body.count & 255)] + body
  }

  private mutating func plain(_ direction: Int, _ type: UInt8, _ body: [UInt8]) {
    raw(direction, [type, 3, 3, UInt8(body.count >> 8), UInt8(body.count & 255)] + body)
  }

  /// Seals a record as the peers of the suite do.
  func seal(_ direction: Int, _ type: UInt8, _ text: [UInt8]) -> [UInt8] {
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
    guard let context = EVP_CIPHER_CTX_new(), let cipher = Ciphers.all[CipherKind(suite)] else { fail("no cipher") }
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

  /// Sends a sealed record, or has it be lost.
  mutating func send(_ direction: Int, _ type: UInt8, _ text: [UInt8], isLost: Bool, from: Int = 0) {
    let record = seal(direction, type, text)
    sequence[direction] += 1
    if type == 23 {
      sent[direction][end[direction] + 5 + (isTLS13 ? 0 : suite.explicitNonceCount)] = text
    }
    if isTLS13, type == 22, text == [24, 0, 0, 1, 0] {
      keys[direction] = TLSDerivation.updated(keys[direction])
      sequence[direction] = 0
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
    case 5: talk.send(direction, 22, [24, 0, 0, 1, 0], isLost: script.byte() & 1 == 1)
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
