/// Compresses into zlib's format (RFC 1950 and 1951): repetitions, with the codes that the format fixes. Other compressors make texts
/// a fifth shorter; this one needs no tables.
struct PortableDeflater {
  private static var hashBits: Int { 13 }
  private static var window: Int { 32 << 10 }
  private static var longestMatch: Int { 258 }

  private let output: UnsafeMutableRawPointer
  private let capacity: Int
  private var count = 0
  private var bits: UInt64 = 0
  private var bitCount = 0
  private var isFull = false

  /// Compresses so many bytes into at most `capacity`; gives how many came out, 0 where there is no room.
  static func compress(_ bytes: UnsafeRawPointer, _ count: Int, _ output: UnsafeMutableRawPointer, _ capacity: Int)
    -> Int
  {
    var deflater = PortableDeflater(output, capacity)
    deflater.run(bytes, count)
    return deflater.isFull ? 0 : deflater.count
  }

  private init(_ output: UnsafeMutableRawPointer, _ capacity: Int) { (self.output, self.capacity) = (output, capacity) }

  private mutating func run(_ bytes: UnsafeRawPointer, _ size: Int) {
    // A window of 32 KiB; one last block with fixed codes.
    put(0x78, 8)
    put(0x01, 8)
    put(0b011, 3)
    // Where four bytes with this hash stood last, plus 1.
    var places = [UInt32](repeating: 0, count: 1 << Self.hashBits)
    var at = 0
    while at < size, !isFull {
      let (length, distance) = match(bytes, size, at, &places)
      if length == 0 {
        putSymbol(Int(bytes.load(fromByteOffset: at, as: UInt8.self)))
        at += 1
      } else {
        putMatch(length, distance)
        at += length
      }
    }
    putSymbol(256)
    put(0, -bitCount & 7)
    let sum = Self.adler(bytes, size)
    for place in 0..<4 { put(UInt64(sum >> UInt32(24 - 8 * place) & 0xff), 8) }
  }

  /// A repetition of earlier bytes of the window at `at`: its length, and its distance; a length of 0 without one.
  private func match(
    _ bytes: UnsafeRawPointer, _ size: Int, _ at: Int, _ places: inout [UInt32]
  ) -> (length: Int, distance: Int) {
    // SAFETY: places are those of the input, from which four bytes follow.
    guard size - at >= 4 else { return (0, 0) }
    let word = bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self)
    let slot = Int((word &* 0x9e37_79b1) >> UInt32(32 - Self.hashBits))
    let earlier = Int(places[slot]) - 1
    places[slot] = UInt32(truncatingIfNeeded: at + 1)
    guard earlier >= 0, at - earlier <= Self.window,
      bytes.loadUnaligned(fromByteOffset: earlier, as: UInt32.self) == word
    else { return (0, 0) }
    var length = 4
    let most = min(Self.longestMatch, size - at)
    while length < most,
      bytes.load(fromByteOffset: earlier + length, as: UInt8.self)
        == bytes.load(fromByteOffset: at + length, as: UInt8.self)
    { length += 1 }
    return (length, at - earlier)
  }

  private static func adler(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt32 {
    Adler32.of(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  // MARK: codes and bits

  private mutating func putMatch(_ length: Int, _ distance: Int) {
    let place = DeflateCodes.place(of: length, in: DeflateCodes.lengthBases)
    putSymbol(257 + place)
    put(UInt64(length - Int(DeflateCodes.lengthBases[place])), Int(DeflateCodes.lengthBits[place]))
    let far = DeflateCodes.place(of: distance, in: DeflateCodes.distanceBases)
    putCode(far, 5)
    put(UInt64(distance - Int(DeflateCodes.distanceBases[far])), max(0, far / 2 - 1))
  }

  private mutating func putSymbol(_ symbol: Int) {
    switch symbol {
    case ..<144: putCode(0x30 + symbol, 8)
    case ..<256: putCode(0x190 + symbol - 144, 9)
    case ..<280: putCode(symbol - 256, 7)
    default: putCode(0xc0 + symbol - 280, 8)
    }
  }

  /// A code, whose first bit is the highest.
  private mutating func putCode(_ code: Int, _ length: Int) {
    var reversed: UInt64 = 0
    for bit in 0..<length where code >> bit & 1 == 1 { reversed |= 1 << UInt64(length - 1 - bit) }
    put(reversed, length)
  }

  private mutating func put(_ value: UInt64, _ length: Int) {
    bits |= value << UInt64(bitCount)
    bitCount += length
    while bitCount >= 8 {
      guard count < capacity else {
        isFull = true
        bitCount = 0
        return
      }
      output.storeBytes(of: UInt8(truncatingIfNeeded: bits), toByteOffset: count, as: UInt8.self)
      count += 1
      bits >>= 8
      bitCount -= 8
    }
  }
}

/// The numbers of RFC 1951, section 3.2.5.
enum DeflateCodes {
  /// The least length of each symbol from 257 on, and the bits behind it.
  static let lengthBases: [UInt16] = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
  ]
  static let lengthBits: [UInt8] = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  /// The least distance of each symbol; half of the symbol minus 1 is the bits behind it.
  static let distanceBases: [UInt16] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1_025, 1_537, 2_049, 3_073, 4_097,
    6_145,
    8_193, 12_289, 16_385, 24_577,
  ]

  /// The place of the last of `bases` that is not above `value`.
  static func place(of value: Int, in bases: [UInt16]) -> Int {
    var (low, high) = (0, bases.count - 1)
    while low < high {
      let middle = (low + high + 1) / 2
      if Int(bases[middle]) <= value { low = middle } else { high = middle - 1 }
    }
    return low
  }
}

/// The checksum at the end of zlib's format.
enum Adler32 {
  /// Of all of them.
  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    var (a, b): (UInt32, UInt32) = (1, 0)
    var place = 0
    while place < bytes.count {
      // So many bytes cannot make the sums too large.
      let end = min(bytes.count, place + 5_552)
      while place < end {
        a &+= UInt32(bytes[place])
        b &+= a
        place += 1
      }
      (a, b) = (a % 65_521, b % 65_521)
    }
    return b << 16 | a
  }
}
