/// Inflates zlib's format (RFC 1950 and 1951), all of it at once, into memory of a fixed size.
///
/// Bytes may be of any kind: it reads none behind the input, writes none behind the output, and ends.
struct PortableInflater {
  private enum Fault: Error { case broken, full }

  private let input: UnsafeRawPointer
  private let inputCount: Int
  private let output: UnsafeMutableRawPointer
  private let capacity: Int
  private var at = 0
  /// Bits that were taken from the input and not used, the next one lowest.
  private var bits: UInt64 = 0
  private var bitCount = 0
  /// Bytes of the output.
  private(set) var produced = 0

  init(_ input: UnsafeRawPointer, _ inputCount: Int, _ output: UnsafeMutableRawPointer, _ capacity: Int) {
    (self.input, self.inputCount, self.output, self.capacity) = (input, inputCount, output, capacity)
  }

  /// Inflates all; the input holds nothing behind it.
  mutating func inflate() -> Codec.Outcome {
    do throws(Fault) {
      try readHeader()
      while try readBlock() {}
      try readTrailer()
      return .done
    } catch {
      return error == .full ? .full : .broken
    }
  }

  private mutating func readHeader() throws(Fault) {
    guard inputCount >= 6 else { throw .broken }
    let (method, flags) = (byte(0), byte(1))
    // Deflate with a window of at most 32 KiB, a check of five bits, no dictionary.
    guard method & 15 == 8, method >> 4 <= 7, (Int(method) << 8 | Int(flags)) % 31 == 0, flags & 0x20 == 0 else {
      throw .broken
    }
    at = 2
  }

