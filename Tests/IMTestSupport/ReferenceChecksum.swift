/// Checksums by their definitions, bit by bit and as slow as that is: what the engine's are held against.
///
/// The parameters of the CRCs are those of the catalogue ("CRC RevEng"): width, polynomial, initial value, whether bits go in
/// and out reflected, and what the result is exclusive-or'ed with.
package enum ReferenceChecksum {
  /// Each name, and its value for the text "123456789" as it is published: by the catalogue of CRCs, and for Adler-32,
  /// Fletcher's, the exclusive or and the sums by hand from their definitions.
  package static let checkValues: [(name: String, value: UInt32)] = [
    ("crc32", 0xcbf4_3926), ("crc32c", 0xe306_9283), ("crc16-arc", 0xbb3d), ("crc16-modbus", 0x4b37),
    ("crc16-ccitt-false", 0x29b1), ("crc16-xmodem", 0x31c3), ("crc16-x25", 0x906e), ("crc16-kermit", 0x2189),
    ("adler32", 0x091e_01de), ("fletcher16", 0x1ede), ("fletcher32", 0xdf09_d509), ("xor", 0x31), ("sum8", 0xdd),
    ("sum16", 0x01dd), ("sum32", 0x01dd),
  ]

  /// The sum of `bytes`; `nil` for a name that there is not.
  package static func value(_ name: String, _ bytes: [UInt8]) -> UInt32? {
    switch name {
    case "crc32": crc(32, 0x04c1_1db7, .max, true, .max, bytes)
    case "crc32c": crc(32, 0x1edc_6f41, .max, true, .max, bytes)
    case "crc16-arc": crc(16, 0x8005, 0, true, 0, bytes)
    case "crc16-modbus": crc(16, 0x8005, 0xffff, true, 0, bytes)
    case "crc16-ccitt-false": crc(16, 0x1021, 0xffff, false, 0, bytes)
    case "crc16-xmodem": crc(16, 0x1021, 0, false, 0, bytes)
    case "crc16-x25": crc(16, 0x1021, 0xffff, true, 0xffff, bytes)
    case "crc16-kermit": crc(16, 0x1021, 0, true, 0, bytes)
    case "adler32": sums(bytes.map(UInt64.init), 65_521, first: 1)
    case "fletcher16": fletcher16(bytes)
    case "fletcher32": fletcher32(bytes)
    case "xor": bytes.reduce(0) { $0 ^ UInt32($1) }
    case "sum8": bytes.reduce(0) { $0 &+ UInt32($1) } % 256
    case "sum16": bytes.reduce(0) { $0 &+ UInt32($1) } % 65_536
    case "sum32": bytes.reduce(0) { $0 &+ UInt32($1) }
    default: nil
    }
  }

  /// Bytes that the value has on the wire.
  package static func byteCount(_ name: String) -> Int {
    name.hasSuffix("16") || name.hasPrefix("crc16") ? 2 : name == "xor" || name == "sum8" ? 1 : 4
  }

  private static func crc(
    _ width: Int, _ polynomial: UInt32, _ first: UInt32, _ isReflected: Bool, _ last: UInt32, _ bytes: [UInt8]
  ) -> UInt32 {
    let top = UInt32(1) << UInt32(width - 1)
    var register = first
    for byte in bytes {
      for i in 0..<8 {
        let bit = isReflected ? byte >> UInt8(i) & 1 : byte >> UInt8(7 - i) & 1
        let carry = (register & top != 0) != (bit == 1)
        register = width == 32 ? register << 1 : register << 1 & 0xffff
        if carry { register ^= polynomial }
      }
    }
    var result = register
    if isReflected {
      result = 0
      for i in 0..<width where register >> UInt32(i) & 1 == 1 { result |= 1 << UInt32(width - 1 - i) }
    }
    return result ^ (width == 32 ? last : last & 0xffff)
  }

  private static func sums(_ words: [UInt64], _ modulus: UInt64, first: UInt64) -> UInt32 {
    let a = (first + words.reduce(0, +)) % modulus
    var b: UInt64 = 0
    var running = first
    for word in words {
      running += word
      b += running
    }
    return UInt32(b % modulus) << 16 | UInt32(a)
  }

  private static func fletcher16(_ bytes: [UInt8]) -> UInt32 {
    let both = sums(bytes.map(UInt64.init), 255, first: 0)
    return (both >> 16) << 8 | both & 0xffff
  }

  private static func fletcher32(_ bytes: [UInt8]) -> UInt32 {
    let even = bytes + [UInt8](repeating: 0, count: bytes.count & 1)
    let words = stride(from: 0, to: even.count, by: 2).map { UInt64(even[$0]) | UInt64(even[$0 + 1]) << 8 }
    return sums(words, 65_535, first: 0)
  }
}
