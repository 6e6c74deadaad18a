/// What the value of an element is, as the profile says of its tag. Nothing is decoded by it but what outputs print.
package struct ValueType: Sendable, Hashable, BitwiseCopyable {
  /// The kinds of values.
  package enum Kind: UInt8, Sendable, BitwiseCopyable, CaseIterable {
    /// A number of 1 to 8 bytes.
    case unsigned
    /// The same in two's complement.
    case signed
    /// UTF-8.
    case text
    /// Anything; shown in hexadecimal.
    case bytes
    /// Seconds since 1970, in 4 or 8 bytes.
    case time
    /// Milliseconds since 1970, in 8 bytes.
    case milliseconds
    /// Seconds since 1900, in 4 bytes, as NTP and Diameter have them.
    case seconds1900
    /// An address of 4 or 16 bytes, or one behind two bytes that say which, as Diameter has it.
    case address
    /// Decimal digits, two a byte.
    case bcd
    /// Elements again.
    case list
    /// A number of seven bits a byte, least significant first; and two texts with their lengths in front. Only a tag that tells
    /// the form of what follows has these.
    case varint, pair

    /// The name in a profile.
    package var name: String {
      switch self {
      case .unsigned: "unsigned"
      case .signed: "signed"
      case .text: "text"
      case .bytes: "bytes"
      case .time: "time"
      case .milliseconds: "time-ms"
      case .seconds1900: "time-1900"
      case .address: "address"
      case .bcd: "bcd"
      case .list: "list"
      case .varint: "varint"
      case .pair: "pair"
      }
    }
  }
  /// The kind.
  package var kind: Kind
  /// Whether the least significant byte of a number comes first.
  package var littleEndian: Bool

  /// A type of its parts.
  package init(_ kind: Kind, littleEndian: Bool = false) {
    self.kind = kind
    self.littleEndian = littleEndian
  }
}
