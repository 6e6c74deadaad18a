/// What a field is: its name as in the JSON output, its kind, and what it means.
package struct FilterField: Equatable, Sendable {
  /// The name a filter calls it by, such as `client.ip`.
  package var name: String
  /// What values it has.
  package var kind: FilterKind
  /// One sentence of meaning with its unit, without a full stop.
  package var meaning: String
  /// Whether a path in brackets picks among its values, as in `tlv[0x1001]`.
  package var isKeyed: Bool
  /// Whether a record may have several values, so that `value(of:at:)` is asked for more than the first.
  package var isRepeated: Bool

  /// A field of its parts.
  package init(
    _ name: String, _ kind: FilterKind, _ meaning: String, isKeyed: Bool = false, isRepeated: Bool = false
  ) {
    self.name = name
    self.kind = kind
    self.meaning = meaning
    self.isKeyed = isKeyed
    self.isRepeated = isRepeated
  }
}
