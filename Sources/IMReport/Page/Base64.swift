/// Bytes as text by RFC 4648, as a Content-Security-Policy wants hashes.
enum Base64 {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func text(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let piece = bytes[start..<min(start + 3, bytes.count)]
      let value = piece.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - piece.count))
      for i in 0...3 {
        text.append(i <= piece.count ? digits[Int(value >> UInt32(18 - 6 * i) & 63)] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
