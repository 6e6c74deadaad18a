import CCrypto

/// Gathers what JA3 and JA4 make of a ClientHello. Values that RFC 8701 reserves (GREASE) are left out.
struct TLSFingerprint {
  private var version: UInt16
  private var highest: UInt16 = 0
  private var suites: [UInt16] = []
  private var extensions: [UInt16] = []
  private var curves: [UInt16] = []
  private var points: [UInt8] = []
  private var signatures: [UInt16] = []
  private var hasServerName = false
  /// The first and the last byte of the first protocol.
  private var ends: (UInt8, UInt8)?

  init(version: UInt16) { self.version = version }

  private static func isReserved(_ value: UInt16) -> Bool { value & 0x0f0f == 0x0a0a && value >> 8 == value & 0xff }

  mutating func add(suite: UInt16) {
    if !Self.isReserved(suite) { suites.append(suite) }
  }

  mutating func add(extension type: UInt16, _ value: UnsafeRawBufferPointer) {
    if Self.isReserved(type) { return }
    extensions.append(type)
    func numbers(from: Int) -> [UInt16] {
      stride(from: from, to: value.count - 1, by: 2).map { UInt16(value[$0]) << 8 | UInt16(value[$0 + 1]) }
        .filter { !Self.isReserved($0) }
    }
    switch type {
    case 0: hasServerName = true
    case 10: curves = numbers(from: 2)
    case 11: points = Array(value.dropFirst())
    case 13: signatures = numbers(from: 2)
    case 16 where value.count >= 4 && value[2] > 0 && 3 + Int(value[2]) <= value.count:
      ends = (value[3], value[2 + Int(value[2])])
    case 43: highest = numbers(from: 1).filter { $0 >> 8 == 3 }.max() ?? 0
    default: break
    }
  }

  /// JA3: the MD5 of version, suites, extensions, curves and point formats in decimal numbers.
  var ja3: (UInt64, UInt64) {
    var text: [UInt8] = []
    text.reserveCapacity(512)
    func add(_ value: UInt16) {
      var divisor: UInt16 = 1
      while value / divisor >= 10 { divisor *= 10 }
      while divisor > 0 {
        text.append(0x30 + UInt8(value / divisor % 10))
        divisor /= 10
      }
    }
    func add(_ values: [UInt16]) {
      text.append(UInt8(ascii: ","))
      for (i, value) in values.enumerated() {
        if i > 0 { text.append(UInt8(ascii: "-")) }
        add(value)
      }
    }
    add(version)
    add(suites)
    add(extensions)
    add(curves)
    add(points.map(UInt16.init))
    var digest: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &digest) { digest in
      text.withUnsafeBytes {
        imdump_md5($0.baseAddress, $0.count, digest.baseAddress?.assumingMemoryBound(to: UInt8.self))
      }
    }
    return (digest.0.bigEndian, digest.1.bigEndian)
  }

  /// JA4 (FoxIO): its ten characters, and the first six bytes of the hashes of suites and of extensions with signature algorithms.
  var ja4: (head: (UInt64, UInt64), suites: UInt64, extensions: UInt64) {
    let name =
      switch highest > 0 ? highest : version {
      case 0x0304: "13"
      case 0x0303: "12"
      case 0x0302: "11"
      case 0x0301: "10"
      case 0x0300: "s3"
      case 0x0002: "s2"
      default: "00"
      }
    func twoDigits(_ count: Int) -> String { count < 10 ? "0\(count)" : "\(min(count, 99))" }
    var text = Array(
      "t\(name)\(hasServerName ? "d" : "i")\(twoDigits(suites.count))\(twoDigits(extensions.count))".utf8)
    text += protocolLetters
    var head: (UInt64, UInt64) = (0, 0)
    for (i, byte) in text.prefix(16).enumerated() {
      if i < 8 {
        head.0 |= UInt64(byte) << UInt64(56 - 8 * i)
      } else {
        head.1 |= UInt64(byte) << UInt64(56 - 8 * (i - 8))
      }
    }
    let sorted = Self.list(suites.sorted())
    var rest = Self.list(extensions.filter { $0 != 0 && $0 != 16 }.sorted())
    if !signatures.isEmpty, !rest.isEmpty { rest += [UInt8(ascii: "_")] + Self.list(signatures) }
    return (head, Self.hash(sorted), Self.hash(rest))
  }

  private var protocolLetters: [UInt8] {
    guard let ends else { return [0x30, 0x30] }
    func isLetter(_ byte: UInt8) -> Bool {
      (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
    }
    if isLetter(ends.0), isLetter(ends.1) { return [ends.0, ends.1] }
    // Else the first digit of the first byte and the last one of the last.
    let digits = Array("0123456789abcdef".utf8)
    return [digits[Int(ends.0 >> 4)], digits[Int(ends.1 & 15)]]
  }

  /// Four hexadecimal digits of each value, with commas.
  private static func list(_ values: [UInt16]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(values.count * 5)
    for value in values {
      if !text.isEmpty { text.append(UInt8(ascii: ",")) }
      for shift in [12, 8, 4, 0] as [UInt16] {
        let digit = UInt8(value >> shift & 15)
        text.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
      }
    }
    return text
  }

  /// The first six bytes of SHA-256; 0 of nothing.
  private static func hash(_ text: [UInt8]) -> UInt64 {
    guard !text.isEmpty else { return 0 }
    var digest = Bytes32()
    withUnsafeMutableBytes(of: &digest) { digest in
      text.withUnsafeBytes {
        imdump_sha256_of($0.baseAddress, $0.count, digest.baseAddress?.assumingMemoryBound(to: UInt8.self))
      }
    }
    return digest.words.0.bigEndian & ~0xffff
  }
}

extension TLSFacts {
  /// JA3 of the ClientHello in 32 hexadecimal digits.
  package var ja3Text: String? { ja3.map { Self.digits($0.0, 16) + Self.digits($0.1, 16) } }

  /// JA4 of the ClientHello, such as "t13d1516h2_8daaf6152771_e5627efa2ab1".
  package var ja4Text: String? {
    guard let head = ja4Head else { return nil }
    let bytes = (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? head.0 : head.1) >> UInt64(56 - 8 * ($0 % 8))) }
    return String(decoding: bytes.prefix { $0 > 0 }, as: UTF8.self) + "_" + Self.digits(ja4Hashes.0 >> 16, 12) + "_"
      + Self.digits(ja4Hashes.1 >> 16, 12)
  }

  /// The first eight hexadecimal digits of the client random.
  package var randomText: String? { randomPrefix.map { Self.digits(UInt64($0), 8) } }

  /// The IANA name of the suite.
  package var suiteName: String? { suite == 0 ? nil : TLSSuites.name(suite) }

  /// "TLS 1.3" and its like; `nil` when no version is known.
  package var versionName: String? {
    switch version {
    case 0: nil
    case 0x0300: "SSL 3.0"
    case 0x0301...0x0304: "TLS 1.\(version - 0x0301)"
    default: "TLS version \(version >> 8).\(version & 255)"
    }
  }

  private static func digits(_ value: UInt64, _ count: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
}
