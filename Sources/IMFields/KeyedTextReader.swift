/// Finds keys and their values in text: `id:7 submit date:2301010000 stat:DELIVRD text:Hello`.
enum KeyedTextReader {
  /// The fields that `text` has; `nil` where none of those is there that are required.
  static func fields(of text: String, _ keys: KeyedText) -> [NamedField]? {
    let scalars = Array(text.unicodeScalars)
    let small = scalars.map { (65...90).contains($0.value) ? Unicode.Scalar($0.value + 32) ?? $0 : $0 }
    var head = small.count
    var rest: String?
    if keys.rest.field >= 0, let key = find(keys.rest.key, in: small, upTo: small.count, isWord: true) {
      head = key.lowerBound
      let from = key.upperBound + (scalars.indices.contains(key.upperBound) && scalars[key.upperBound] == " " ? 1 : 0)
      rest = string(scalars[from...])
    }
    var fields: [NamedField] = []
    for (field, key) in keys.keys {
      guard let place = find(key, in: small, upTo: head, isWord: false) else { continue }
      let value = scalars[place.upperBound..<head].prefix { !isSpace($0) }
      fields.append(NamedField(field, .text(string(value))))
    }
    if let rest { fields.append(NamedField(keys.rest.field, .text(rest))) }
    guard keys.required.isEmpty || fields.contains(where: { keys.required.contains($0.field) }) else { return nil }
    return fields
  }

  private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace }

  /// Where `key` and a colon stand first: behind white space or at the beginning, or, where a word is enough, behind anything
  /// that is no letter.
  private static func find(_ key: String, in text: [Unicode.Scalar], upTo end: Int, isWord: Bool) -> Range<Int>? {
    let wanted = Array((key + ":").unicodeScalars)
    guard wanted.count <= end else { return nil }
    for i in 0...(end - wanted.count) where text[i] == wanted[0] && text[i..<i + wanted.count].elementsEqual(wanted) {
      guard i > 0 else { return 0..<wanted.count }
      let before = text[i - 1]
      let isBoundary =
        isWord ? !(before.properties.isAlphabetic || ("0"..."9").contains(before) || before == "_") : isSpace(before)
      if isBoundary { return i..<i + wanted.count }
    }
    return nil
  }
}
