import IMFields

/// Rewrites the values of JSON; its signs and the keys that are known stay.
enum JSONRedaction {
  /// What stands for `bytes`: pseudonyms for the members `known`, and for the texts of `others`, whose numbers stay; stand-ins
  /// for all other strings and numbers.
  static func rewritten(
    _ bytes: [UInt8], names known: Set<String>, others: Set<String>, _ names: Pseudonyms
  ) -> [UInt8] {
    var result = bytes
    var key = ""
    var i = 0
    while i < bytes.count {
      switch bytes[i] {
      case UInt8(ascii: "\""):
        let end = endOfString(bytes, i)
        let inner = i + 1..<max(i + 1, end - 1)
        let value = Array(bytes[inner])
        if isKey(bytes, end) {
          key = String(decoding: value, as: UTF8.self)
          if !known.contains(key), !others.contains(key) { result.replaceSubrange(inner, with: standIn(value)) }
        } else {
          let isName = (known.contains(key) || others.contains(key)) && !value.contains(UInt8(ascii: "\\"))
          result.replaceSubrange(inner, with: isName ? names.text(value) : standIn(value))
        }
        i = end
      case 0x30...0x39:
        let end = bytes[i...].firstIndex { !(0x30...0x39).contains($0) } ?? bytes.count
        if !others.contains(key) {
          let digits = Array(bytes[i..<end])
          result.replaceSubrange(i..<end, with: known.contains(key) ? number(digits, names) : standIn(digits))
        }
        i = end
      default: i += 1
      }
    }
    return result
  }

  private static func isKey(_ bytes: [UInt8], _ end: Int) -> Bool {
    bytes[end...].first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) } == UInt8(ascii: ":")
  }

  private static func endOfString(_ bytes: [UInt8], _ from: Int) -> Int {
    var i = from + 1
    while i < bytes.count, bytes[i] != UInt8(ascii: "\"") { i += bytes[i] == UInt8(ascii: "\\") ? 2 : 1 }
    return min(bytes.count, i + 1)
  }

  /// Escapes would not be such with other letters behind them.
  private static func standIn(_ bytes: [UInt8]) -> [UInt8] {
    let quotes = [UInt8(ascii: "\\"), UInt8(ascii: "\"")]
    return CharacterShape.text(bytes.map { quotes.contains($0) ? UInt8(ascii: "x") : $0 }, .utf8)
  }

  private static func number(_ digits: [UInt8], _ names: Pseudonyms) -> [UInt8] {
    guard let value = UInt64(String(decoding: digits, as: UTF8.self)) else { return standIn(digits) }
    let made = Array(String(names.number(value, maximum: UInt64(Int64.max))).utf8)
    return made.count == digits.count ? made : standIn(digits)
  }
}
