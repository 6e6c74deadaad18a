/// The classes of bytes that RFC 9110 and RFC 9112 tell apart.
extension UInt8 {
  static let cr: UInt8 = 0x0d, lf: UInt8 = 0x0a, tab: UInt8 = 0x09, space: UInt8 = 0x20
  static let comma = UInt8(ascii: ","), colon = UInt8(ascii: ":"), semicolon = UInt8(ascii: ";")
  static let slash = UInt8(ascii: "/"), questionMark = UInt8(ascii: "?"), zero = UInt8(ascii: "0")

  var isDigit: Bool { (UInt8.zero...0x39).contains(self) }
  var isAlphanumeric: Bool { isDigit || (0x61...0x7a).contains(lowercased) }
  /// What may stand between the parts of a line.
  var isBlank: Bool { self == .space || self == .tab }
  /// Printable ASCII without the blank.
  var isVisible: Bool { (0x21...0x7e).contains(self) }
  /// A byte of a method or of a field's name.
  var isToken: Bool { isAlphanumeric || Self.tokenMarks.contains(self) }
  /// A byte of a host and its port.
  var isHost: Bool { isAlphanumeric || Self.hostMarks.contains(self) }
  /// The small letter of a capital one.
  var lowercased: UInt8 { (0x41...0x5a).contains(self) ? self | 0x20 : self }

  private static let tokenMarks = [UInt8]("!#$%&'*+-.^_`|~".utf8)
  private static let hostMarks = [UInt8]("-._~!$&'()*+,;=%:[]".utf8)
}

extension BidirectionalCollection where Element == UInt8 {
  /// Without the blanks at both ends.
  var trimmingBlanks: SubSequence {
    let start = firstIndex { !$0.isBlank } ?? endIndex
    let end = lastIndex { !$0.isBlank }.map(index(after:)) ?? start
    return self[start..<end]
  }
}
