/// The keys that lead to an element of a keyed field: `tlv[0xFFFF.0x0020]` is element 0x0020 inside element 0xFFFF.
///
/// The empty path stands for every element at every level, as `tlv contains "x"` means it.
package struct FilterPath: Equatable, Sendable {
  /// The keys from the outermost level inwards.
  package var keys: [UInt64]

  /// A path of `keys`.
  package init(_ keys: [UInt64] = []) { self.keys = keys }

  /// Whether this stands for every element.
  package var isEmpty: Bool { keys.isEmpty }
}
