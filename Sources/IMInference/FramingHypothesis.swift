/// A number in a header, as hypotheses have it.
package struct NumberPlace: Hashable, Sendable {
  /// The number's first byte, from the frame's first.
  package var offset: Int
  /// Its bytes, 1 to 8.
  package var size: Int
  /// Whether the least significant byte comes first.
  package var isLittleEndian = false
  /// The bits that count, left where they are.
  package var mask: UInt64

  /// The whole of `size` bytes at `offset`, or the bits of them that `mask` keeps.
  package init(offset: Int, size: Int, isLittleEndian: Bool = false, mask: UInt64 = .max) {
    self.offset = offset
    self.size = size
    self.isLittleEndian = isLittleEndian && size > 1
    self.mask = mask & Self.allBits(size)
  }

  /// Where its least significant byte stands.
  var lowestByte: Int { isLittleEndian ? offset : end - 1 }
  /// The offset behind its last byte.
  package var end: Int { offset + size }
  /// Whether all bits of its bytes count.
  package var isWhole: Bool { mask == Self.allBits(size) }

  static func allBits(_ size: Int) -> UInt64 { size >= 8 ? .max : (1 << UInt64(size * 8)) - 1 }

  /// The number in the frame at `start`, whose bytes end at `end`; `nil` where the frame is too short.
  @inline(__always)
  func read(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> UInt64? {
    guard start + offset + size <= end else { return nil }
    var value: UInt64 = 0
    if isLittleEndian {
      for i in stride(from: size - 1, through: 0, by: -1) { value = value << 8 | UInt64(bytes[start + offset + i]) }
    } else {
      for i in 0..<size { value = value << 8 | UInt64(bytes[start + offset + i]) }
    }
    return value & mask
  }
}

/// How a protocol may say where its frames end.
package enum FramingHypothesis: Hashable, Sendable {
  /// A number in the header, to which `adds` is added to give the bytes of the whole frame.
  case length(NumberPlace, adds: Int)
  /// A number of seven bits a byte, least significant first, at most four bytes, at `offset`; it counts what stands
  /// behind it.
  case varint(offset: Int)
  /// A byte that stands in front of a frame and behind it.
  case delimited(UInt8)
  /// A line feed, with or without a carriage return in front of it.
  case line

  /// Whether both are the same number but for its upper bytes or bits; a hypothesis is a part of itself.
  func isPart(of other: FramingHypothesis) -> Bool {
    guard case .length(let a, let addsA) = self, case .length(let b, let addsB) = other else { return self == other }
    return addsA == addsB && a.lowestByte == b.lowestByte
  }

  /// The longest frame that is believed, in bytes.
  static var longestFrame: Int { 16 << 20 }

  /// What stands at a place.
  enum Step {
    /// A frame of so many bytes.
    case frame(Int)
    /// The beginning of one, whose end is not there.
    case cut
    case none
  }

  /// Reads the frame that begins at `start`; `end` is the end of the run.
  @inline(__always)
  func step(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> Step {
    switch self {
    case .length(let place, let adds):
      guard let value = place.read(bytes, start, end) else { return .cut }
      guard value <= UInt64(Self.longestFrame) else { return .none }
      let count = Int(value) + adds
      guard count >= place.end, count <= Self.longestFrame else { return .none }
      return start + count <= end ? .frame(count) : .cut
    case .varint(let offset):
      var value = 0
      for i in 0..<4 {
        guard start + offset + i < end else { return .cut }
        let byte = bytes[start + offset + i]
        value |= Int(byte & 0x7f) << (7 * i)
        guard byte & 0x80 != 0 else {
          let count = offset + i + 1 + value
          return start + count <= end ? .frame(count) : .cut
        }
      }
      return .none
    case .delimited(let delimiter):
      guard bytes[start] == delimiter else { return .none }
      var i = start + 1
      while i < end, bytes[i] == delimiter { i += 1 }
      while i < end, bytes[i] != delimiter { i += 1 }
      return i < end ? .frame(i + 1 - start) : .cut
    case .line:
      var i = start
      while i < end, bytes[i] != 0x0a { i += 1 }
      return i < end ? .frame(i + 1 - start) : .cut
    }
  }
}
