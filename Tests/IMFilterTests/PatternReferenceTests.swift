import Testing

@testable import IMFilter

/// A regular expression that a test makes up, with the slow and plain way to match it.
indirect enum Sketch: CustomStringConvertible {
  case character(Character)
  case dot
  case oneOf([Character], negated: Bool)
  case start, end, boundary
  case sequence([Sketch])
  case choice([Sketch])
  case repeated(Sketch, Int, Int?)

  var description: String {
    switch self {
    case .character(let character): "\(character)"
    case .dot: "."
    case .oneOf(let set, let negated): "[" + (negated ? "^" : "") + set.map { "\($0)" }.joined() + "]"
    case .start: "^"
    case .end: "$"
    case .boundary: "\\b"
    case .sequence(let items): items.map { "\($0)" }.joined()
    case .choice(let items): "(" + items.map { "\($0)" }.joined(separator: "|") + ")"
    case .repeated(let item, let least, let most):
      "(?:\(item))"
        + (least == 0 && most == nil
          ? "*"
          : least == 1 && most == nil
            ? "+"
            : least == 0 && most == 1
              ? "?"
              : "{\(least)," + (most.map { "\($0)" } ?? "") + "}")
    }
  }

  /// All positions at which a match can end that begins at `position`: brute force over sets.
  func ends(_ text: [Character], _ position: Int) -> Set<Int> {
    let next = position < text.count ? text[position] : nil
    switch self {
    case .character(let character): return next == character ? [position + 1] : []
    case .dot: return next != nil ? [position + 1] : []
    case .oneOf(let set, let negated):
      guard let next else { return [] }
      return set.contains(next) != negated ? [position + 1] : []
    case .start: return position == 0 ? [position] : []
    case .end: return position == text.count ? [position] : []
    case .boundary:
      func isWord(_ index: Int) -> Bool { text.indices.contains(index) && text[index] != "-" && text[index] != "张" }
      return isWord(position - 1) != isWord(position) ? [position] : []
    case .sequence(let items):
      return items.reduce([position]) { places, item in
        places.reduce(into: Set<Int>()) { $0.formUnion(item.ends(text, $1)) }
      }
    case .choice(let items): return items.reduce(into: Set<Int>()) { $0.formUnion($1.ends(text, position)) }
    case .repeated(let item, let least, let most):
      var reached: Set<Int> = least == 0 ? [position] : []
      var places: Set<Int> = [position]
      // Beyond `least` and the text's length, further rounds only add empty matches.
      for round in 1..<max(2, (most ?? (least + text.count + 1)) + 1) where most != 0 {
        places = places.reduce(into: Set<Int>()) { $0.formUnion(item.ends(text, $1)) }
        if round >= least { reached.formUnion(places) }
      }
      return reached
    }
  }

  static func random(depth: Int, using random: inout SplitMix) -> Sketch {
    let letters: [Character] = ["a", "b", "-", "张"]
    switch Int.random(in: 0..<(depth > 0 ? 12 : 7), using: &random) {
    case 0...2: return .character(letters.randomElement(using: &random) ?? "a")
    case 3: return .dot
    case 4: return .oneOf([letters[Int.random(in: 0..<2, using: &random)], "张"], negated: .random(using: &random))
    case 5: return .choice([.character("a"), .sequence([])])
    case 6: return [.start, .end, .boundary].randomElement(using: &random) ?? .start
    case 7, 8:
      return .sequence(
        (0..<Int.random(in: 1...3, using: &random)).map { _ in .random(depth: depth - 1, using: &random) })
    case 9:
      return .choice((0..<Int.random(in: 1...3, using: &random)).map { _ in .random(depth: depth - 1, using: &random) })
    default:
      let bounds: [(Int, Int?)] = [(0, nil), (1, nil), (0, 1), (2, nil), (0, 2), (1, 3), (2, 2), (0, 0)]
      let (least, most) = bounds.randomElement(using: &random) ?? (0, nil)
      return .repeated(.random(depth: depth - 1, using: &random), least, most)
    }
  }
}

@Suite struct PatternReferenceTests {
  @Test func agreesWithBruteForce() throws {
    var random = SplitMix(state: 20_261_121)
    var matched = 0
    for _ in 0..<20_000 {
      let sketch = Sketch.random(depth: 4, using: &random)
      let pattern = try Pattern(Array("\(sketch)".utf8))
      for _ in 0..<6 {
        let letters: [Character] = ["a", "b", "-", "张"]
        let text = (0..<Int.random(in: 0...7, using: &random)).map { _ in letters.randomElement(using: &random) ?? "a" }
        let expected = (0...text.count).contains { !sketch.ends(text, $0).isEmpty }
        let actual = pattern.matches(Array(String(text).utf8).span.bytes)
        #expect(actual == expected, "\(sketch) on \(String(text))")
        if expected { matched += 1 }
      }
    }
    // Both answers must have had their share.
    #expect((20_000..<100_000).contains(matched), "\(matched)")
  }
}
