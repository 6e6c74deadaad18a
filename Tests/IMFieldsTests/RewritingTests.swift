import IMEngine
import IMFields
import IMProfile
import Testing

/// What those who rewrite frames are told of layouts.
@Suite struct RewritingTests {
  /// Frames of `tjp` are rewritten by their lengths and tags alone, which takes a quarter of the time; pieces of large messages, in which
  /// names are, are read field by field.
  @Test func framesOfTJPAreRewrittenByTheirTags() throws {
    let fields = try #require(try BuiltInProfiles.plan("tjp").fields)
    guard case .elements(let table) = fields.plainBody(of: "data") else {
      Issue.record("a body is not a list of elements")
      return
    }
    let (text, piece) = (fields.elementMark(table, tag: 0x1001), fields.elementMark(table, tag: 0xf028))
    guard case .whole = text, case .other = piece else {
      Issue.record("a text is \(text), a piece \(piece)")
      return
    }
  }
}