  /// The Adler-32 of the output.
  private mutating func readTrailer() throws(Fault) {
    // Whole bytes that were taken and not used are given back.
    at -= bitCount / 8
    guard inputCount - at == 4 else { throw .broken }
    let expected = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(byte(at + $1)) }
    guard expected == Adler32.of(UnsafeRawBufferPointer(start: output, count: produced)) else { throw .broken }
  }

  /// Whether another block follows.
  private mutating func readBlock() throws(Fault) -> Bool {
    let isLast = try take(1) == 1
    switch try take(2) {
    case 0: try copyStored()
    case 1: try readCodes(Self.fixedLiterals, Self.fixedDistances)
    case 2:
      let (literals, distances) = try readTables()
      try readCodes(literals, distances)
    default: throw .broken
    }
    return !isLast
  }

  private mutating func copyStored() throws(Fault) {
    _ = try take(bitCount & 7)
    let count = try take(16)
    guard try take(16) ^ 0xffff == count else { throw .broken }
    for _ in 0..<count { try put(UInt8(truncatingIfNeeded: take(8))) }
  }

  // MARK: Huffman codes

  /// Codes by their lengths: how many there are of each, and what they mean in their order.
  private struct Codes {
    /// Codes of each length, 0 to 15.
    var counts = [Int](repeating: 0, count: 16)
    /// What the codes mean, shortest first.
    var symbols: [UInt16] = []
    /// For the next nine bits of the input, the length of the code in them and what it means, as `length << 12 | symbol`; 0 for longer
    /// codes.
    var quick = [UInt16](repeating: 0, count: 512)

    /// Codes of these lengths, one for each symbol. Throws where they are too many; too few are allowed for a single distance.
    init(_ lengths: ArraySlice<UInt8>) throws(Fault) {
      for length in lengths { counts[Int(length)] += 1 }
      counts[0] = 0
      var (left, used) = (1, 0)
      var offsets = [Int](repeating: 0, count: 17)
      for length in 1...15 {
        left = left << 1 - counts[length]
        guard left >= 0 else { throw .broken }
        offsets[length + 1] = offsets[length] + counts[length]
        used += counts[length]
      }
      // An incomplete set is one code of one bit, or none.
      guard left == 0 || used == 0 || used == 1 && counts[1] == 1 else { throw .broken }
      symbols = [UInt16](repeating: 0, count: used)
      for (symbol, length) in lengths.enumerated() where length > 0 {
        symbols[offsets[Int(length)]] = UInt16(symbol)
        offsets[Int(length)] += 1
      }
      fillQuick()
    }

    private mutating func fillQuick() {
      var (code, place) = (0, 0)
      for length in 1...9 {
        for _ in 0..<counts[length] {
          // Codes stand in the input with their first bit lowest.
          var reversed = 0
          for bit in 0..<length where code >> bit & 1 == 1 { reversed |= 1 << (length - 1 - bit) }
          var slot = reversed
          while slot < 512 {
            quick[slot] = UInt16(length) << 12 | symbols[place]
            slot += 1 << length
          }
          code += 1
          place += 1
        }
        code <<= 1
      }
    }
  }

  private static let fixedLiterals = fixed(
    [UInt8](repeating: 8, count: 144) + [UInt8](repeating: 9, count: 112) + [UInt8](repeating: 7, count: 24)
      + [UInt8](repeating: 8, count: 8))
  private static let fixedDistances = fixed([UInt8](repeating: 5, count: 32))

  private static func fixed(_ lengths: [UInt8]) -> Codes? { try? Codes(lengths[...]) }

  private mutating func symbol(_ codes: borrowing Codes) throws(Fault) -> Int {
    fill()
    let quick = codes.quick[Int(bits & 511)]
    let length = Int(quick >> 12)
    if length > 0, length <= bitCount {
      drop(length)
      return Int(quick & 0xfff)
    }
    var (code, first, place) = (0, 0, 0)
    for length in 1...15 {
      guard length <= bitCount else { throw .broken }
      code |= Int(bits >> UInt64(length - 1) & 1)
      let count = codes.counts[length]
      if code - first < count {
        drop(length)
        return Int(codes.symbols[place + code - first])
      }
      place += count
      first = (first + count) << 1
      code <<= 1
    }
    throw .broken
  }

  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  private mutating func readTables() throws(Fault) -> (Codes, Codes) {
    let (literals, distances, lengthCodes) = (try take(5) + 257, try take(5) + 1, try take(4) + 4)
    guard literals <= 286, distances <= 30 else { throw .broken }
    var lengths = [UInt8](repeating: 0, count: 19)
    for place in 0..<lengthCodes { lengths[Self.order[place]] = UInt8(truncatingIfNeeded: try take(3)) }
    let codes = try Codes(lengths[...])
    lengths = []
    while lengths.count < literals + distances {
      let symbol = try self.symbol(codes)
      switch symbol {
      case 0...15: lengths.append(UInt8(symbol))
      case 16:
        guard let last = lengths.last else { throw .broken }
        lengths += repeatElement(last, count: 3 + (try take(2)))
      case 17: lengths += repeatElement(0, count: 3 + (try take(3)))
      default: lengths += repeatElement(0, count: 11 + (try take(7)))
      }
    }
    // The end of a block has a code.
    guard lengths.count == literals + distances, lengths[256] > 0 else { throw .broken }
    return (try Codes(lengths[..<literals]), try Codes(lengths[literals...]))
  }

  private mutating func readCodes(_ literals: Codes?, _ distances: Codes?) throws(Fault) {
    guard let literals, let distances else { throw .broken }
    while true {
      let symbol = try self.symbol(literals)
      if symbol < 256 {
        try put(UInt8(truncatingIfNeeded: symbol))
        continue
      }
      if symbol == 256 { return }
      guard symbol - 257 < DeflateCodes.lengthBases.count else { throw .broken }
      let length = Int(DeflateCodes.lengthBases[symbol - 257]) + (try take(Int(DeflateCodes.lengthBits[symbol - 257])))
      let place = try self.symbol(distances)
      guard place < DeflateCodes.distanceBases.count else { throw .broken }
      let distance = Int(DeflateCodes.distanceBases[place]) + (try take(max(0, place / 2 - 1)))
      guard distance <= produced else { throw .broken }
      guard length <= capacity - produced else { throw .full }
      // Byte by byte: what is copied may be what was just written.
      for _ in 0..<length {
        let byte = output.load(fromByteOffset: produced - distance, as: UInt8.self)
        output.storeBytes(of: byte, toByteOffset: produced, as: UInt8.self)
        produced += 1
      }
    }
  }

  // MARK: bits and bytes

  // SAFETY: `at` is below `inputCount` where it is read, `produced` below `capacity` where it is written, and distances reach back
  // at most `produced` bytes; the caller has memory of these sizes.
  private func byte(_ place: Int) -> UInt8 { input.load(fromByteOffset: place, as: UInt8.self) }

  /// Has as many bits at hand as there are, 56 and more if the input has them.
  @inline(__always)
  private mutating func fill() {
    while bitCount <= 56, at < inputCount {
      bits |= UInt64(byte(at)) << UInt64(bitCount)
      at += 1
      bitCount += 8
    }
  }

  private mutating func drop(_ count: Int) {
    bits >>= UInt64(count)
    bitCount -= count
  }

  /// The next `count` bits, at most 16, as a number whose lowest bit came first.
  private mutating func take(_ count: Int) throws(Fault) -> Int {
    fill()
    guard count <= bitCount else { throw .broken }
    let value = Int(bits & (1 << UInt64(count) - 1))
    drop(count)
    return value
  }

  private mutating func put(_ byte: UInt8) throws(Fault) {
    guard produced < capacity else { throw .full }
    output.storeBytes(of: byte, toByteOffset: produced, as: UInt8.self)
    produced += 1
  }
}
