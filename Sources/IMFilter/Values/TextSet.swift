/// Byte strings that a value may equal, sorted by length and then by bytes, so that membership costs one binary search.
struct TextSet: Sendable {
  private let members: [[UInt8]]

  /// A set of `texts` in any order.
  init(_ texts: [[UInt8]]) {
    members = texts.sorted {
      $0.count != $1.count ? $0.count < $1.count : $0.lexicographicallyPrecedes($1)
    }
  }

  /// Whether `text` is a member, byte for byte. Allocates nothing.
  func contains(_ text: RawSpan) -> Bool {
    var low = 0
    var high = members.count
    while low < high {
      let middle = (low + high) / 2
      let order = Self.order(members[middle], text)
      if order == 0 { return true }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return false
  }

  /// Negative when `member` stands before `text`, 0 when they are equal, positive when it stands after.
  private static func order(_ member: [UInt8], _ text: RawSpan) -> Int {
    guard member.count == text.byteCount else { return member.count - text.byteCount }
    for index in member.indices where member[index] != text.byte(index) {
      return Int(member[index]) - Int(text.byte(index))
    }
    return 0
  }
}

extension RawSpan {
  /// The byte at `offset`, which must lie inside.
  @inline(__always) func byte(_ offset: Int) -> UInt8 {
    unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }
}
