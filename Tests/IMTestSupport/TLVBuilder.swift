/// Tag-length-value fields as a `tjp` body has them: tag u16, length u32, value; tag `FFFF` holds a list again.
///
///     TLVBuilder().text("hi").nested { $0.text("inside") }.bytes
package struct TLVBuilder: Sendable {
  /// The fields so far.
  package private(set) var bytes: [UInt8] = []

  /// An empty list.
  package init() {}

  /// The list with one field more. `claimedLength` is what its length says, where it is to lie.
  package func field(_ tag: UInt16, _ value: [UInt8], claimedLength: UInt32? = nil) -> TLVBuilder {
    var copy = self
    copy.bytes.append(big: tag)
    copy.bytes.append(big: claimedLength ?? UInt32(value.count))
    copy.bytes += value
    return copy
  }

  /// The list with a text (tag `1001`) more.
  package func text(_ text: String) -> TLVBuilder { field(0x1001, [UInt8](text.utf8)) }

  /// The list with a nested list (tag `FFFF`) more.
  package func nested(_ inner: (TLVBuilder) -> TLVBuilder) -> TLVBuilder {
    field(0xffff, inner(TLVBuilder()).bytes)
  }
}
