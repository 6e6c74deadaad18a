/// How a TLV list is laid out: a header of at most eight bytes with tag and length, then the value.
package struct TLVPlan: Sendable, BitwiseCopyable {
  /// The layouts that have a walk of their own.
  package enum Shape: UInt8, Sendable, BitwiseCopyable {
    /// No TLV list.
    case none
    /// Tag of two and length of four bytes, big endian, value only.
    case tag2Length4
    /// Any other.
    case general
    /// A tag alone: it tells the form of what follows; see `TLVForm`.
    case formed
  }
  /// The walk that fits; `none` where bodies are not TLV lists.
  package var shape = Shape.none
  /// The tag, from the TLV's first byte.
  package var tag = Field()
  /// The length in bytes, from the TLV's first byte; it stands behind the tag. Where tags tell the form of their value, from
  /// the value's first byte: it stands in front of texts and bytes only.
  package var length = Field()
  /// Bytes of tag and length together.
  package var headerCount: Int32 = 0
  /// Whether the length counts the header.
  package var lengthCountsHeader = false
  /// The bits of a TLV's header that make it longer by `optionalCount` bytes, when one of them is set.
  package var optional = Field()
  /// Bytes that an optional part of the header has.
  package var optionalCount: Int32 = 0
  /// What the length of a TLV is rounded up to, less one: 0 without padding, 3 for multiples of four bytes.
  package var paddingMask: Int32 = 0
  /// Whether a tag may stand in a list more than once.
  package var mayRepeat = false
  /// The tag whose value is a TLV list again; `.max` where there is none, or more than one: `Plan.nestedTags`.
  package var nestedTag: UInt32 = .max
  /// Lists deeper than this are noted; the walk goes on to `TLVWalker.maximumDepth`.
  package var maximumDepth: Int32 = 4

  /// No TLV list.
  package init() {}
}
