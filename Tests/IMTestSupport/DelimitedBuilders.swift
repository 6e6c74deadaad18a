/// JT/T 808 frames as bytes: a header, a body, the exclusive or of both, escaped between two flags.
package enum JT808Builder {
  /// A frame of the type `kind`. `number` has at most 12 digits, or 20 in a header of 2019; `piece` says how many pieces
  /// there are and which one this is.
  package static func frame(
    _ kind: UInt16, _ serial: UInt16, _ body: [UInt8] = [], number: String = "013800138000", isNewer: Bool = false,
    piece: (UInt16, UInt16)? = nil
  ) -> [UInt8] {
    wire(content(kind, serial, body, number: number, isNewer: isNewer, piece: piece))
  }

  /// The same without escapes, sum and flags.
  package static func content(
    _ kind: UInt16, _ serial: UInt16, _ body: [UInt8], number: String = "013800138000", isNewer: Bool = false,
    piece: (UInt16, UInt16)? = nil
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: kind)
    bytes.append(big: UInt16(body.count) | (isNewer ? 0x4000 : 0) | (piece == nil ? 0 : 0x2000))
    if isNewer { bytes.append(1) }
    let digits = isNewer ? 20 : 12
    bytes += [UInt8](hex: String(repeating: "0", count: digits - number.count) + number)
    bytes.append(big: serial)
    if let piece {
      bytes.append(big: piece.0)
      bytes.append(big: piece.1)
    }
    return bytes + body
  }

  /// Content as it travels, with its sum.
  package static func wire(_ content: [UInt8]) -> [UInt8] {
    let sum = content.reduce(0, ^)
    let escaped = (content + [sum]).flatMap { byte -> [UInt8] in
      byte == 0x7e ? [0x7d, 2] : byte == 0x7d ? [0x7d, 1] : [byte]
    }
    return [0x7e] + escaped + [0x7e]
  }

  /// What the platform, or the terminal, answers nearly everything with.
  package static func answer(
    _ kind: UInt16, _ serial: UInt16, of answered: UInt16, _ type: UInt16, result: UInt8 = 0,
    number: String = "013800138000", isNewer: Bool = false
  ) -> [UInt8] {
    var body: [UInt8] = []
    body.append(big: answered)
    body.append(big: type)
    return frame(kind, serial, body + [result], number: number, isNewer: isNewer)
  }
}
