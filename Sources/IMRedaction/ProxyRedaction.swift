import IMEngine
import IMFields
import IMWire

/// Rewrites the header that a load balancer puts in front of a connection; see `IMEngine`'s reader for its layout.
enum ProxyRedaction {
  private static let name = Array("PROXY ".utf8)

  /// What stands for the header `bytes` of that version; as many bytes. One of version 0 cannot be believed, and neither can what
  /// stands for it.
  static func rewritten(_ bytes: [UInt8], version: UInt8, _ addresses: inout AddressPseudonyms) -> [UInt8] {
    switch version {
    case 0: bytes.first == name.first ? bytes.prefix(6) + CharacterShape.text(Array(bytes.dropFirst(6)), .ascii) : bytes
    case 1: line(bytes, &addresses)
    default: binary(bytes, &addresses)
    }
  }

  // MARK: Version 1

  /// The client's address becomes its pseudonym, which may have more digits or less; the balancer's own makes up for it. Where it
  /// cannot, the line says that the client is not known.
  private static func line(_ bytes: [UInt8], _ addresses: inout AddressPseudonyms) -> [UInt8] {
    let text = String(decoding: bytes.dropLast(2), as: UTF8.self)
    let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 6, let client = IPAddress(words[2]), let server = IPAddress(words[3]) else {
      return unknown(bytes.count)
    }
    let source = "\(addresses.pseudonym(client))"
    let room = words[2].utf8.count + words[3].utf8.count - source.utf8.count
    let own = "\(addresses.pseudonym(server))"
    guard let destination = own.utf8.count == room ? own : server.isIPv6 ? v6(room) : v4(room) else {
      return unknown(bytes.count)
    }
    return Array("\(words[0]) \(words[1]) \(source) \(destination) \(words[4]) \(words[5])\r\n".utf8)
  }

  /// An address of so many characters, of the block for measurements (RFC 2544) where that has one.
  private static func v4(_ count: Int) -> String? {
    guard (7...15).contains(count) else { return nil }
    if count >= 10 {
      // 198.18. and two numbers of one to three digits.
      let rest = count - 8
      let first = min(3, rest - 1)
      return "198.18." + String(repeating: "1", count: first) + "." + String(repeating: "1", count: rest - first)
    }
    return ["1.1.1.1", "1.1.1.11", "1.1.11.11"][count - 7]
  }

  /// An address of so many characters, of the block for documentation (RFC 3849).
  private static func v6(_ count: Int) -> String? {
    let shortest = "2001:db8::1"
    guard count >= shortest.utf8.count else { return nil }
    for groups in 1...6 {
      for last in 1...4 {
        let text = "2001:db8::" + String(repeating: "1111:", count: groups - 1) + String(repeating: "1", count: last)
        if text.utf8.count == count { return text }
      }
    }
    return nil
  }

  private static func unknown(_ count: Int) -> [UInt8] {
    let start = Array("PROXY UNKNOWN".utf8)
    guard count > start.count + 2 else { return start.prefix(max(0, count - 2)) + [0x0d, 0x0a].suffix(count) }
    return start + [0x20] + [UInt8](repeating: UInt8(ascii: "x"), count: count - start.count - 3) + [0x0d, 0x0a]
  }

  // MARK: Version 2

  private static func binary(_ bytes: [UInt8], _ addresses: inout AddressPseudonyms) -> [UInt8] {
    guard bytes.count >= 16 else { return bytes }
    var result = bytes
    func word(_ from: Int, _ count: Int) -> UInt64 { bytes[from..<from + count].reduce(0) { $0 << 8 | UInt64($1) } }
    func put(_ value: UInt64, _ from: Int, _ count: Int) {
      for i in 0..<count { result[from + i] = UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - i))) }
    }
    var at = 16
    switch bytes[13] >> 4 {
    case 1 where bytes.count >= 28:
      for from in [16, 20] { put(addresses.pseudonym(IPAddress(v4: UInt32(word(from, 4)))).low, from, 4) }
      at = 28
    case 2 where bytes.count >= 52:
      for from in [16, 32] {
        let made = addresses.pseudonym(IPAddress(v6High: word(from, 8), v6Low: word(from + 8, 8)))
        put(made.high, from, 8)
        put(made.low, from + 8, 8)
      }
      at = 52
    case 3 where bytes.count >= 232:
      for i in 16..<232 { result[i] = 0 }
      at = 232
    default: break
    }
    var sum: Int?
    while at + 3 <= bytes.count {
      let (type, count) = (bytes[at], Int(word(at + 1, 2)))
      let value = at + 3..<min(bytes.count, at + 3 + count)
      switch type {
      case 0x03: sum = count == 4 && value.count == 4 ? value.lowerBound : nil
      // What the client's TLS was: a byte of bits and a number stay, names go.
      case 0x20:
        let names = min(value.lowerBound + 5, value.upperBound)..<value.upperBound
        result.replaceSubrange(names, with: elements(Array(bytes[names])))
      default: result.replaceSubrange(value, with: CharacterShape.anything(Array(bytes[value])))
      }
      at = value.upperBound
    }
    if let sum {
      put(ChecksumAlgorithm.crc32c.sum(of: result.span.bytes, zeroing: sum..<sum + 4), sum, 4)
    }
    return result
  }

  /// Elements within an element: their values are stand-ins.
  private static func elements(_ bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    var at = 0
    while at + 3 <= bytes.count {
      let count = Int(bytes[at + 1]) << 8 | Int(bytes[at + 2])
      let value = at + 3..<min(bytes.count, at + 3 + count)
      result.replaceSubrange(value, with: CharacterShape.anything(Array(bytes[value])))
      at = value.upperBound
    }
    return result
  }
}
