/// Character data of XML.
package enum XMLText {
  /// Whether a byte is a blank between parts of markup.
  @inline(__always)
  package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }

  /// The character that an entity means, by what is between `&` and `;`: one of the five names, or a number; `nil` where it is none.
  static func character(_ name: some Collection<UInt8>) -> Unicode.Scalar? {
    switch String(decoding: name, as: UTF8.self) {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    case let word where word.hasPrefix("#x"):
      guard word.utf8.count > 2, word.utf8.dropFirst(2).allSatisfy(isHexDigit) else { return nil }
      return UInt32(word.dropFirst(2), radix: 16).flatMap(allowed)
    case let word where word.hasPrefix("#"):
      guard word.utf8.count > 1, word.utf8.dropFirst().allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
      return UInt32(word.dropFirst()).flatMap(allowed)
    default: return nil
    }
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 || byte | 0x20 &- 0x61 < 6 }

  /// The character with that number, where XML 1.0 allows it.
  private static func allowed(_ number: UInt32) -> Unicode.Scalar? {
    guard number >= 0x20 || [0x09, 0x0a, 0x0d].contains(number), number & 0xfffe != 0xfffe || number > 0xffff else {
      return nil
    }
    return Unicode.Scalar(number)
  }

  /// The text without markup: entities replaced by their characters, and CDATA sections by what is in them.
  package static func decoded(_ bytes: some Collection<UInt8>) -> String {
    let bytes = Array(bytes)
    let (opening, closing) = (Array("<![CDATA[".utf8), Array("]]>".utf8))
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count)
    var at = 0
    while at < bytes.count {
      if bytes[at] == 0x26, let end = bytes[at...].prefix(12).firstIndex(of: 0x3b),
        let character = character(bytes[at + 1..<end])
      {
        text += Array(String(character).utf8)
        at = end + 1
      } else if bytes[at] == 0x3c, bytes[at...].starts(with: opening) {
        at += opening.count
        while at < bytes.count, !bytes[at...].starts(with: closing) {
          text.append(bytes[at])
          at += 1
        }
        at = min(bytes.count, at + closing.count)
      } else {
        text.append(bytes[at])
        at += 1
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
