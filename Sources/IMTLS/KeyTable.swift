import CCrypto
import Glibc
import IMWire

/// The secrets of the key logs, by label and client random. It knows no file, and is not for two threads at a time.
///
/// An entry takes 96 bytes: the client random, which TLS 1.2 without its ClientHello needs whole, the secret, and its position in its
/// chain. At the limit the oldest entry that no connection uses makes room.
///
///      0        32       80     88     92     93      94
///     +--------+--------+------+------+------+-------+-------+---
///     | random | secret | hash | next | kind | count | users |
///     +--------+--------+------+------+------+-------+-------+---
package final class KeyTable {
  /// Grows with each new secret.
  @exclusivity(unchecked) package private(set) var generation: UInt32 = 0
  /// Secrets in the table.
  @exclusivity(unchecked) package private(set) var count = 0
  /// Secrets that made room for newer ones.
  package private(set) var evicted: UInt64 = 0

  /// What a secret is for. Raw values are stored in entries.
  enum Kind: UInt8 {
    case master, early, clientHandshake, serverHandshake, clientTraffic, serverTraffic, clientUpdated, serverUpdated
  }

  /// Told each new secret: its line, without blanks around it. The bytes are the caller's again afterwards.
  package var onSecret: ((UnsafeRawBufferPointer) -> Void)?

  /// The maximum number of secrets for one label and random; more for KeyUpdates, which all have the same label.
  private static func most(_ kind: Kind) -> Int { kind == .clientUpdated || kind == .serverUpdated ? 64 : 4 }
  private static let entrySize = 96
  private static let pageShift = 10
  private static let pageCount = 1 << pageShift
  /// Slots that are looked at for one that no connection uses.
  private static let evictionSteps = 256

  private let capacity: Int
  @exclusivity(unchecked) private var pages: [UnsafeMutableRawPointer] = []
  @exclusivity(unchecked) private var heads: [Int32] = Array(repeating: -1, count: 256)
  /// The slot that is written next, once all are taken.
  private var hand = 0
  /// The slot that was written last.
  @exclusivity(unchecked) private var newest = -1
  private let seed = NumberHash(key: (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max)))

  /// A table of at most `byteLimit` bytes, at least 1,024 secrets.
  package init(byteLimit: Int) {
    // Up to eight bytes of an entry's share of the heads.
    capacity = min(max(Self.pageCount, byteLimit / (Self.entrySize + 8)), 1 << 30)
  }

  deinit {
    for page in pages {
      OPENSSL_cleanse(page, Self.pageCount * Self.entrySize)
      page.deallocate()
    }
  }

  /// Bytes of memory that the table takes.
  package var byteCount: Int { pages.count * Self.pageCount * Self.entrySize + heads.count * 4 }

  /// Takes one line of a key log, without its end.
  @discardableResult
  package func take(line: UnsafeRawBufferPointer) -> KeyLogLine {
    var start = 0
    var end = line.count
    func isBlank(_ index: Int) -> Bool { line[index] == 0x20 || line[index] == 9 || line[index] == 13 }
    while start < end, isBlank(start) { start += 1 }
    while end > start, isBlank(end - 1) { end -= 1 }
    if start == end || line[start] == UInt8(ascii: "#") { return .comment }
    var at = start
    func word() -> Range<Int> {
      while at < end, isBlank(at) { at += 1 }
      let from = at
      while at < end, !isBlank(at) { at += 1 }
      return from..<at
    }
    let label = word()
    let random = word()
    let secret = word()
    guard let kind = Self.kind(UnsafeRawBufferPointer(rebasing: line[label])) else {
      // Without two words after it, or with a sign that labels do not have, it is no line of a key log.
      let isLabel = line[label].allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) || $0 == 0x5f
      }
      return isLabel && !secret.isEmpty ? .foreign : .malformed
    }
    guard at == end, random.count == 64, secret.count == 64 || secret.count == 96,
      kind != .master || secret.count == 96
    else { return .malformed }
    return withUnsafeTemporaryAllocation(byteCount: 80, alignment: 16) { bytes in
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      defer { OPENSSL_cleanse(bytes.baseAddress, 80) }
      guard Self.decode(line, random, into: UnsafeMutableRawBufferPointer(rebasing: bytes[0..<32])),
        Self.decode(line, secret, into: UnsafeMutableRawBufferPointer(rebasing: bytes[32..<80]))
      else { return .malformed }
      let outcome = insert(kind, UnsafeRawBufferPointer(bytes), secretCount: secret.count / 2)
      if outcome == .secret, let onSecret { onSecret(UnsafeRawBufferPointer(rebasing: line[start..<end])) }
      return outcome
    }
  }

  private static func kind(_ label: UnsafeRawBufferPointer) -> Kind? {
    func equals(_ name: StaticString) -> Bool {
      guard name.utf8CodeUnitCount == label.count else { return false }
      for i in 0..<label.count where label[i] & 0xdf != name.utf8Start[i] & 0xdf { return false }
      return true
    }
    // By length, then by the letters: labels are told apart in either case.
    switch label.count {
    case 13: return equals("CLIENT_RANDOM") ? .master : nil
    case 23:
      return equals("CLIENT_TRAFFIC_SECRET_0") && label[22] == 0x30
        ? .clientTraffic
        : equals("SERVER_TRAFFIC_SECRET_0") && label[22] == 0x30
          ? .serverTraffic
          : equals("CLIENT_TRAFFIC_SECRET_N")
            ? .clientUpdated : equals("SERVER_TRAFFIC_SECRET_N") ? .serverUpdated : nil
    case 27: return equals("CLIENT_EARLY_TRAFFIC_SECRET") ? .early : nil
    case 31:
      return equals("CLIENT_HANDSHAKE_TRAFFIC_SECRET")
        ? .clientHandshake : equals("SERVER_HANDSHAKE_TRAFFIC_SECRET") ? .serverHandshake : nil
    default: return nil
    }
  }

  private static func decode(
    _ line: UnsafeRawBufferPointer, _ range: Range<Int>, into result: UnsafeMutableRawBufferPointer
  ) -> Bool {
    var at = range.lowerBound
    var bad: UInt8 = 0
    for i in 0..<(range.count / 2) {
      let high = hexadecimal[Int(line[at])]
      let low = hexadecimal[Int(line[at + 1])]
      bad |= high | low
      result[i] = high << 4 | low & 15
      at += 2
    }
    return bad & 0x80 == 0
  }

  /// The value of each hexadecimal digit; 0x80 of other bytes.
  private static let hexadecimal: [UInt8] = (0...255).map { byte in
    switch byte {
    case 0x30...0x39: UInt8(byte - 0x30)
    case 0x41...0x46: UInt8(byte - 0x41 + 10)
    case 0x61...0x66: UInt8(byte - 0x61 + 10)
    default: 0x80
    }
  }

  // MARK: entries

  // SAFETY: a slot is below `count`, whose pages are allocated and initialized; pages live as long as the table.
  private func entry(_ slot: Int32) -> UnsafeMutableRawPointer {
    pages[Int(slot) >> Self.pageShift] + (Int(slot) & (Self.pageCount - 1)) * Self.entrySize
  }

  private func hash(_ random: UnsafeRawPointer) -> UInt64 {
    var hash: UInt64 = 0
    for i in 0..<4 { hash = seed.sipHash(hash ^ random.loadUnaligned(fromByteOffset: i * 8, as: UInt64.self)) }
    return hash
  }

  private func next(_ slot: Int32) -> Int32 { entry(slot).load(fromByteOffset: 88, as: Int32.self) }

  private func insert(_ kind: Kind, _ bytes: UnsafeRawBufferPointer, secretCount: Int) -> KeyLogLine {
    guard let base = bytes.baseAddress else { return .malformed }
    let hash = hash(base)
    var users: UInt8 = 0
    var held: Int32 = -1
    var heldCount = 0
    var slot = heads[Int(hash & UInt64(heads.count - 1))]
    while slot >= 0 {
      let entry = entry(slot)
      if entry.load(fromByteOffset: 80, as: UInt64.self) == hash, memcmp(entry, base, 32) == 0 {
        users = max(users, entry.load(fromByteOffset: 94, as: UInt8.self))
        if entry.load(fromByteOffset: 92, as: UInt8.self) == kind.rawValue {
          if Int(entry.load(fromByteOffset: 93, as: UInt8.self)) == secretCount,
            memcmp(entry + 32, base + 32, secretCount) == 0
          {
            return .duplicate
          }
          heldCount += 1
          held = slot
        }
      }
      slot = next(slot)
    }
    generation &+= 1
    if heldCount >= Self.most(kind) {
      // The last one of the chain is the oldest: its place is that of the new one, at the head.
      unlink(held)
      write(held, kind, base, secretCount, hash, users)
      return .secret
    }
    write(freeSlot(), kind, base, secretCount, hash, users)
    return .secret
  }

  private func write(
    _ slot: Int32, _ kind: Kind, _ base: UnsafeRawPointer, _ secretCount: Int, _ hash: UInt64, _ users: UInt8
  ) {
    let entry = entry(slot)
    entry.copyMemory(from: base, byteCount: 80)
    entry.storeBytes(of: hash, toByteOffset: 80, as: UInt64.self)
    entry.storeBytes(of: kind.rawValue, toByteOffset: 92, as: UInt8.self)
    entry.storeBytes(of: UInt8(secretCount), toByteOffset: 93, as: UInt8.self)
    entry.storeBytes(of: users, toByteOffset: 94, as: UInt8.self)
    link(slot, hash)
  }

  private func link(_ slot: Int32, _ hash: UInt64) {
    let head = Int(hash & UInt64(heads.count - 1))
    entry(slot).storeBytes(of: heads[head], toByteOffset: 88, as: Int32.self)
    heads[head] = slot
  }

  private func unlink(_ slot: Int32) {
    let head = Int(entry(slot).load(fromByteOffset: 80, as: UInt64.self) & UInt64(heads.count - 1))
    if heads[head] == slot {
      heads[head] = next(slot)
      return
    }
    var before = heads[head]
    while before >= 0 {
      let after = next(before)
      if after == slot {
        entry(before).storeBytes(of: next(slot), toByteOffset: 88, as: Int32.self)
        return
      }
      before = after
    }
  }

  private func freeSlot() -> Int32 {
    if count < capacity {
      if count >> Self.pageShift == pages.count {
        let page = UnsafeMutableRawPointer.allocate(byteCount: Self.pageCount * Self.entrySize, alignment: 16)
        page.initializeMemory(as: UInt8.self, repeating: 0, count: Self.pageCount * Self.entrySize)
        pages.append(page)
      }
      count += 1
      newest = count - 1
      if count > heads.count { growHeads() }
      return Int32(count - 1)
    }
    evicted += 1
    for _ in 0..<Self.evictionSteps where entry(Int32(hand)).load(fromByteOffset: 94, as: UInt8.self) > 0 {
      hand = (hand + 1) % capacity
    }
    let slot = Int32(hand)
    newest = hand
    hand = (hand + 1) % capacity
    unlink(slot)
    return slot
  }

  /// All entries but the one that is being added.
  private func growHeads() {
    heads = Array(repeating: -1, count: heads.count * 2)
    for slot in 0..<Int32(count - 1) { link(slot, entry(slot).load(fromByteOffset: 80, as: UInt64.self)) }
  }

  // MARK: for the reader

  /// The newest secret of `kind` and `random`, which has 32 bytes; -1 when there is none. Slots are valid until the table takes a line.
  func first(_ kind: Kind, _ random: UnsafeRawPointer) -> Int32 {
    let hash = hash(random)
    return match(heads[Int(hash & UInt64(heads.count - 1))], kind.rawValue, random, hash)
  }

  /// The secret of the same name after `slot`.
  func following(_ slot: Int32) -> Int32 {
    let entry = entry(slot)
    return match(
      next(slot), entry.load(fromByteOffset: 92, as: UInt8.self), entry, entry.load(fromByteOffset: 80, as: UInt64.self)
    )
  }

  private func match(_ from: Int32, _ kind: UInt8, _ random: UnsafeRawPointer, _ hash: UInt64) -> Int32 {
    var slot = from
    while slot >= 0 {
      let entry = entry(slot)
      if entry.load(fromByteOffset: 80, as: UInt64.self) == hash,
        entry.load(fromByteOffset: 92, as: UInt8.self) == kind, memcmp(entry, random, 32) == 0
      {
        return slot
      }
      slot = next(slot)
    }
    return -1
  }

  /// The random and the secret of a slot.
  func random(_ slot: Int32) -> UnsafeRawPointer { UnsafeRawPointer(entry(slot)) }
  func secret(_ slot: Int32) -> UnsafeRawBufferPointer {
    let entry = entry(slot)
    return UnsafeRawBufferPointer(start: entry + 32, count: Int(entry.load(fromByteOffset: 93, as: UInt8.self)))
  }

  /// The slots from the newest entry to the oldest, as `slot(back:)` numbers them.
  func slot(back: Int) -> Int32 {
    let slot = newest - back
    return Int32(slot >= 0 ? slot : slot + count)
  }
  func kind(_ slot: Int32) -> UInt8 { entry(slot).load(fromByteOffset: 92, as: UInt8.self) }
  func isClaimed(_ slot: Int32) -> Bool { entry(slot).load(fromByteOffset: 94, as: UInt8.self) > 0 }

  /// A connection uses the secrets of `random`, or no longer.
  func claim(_ random: UnsafeRawPointer) { count(random, isMore: true) }
  func release(_ random: UnsafeRawPointer) { count(random, isMore: false) }

  private func count(_ random: UnsafeRawPointer, isMore: Bool) {
    let hash = hash(random)
    var slot = heads[Int(hash & UInt64(heads.count - 1))]
    while slot >= 0 {
      let entry = entry(slot)
      if entry.load(fromByteOffset: 80, as: UInt64.self) == hash, memcmp(entry, random, 32) == 0 {
        let users = entry.load(fromByteOffset: 94, as: UInt8.self)
        // One that 255 use is not released again.
        if isMore ? users < 255 : users > 0 && users < 255 {
          entry.storeBytes(of: isMore ? users + 1 : users - 1, toByteOffset: 94, as: UInt8.self)
        }
      }
      slot = next(slot)
    }
  }
}

/// What a line of a key log was.
package enum KeyLogLine: Equatable, Sendable {
  /// A secret that is new.
  case secret
  /// A secret that the table has already.
  case duplicate
  /// A label that is not of use here: exporters, QUIC, other tools.
  case foreign
  /// Empty, or a comment.
  case comment
  /// A line of another form, or a known label with a random or secret of a wrong one.
  case malformed
}
