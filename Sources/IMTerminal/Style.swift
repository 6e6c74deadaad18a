/// How a cell looks.
package struct Style: Equatable, Sendable {
  /// A colour of text, by what it is for.
  package enum Colour: UInt8, Sendable {
    /// The terminal's own.
    case plain
    /// Something is wrong.
    case alarm
    /// Something deserves a look.
    case warning
    /// Something went well.
    case good
    /// Names of sessions and types.
    case name
    /// What is less important.
    case faint
  }

  /// What a cell has beside its colour.
  package struct Attributes: OptionSet, Sendable {
    /// One bit for each.
    package let rawValue: UInt8
    /// The attributes whose bits are set in `rawValue`.
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Bold.
    package static let bold = Attributes(rawValue: 1)
    /// Text and background exchanged.
    package static let reverse = Attributes(rawValue: 2)
    /// Underlined.
    package static let underline = Attributes(rawValue: 4)
  }

  /// The colour of its text.
  package var colour: Colour
  /// The rest.
  package var attributes: Attributes

  /// A style of its parts.
  package init(_ colour: Colour = .plain, _ attributes: Attributes = []) {
    self.colour = colour
    self.attributes = attributes
  }

  /// As the terminal shows text of its own accord.
  package static let plain = Style()

  /// The same with more attributes.
  package func with(_ attributes: Attributes) -> Style { Style(colour, self.attributes.union(attributes)) }
}

/// How many colours a terminal shows.
package enum ColourLevel: Sendable, CaseIterable {
  /// None: attributes alone.
  case none
  /// The sixteen that every terminal with colours has.
  case sixteen
  /// The palette of 256.
  case many

  /// What a terminal of type `term` shows, where colours are wanted.
  package init(term: String, isWanted: Bool) {
    if !isWanted || term.isEmpty || term == "dumb" || term.hasPrefix("vt") {
      self = .none
    } else {
      self = ["256color", "kitty", "alacritty", "direct"].contains { Self.has(term, $0) } ? .many : .sixteen
    }
  }

  private static func has(_ text: String, _ part: String) -> Bool {
    let (text, part) = (Array(text.utf8), Array(part.utf8))
    return text.indices.contains { text[$0...].starts(with: part) }
  }

  /// The parameters of SGR for a style, without the reset in front.
  func parameters(_ style: Style) -> String {
    var text = ""
    if style.attributes.contains(.bold) { text += ";1" }
    if style.attributes.contains(.underline) { text += ";4" }
    if style.attributes.contains(.reverse) { text += ";7" }
    let number: (sixteen: Int, many: Int)? =
      switch style.colour {
      case .plain: nil
      case .alarm: (31, 203)
      case .warning: (33, 214)
      case .good: (32, 77)
      case .name: (36, 80)
      case .faint: (90, 245)
      }
    guard let number, self != .none else { return text }
    return text + (self == .many ? ";38;5;\(number.many)" : ";\(number.sixteen)")
  }
}
