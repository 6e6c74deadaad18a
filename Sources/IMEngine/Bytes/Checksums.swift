import CDeflate

/// The checksums that a profile may name. Each is the field's standard one, with the parameters that the catalogue of CRCs
/// ("CRC RevEng") lists under the name; `Tests` hold each against its published check value and a model bit by bit.
package enum ChecksumAlgorithm: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  /// CRC-32 as zlib, Ethernet and PNG have it.
  case crc32
  /// CRC-32C (Castagnoli), as iSCSI and SCTP have it.
  case crc32c
  /// CRC-16/ARC.
  case crc16ARC
  /// CRC-16/MODBUS.
  case crc16Modbus
  /// CRC-16/IBM-3740, which is known as CCITT-FALSE.
  case crc16CCITTFalse
  /// CRC-16/XMODEM.
  case crc16XModem
  /// CRC-16/IBM-SDLC, which is X.25's and HDLC's and PPP's.
  case crc16X25
  /// CRC-16/KERMIT.
  case crc16Kermit
  /// Adler-32 (RFC 1950).
  case adler32
  /// Fletcher's sum of bytes modulo 255, the sum of sums in the upper byte.
  case fletcher16
  /// The same of 16-bit words, least significant byte first, modulo 65,535; an odd byte counts as a word.
  case fletcher32
  /// The exclusive or of all bytes.
  case xor
  /// The sum of all bytes, of which the lowest 8, 16 or 32 bits count.
  case sum8, sum16, sum32

  /// The name in a profile and in documents.
  package var name: String {
    switch self {
    case .crc32: "crc32"
    case .crc32c: "crc32c"
    case .crc16ARC: "crc16-arc"
    case .crc16Modbus: "crc16-modbus"
    case .crc16CCITTFalse: "crc16-ccitt-false"
    case .crc16XModem: "crc16-xmodem"
    case .crc16X25: "crc16-x25"
    case .crc16Kermit: "crc16-kermit"
    case .adler32: "adler32"
    case .fletcher16: "fletcher16"
    case .fletcher32: "fletcher32"
    case .xor: "xor"
    case .sum8: "sum8"
    case .sum16: "sum16"
    case .sum32: "sum32"
    }
  }

  /// The sum of `bytes`, of which those in `hole` count as zeros.
  package func sum(of bytes: RawSpan, zeroing hole: Range<Int> = 0..<0) -> UInt64 {
    let view = Bytes(bytes)
    let first = min(max(0, hole.lowerBound), bytes.byteCount)
    let last = min(max(first, hole.upperBound), bytes.byteCount)
    var sum = RunningChecksum(self)
    sum.add(view, 0, first)
    sum.addZeros(last - first)
    sum.add(view, last, bytes.byteCount - last)
    return UInt64(sum.value)
  }

  /// Bytes that its value has: 1, 2 or 4.
  package var byteCount: Int {
    switch self {
    case .crc32, .crc32c, .adler32, .fletcher32, .sum32: 4
    case .xor, .sum8: 1
    case .crc16ARC, .crc16Modbus, .crc16CCITTFalse, .crc16XModem, .crc16X25, .crc16Kermit, .fletcher16, .sum16: 2
    }
  }
}

/// A checksum that takes its bytes piece by piece, so that a field inside the range can be counted as zeros.
struct RunningChecksum {
  private let algorithm: ChecksumAlgorithm
  /// The register of a CRC; the lower sum of the others.
  private var a: UInt32
  /// The upper sum of Fletcher's.
  private var b: UInt32 = 0
  /// The first byte of a word of Fletcher-32 whose second has not come; negative where there is none.
  private var state: Int32 = -1

  init(_ algorithm: ChecksumAlgorithm) {
    self.algorithm = algorithm
    switch algorithm {
    case .crc32c: a = .max
    case .crc16Modbus, .crc16CCITTFalse, .crc16X25: a = 0xffff
    case .adler32: a = 1
    default: a = 0
    }
  }

