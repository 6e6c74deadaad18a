/// What a person types, byte by byte, as lines.
struct LineEditor {
  /// What a key came to.
  enum Key: Equatable {
    /// A line was ended.
    case line(String)
    /// The line is another one.
    case changed
    /// Nothing more comes.
    case end
  }

  private var bytes: [UInt8] = []
  private var escape: [UInt8] = []

  /// What stands in the line, as far as it is whole characters.
  var line: String { String(decoding: bytes, as: UTF8.self) }

  /// The longest line, in bytes.
  private static var limit: Int { 4_096 }

  /// Takes what was read. Without a terminal only the ends of lines mean anything.
  mutating func take(_ input: ArraySlice<UInt8>, isTerminal: Bool) -> [Key] {
    var keys: [Key] = []
    for byte in input {
      if !escape.isEmpty || (isTerminal && byte == 0x1b) {
        takeEscape(byte)
        continue
      }
      switch byte {
      case 10, 13:
        keys.append(.line(line))
        bytes = []
      case 3 where isTerminal, 4 where isTerminal: keys.append(.end)
      case 8 where isTerminal, 127 where isTerminal:
        // A character may be several bytes: those that continue one go with it.
        while let last = bytes.popLast(), last & 0xc0 == 0x80 {}
        keys.append(.changed)
      case 21 where isTerminal:
        bytes = []
        keys.append(.changed)
      case 0..<32: break
      default:
        if bytes.count < Self.limit { bytes.append(byte) }
        if isTerminal { keys.append(.changed) }
      }
    }
    return keys
  }

  /// Arrows and other keys that begin with an escape are passed over.
  private mutating func takeEscape(_ byte: UInt8) {
    escape.append(byte)
    let isBegin = escape.count == 1 || (escape.count == 2 && (byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O")))
    if !isBegin, (0x40...0x7e).contains(byte) || escape.count > 16 { escape = [] }
  }
}
