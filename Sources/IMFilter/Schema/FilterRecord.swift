/// Something a filter can look at: a message, a session, whatever a schema describes.
///
/// A filter asks only for the fields its tests reach, and asks again at each test. A value whose case does not go with
/// the field's kind is as good as absent.
///
/// | kind of field | answered by |
/// |---|---|
/// | integer, real, time, address, word, flag | `value(of:at:)` |
/// | text, bytes | `anyText(of:path:where:)` |
/// | name | either, or both for a named number: its number by the first and its name by the second |
package protocol FilterRecord {
  /// The value of field `field` of the schema, or `nil` when the record has none.
  ///
  /// `index` counts from 0. Only a repeated field is asked beyond 0, until it answers `nil`.
  func value(of field: Int, at index: Int) -> FilterValue?

  /// Hands each text or byte value of `field` to `test`, until one passes; tells whether one did.
  ///
  /// The span lives for the call of `test`. `path` is empty for a field without brackets; a keyed field then hands over
  /// every element at every level. A record without a value answers `false` and never calls `test`.
  func anyText(of field: Int, path: FilterPath, where test: (RawSpan) -> Bool) -> Bool
}