  /// Takes `count` bytes at `offset`; the caller has proved that they are there.
  mutating func add(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) {
    guard count > 0 else { return }
    switch algorithm {
    case .crc32, .adler32:
      let isCRC = algorithm == .crc32
      a = bytes.span.withUnsafeBytes { [a] raw in
        guard let base = raw.baseAddress else { return a }
        return isCRC ? libdeflate_crc32(a, base + offset, count) : libdeflate_adler32(a, base + offset, count)
      }
    default:
      for i in offset..<offset &+ count { add(UInt32(bytes.u8(i))) }
    }
  }

  /// Takes `count` bytes of zero.
  mutating func addZeros(_ count: Int) {
    guard count > 0 else { return }
    let zeros: InlineArray<64, UInt8> = InlineArray(repeating: 0)
    var left = count
    while left > 0 {
      add(Bytes(zeros.span.bytes), 0, min(64, left))
      left -= 64
    }
  }

  @inline(__always)
  private mutating func add(_ byte: UInt32) {
    switch algorithm {
    case .crc32, .adler32: break
    case .crc32c: a = a >> 8 ^ CRCTables.castagnoli[Int((a ^ byte) & 255)]
    case .crc16ARC, .crc16Modbus: a = a >> 8 ^ CRCTables.arc[Int((a ^ byte) & 255)]
    case .crc16X25, .crc16Kermit: a = a >> 8 ^ CRCTables.kermit[Int((a ^ byte) & 255)]
    case .crc16CCITTFalse, .crc16XModem:
      a = a << 8 & 0xffff ^ CRCTables.xmodem[Int((a >> 8 ^ byte) & 255)]
    case .fletcher16:
      a = (a &+ byte) % 255
      b = (b &+ a) % 255
    case .fletcher32:
      if state < 0 {
        state = Int32(truncatingIfNeeded: byte)
      } else {
        addWord(UInt32(truncatingIfNeeded: state) | byte << 8)
        state = -1
      }
    case .xor: a ^= byte
    case .sum8, .sum16, .sum32: a = a &+ byte
    }
  }

  private mutating func addWord(_ word: UInt32) {
    a = (a &+ word) % 65_535
    b = (b &+ a) % 65_535
  }

  /// The value of what was taken so far.
  var value: UInt32 {
    switch algorithm {
    case .crc32, .adler32, .crc16ARC, .crc16Modbus, .crc16CCITTFalse, .crc16XModem, .crc16Kermit, .xor, .sum32: return a
    case .crc32c: return ~a
    case .crc16X25: return a ^ 0xffff
    case .fletcher16: return b << 8 | a
    case .fletcher32:
      var copy = self
      if state >= 0 { copy.addWord(UInt32(truncatingIfNeeded: state)) }
      return copy.b << 16 | copy.a
    case .sum8: return a & 0xff
    case .sum16: return a & 0xffff
    }
  }
}

/// What a byte does to the register of a CRC, for each of 256.
private enum CRCTables {
  /// Polynomial 0x1EDC6F41, reflected.
  static let castagnoli = reflected(0x82f6_3b78)
  /// Polynomial 0x8005, reflected.
  static let arc = reflected(0xa001)
  /// Polynomial 0x1021, reflected.
  static let kermit = reflected(0x8408)
  /// Polynomial 0x1021, the most significant bit first.
  static let xmodem = (0..<256).map { byte in
    var crc = UInt32(byte) << 8
    for _ in 0..<8 { crc = (crc << 1 ^ (crc & 0x8000 == 0 ? 0 : 0x1021 as UInt32)) & 0xffff }
    return crc
  }

  private static func reflected(_ polynomial: UInt32) -> [UInt32] {
    (0..<256).map { byte in
      var crc = UInt32(byte)
      for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 0 ? 0 : polynomial) }
      return crc
    }
  }
}
