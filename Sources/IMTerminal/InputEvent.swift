/// What a person did at a terminal.
package enum InputEvent: Equatable, Sendable {
  /// A key was pressed.
  case key(Key)
  /// The mouse did something.
  case mouse(Mouse)
  /// Text was pasted, at most 64 KiB of it.
  case paste(String)
}

/// Keys that are held while something happens.
package struct Modifiers: OptionSet, Hashable, Sendable {
  /// One bit for each, as CSI sequences number them.
  package let rawValue: UInt8
  /// The keys whose bits are set in `rawValue`.
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Shift; of letters it is in the letter.
  package static let shift = Modifiers(rawValue: 1)
  /// Alt, or Meta.
  package static let alt = Modifiers(rawValue: 2)
  /// Ctrl.
  package static let control = Modifiers(rawValue: 4)
}

/// A key, with those that were held.
package struct Key: Hashable, Sendable {
  /// Which key.
  package enum Code: Hashable, Sendable {
    /// One that types a character.
    case character(Unicode.Scalar)
    /// One that has a name.
    case enter, tab, backTab, escape, backspace, delete, insert, up, down, left, right, home, end, pageUp, pageDown
    /// F1 and so on.
    case function(Int)
  }

  /// Which key.
  package var code: Code
  /// What was held.
  package var modifiers: Modifiers

  /// A key of its parts.
  package init(_ code: Code, _ modifiers: Modifiers = []) {
    self.code = code
    self.modifiers = modifiers
  }

  /// The key that types a character.
  package init(_ character: Unicode.Scalar) { self.init(.character(character)) }

  /// A letter with Ctrl.
  package static func control(_ letter: Unicode.Scalar) -> Key { Key(.character(letter), .control) }
}

/// What the mouse did, and where; rows and columns count from 0.
package struct Mouse: Equatable, Sendable {
  /// What it did.
  package enum Action: Equatable, Sendable {
    /// A button went down: 0 is the left one, 1 the middle, 2 the right.
    case press(Int)
    /// A button went up.
    case release(Int)
    /// The wheel was turned away from the person.
    case wheelUp
    /// The wheel was turned towards the person.
    case wheelDown
  }

  /// What it did.
  package var action: Action
  /// The row.
  package var row: Int
  /// The column.
  package var column: Int

  /// An action at a place.
  package init(_ action: Action, row: Int, column: Int) {
    self.action = action
    self.row = row
    self.column = column
  }
}
