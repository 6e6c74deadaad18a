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

  /// Says what becomes of the JSON text at `range`, which can be read: its signs stay, and so do `known` names of members; other strings and
  /// numbers get stand-ins.
  static func treat(_ text: inout FrameText, _ range: Range<Int>, known: Set<[UInt8]>) {
    let bytes = Array(text.old[range.clamped(to: 0..<text.old.count)])
    text.set(range, .keep)
    var i = 0
    while i < bytes.count {
      let first = range.lowerBound + i
      switch bytes[i] {
      case UInt8(ascii: "\""):
        let end = endOfString(bytes, i)
        let inner = i + 1..<max(i + 1, end - 1)
        if !isKey(bytes, end) || !known.contains(Array(bytes[inner])) {
          text.set(first + 1..<first + 1 + inner.count, .jsonText)
        }
        i = end
      case 0x30...0x39:
        let end = bytes[i...].firstIndex { !(0x30...0x39).contains($0) } ?? bytes.count
        text.set(first..<range.lowerBound + end, .decimal)
        i = end
      default: i += 1
      }
    }
  }

  /// Says what becomes of the bytes in front of a JSON text: the digits stay, by which the frame is read, and other characters get stand-ins.
  static func treat(_ text: inout FrameText, lead range: Range<Int>) {
    let range = range.clamped(to: 0..<text.old.count)
    text.set(range, .keep)
    var i = range.lowerBound
    while i < range.upperBound {
      let first = i
      while i < range.upperBound, text.old[i] &- 0x30 >= 10 { i += 1 }
      text.set(first..<i, .lead)
      while i < range.upperBound, text.old[i] &- 0x30 < 10 { i += 1 }
    }
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
  static func standIn(_ bytes: [UInt8]) -> [UInt8] {
    let quotes = [UInt8(ascii: "\\"), UInt8(ascii: "\"")]
    return CharacterShape.text(bytes.map { quotes.contains($0) ? UInt8(ascii: "x") : $0 }, .utf8)
  }

  /// Another number with as many digits, or a stand-in.
  static func number(_ digits: [UInt8], _ names: Pseudonyms) -> [UInt8] {
    guard let value = UInt64(String(decoding: digits, as: UTF8.self)) else { return standIn(digits) }
    let made = Array(String(names.number(value, maximum: UInt64(Int64.max))).utf8)
    return made.count == digits.count ? made : standIn(digits)
  }
}
