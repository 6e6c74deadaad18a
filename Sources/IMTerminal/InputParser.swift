/// Makes keys, mouse actions and pasted text of the bytes that a terminal sends, however they are split.
///
/// A state machine without a clock: whoever feeds it calls `timeout` when no byte has come for as long as `patience` says. It
/// holds at most 64 KiB, whatever comes.
package struct InputParser: Sendable {
  /// Bytes of pasted text that are kept, and bytes of a control sequence's parameters.
  private static let pasteLimit = 64 << 10, sequenceLimit = 32

  private enum State: Equatable {
    /// Between keys.
    case ground
    /// Behind ESC: a key with Alt, a sequence, or the key alone.
    case escape
    /// In a control sequence, behind CSI.
    case control
    /// In one that is too long, up to its last byte.
    case skipping
    /// Behind SS3: one byte follows.
    case single
    /// In a string that the terminal sends unasked, up to ST or BEL; behind its ESC.
    case string(isEscaped: Bool)
    /// Behind CSI M: so many bytes of the old form of mouse reports follow.
    case oldMouse(Int)
    /// In pasted text.
    case paste
    /// In a character of several bytes, of which so many are left.
    case character(Int)
  }

  private var state = State.ground
  /// Bytes of the sequence, the character or the pasted text that is not complete.
  private var held: [UInt8] = []
  /// Bytes of pasted text that were dropped or kept: the last ones are compared with what ends it.
  private var tail: [UInt8] = []
  private var events: [InputEvent] = []

  /// A parser between keys.
  package init() {}

  /// How long to wait for more bytes before `timeout`; `nil` while nothing is incomplete.
  package var patience: Duration? {
    switch state {
    case .ground: nil
    case .paste: .seconds(2)
    default: .milliseconds(50)
    }
  }

  /// Takes bytes, and gives what they complete.
  package mutating func feed(_ bytes: some Sequence<UInt8>) -> [InputEvent] {
    for byte in bytes { take(byte) }
    defer { events = [] }
    return events
  }

  /// No byte came for a while: ESC was a key of its own, and what is incomplete will stay so.
  package mutating func timeout() -> [InputEvent] {
    switch state {
    case .ground: return []
    case .escape: emit(.escape)
    case .control where held.isEmpty: emit(.character("["), .alt)
    case .single: emit(.character("O"), .alt)
    case .paste: events.append(.paste(String(decoding: held, as: UTF8.self)))
    default: break
    }
    reset()
    defer { events = [] }
    return events
  }

  private mutating func reset() {
    state = .ground
    held = []
    tail = []
  }

  private mutating func emit(_ code: Key.Code, _ modifiers: Modifiers = []) {
    events.append(.key(Key(code, modifiers)))
  }

  private mutating func take(_ byte: UInt8) {
    switch state {
    case .ground: ground(byte, [])
    case .escape: escape(byte)
    case .control, .skipping: control(byte)
    case .single:
      reset()
      if let code = Self.singles[byte] { emit(code) } else if byte == 0x1b { state = .escape }
    case .string(let isEscaped):
      if byte == 0x07 || (isEscaped && byte == 0x5c) { return reset() }
      state = .string(isEscaped: byte == 0x1b)
    case .oldMouse(let left): if left > 1 { state = .oldMouse(left - 1) } else { reset() }
    case .paste: paste(byte)
    case .character(let left): character(byte, left)
    }
  }

  // MARK: Keys

  private mutating func ground(_ byte: UInt8, _ modifiers: Modifiers) {
    state = .ground
    switch byte {
    case 0x1b: state = .escape
    case 0x0d, 0x0a: emit(.enter, modifiers)
    case 0x09: emit(.tab, modifiers)
    case 0x7f, 0x08: emit(.backspace, modifiers)
    case 0x00: emit(.character(" "), modifiers.union(.control))
    case 0x01...0x1a: emit(.character(Unicode.Scalar(byte + 0x60)), modifiers.union(.control))
    case 0x1c...0x1f: emit(.character(Unicode.Scalar(byte + 0x40)), modifiers.union(.control))
    case 0x20..<0x7f: emit(.character(Unicode.Scalar(byte)), modifiers)
    case 0xc2..<0xf5:
      held = [byte]
      state = .character(byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3)
    // No character begins like this.
    default: break
    }
  }

  private mutating func character(_ byte: UInt8, _ left: Int) {
    guard byte & 0xc0 == 0x80 else {
      reset()
      return take(byte)
    }
    held.append(byte)
    if left > 1 {
      state = .character(left - 1)
      return
    }
    let text = String(decoding: held, as: UTF8.self)
    let isValid = !text.unicodeScalars.contains("\u{fffd}") || held == [0xef, 0xbf, 0xbd]
    reset()
    if isValid { for scalar in text.unicodeScalars { emit(.character(scalar)) } }
  }

  private mutating func escape(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "["):
      held = []
      state = .control
    case UInt8(ascii: "O"): state = .single
    case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "_"), UInt8(ascii: "^"), UInt8(ascii: "X"):
      state = .string(isEscaped: false)
    case 0x1b: emit(.escape)
    default: ground(byte, .alt)
    }
  }

  // MARK: Sequences

  private mutating func control(_ byte: UInt8) {
    switch byte {
    case 0x20..<0x40:
      held.append(byte)
      if held.count > Self.sequenceLimit {
        held = []
        state = .skipping
      }
    case 0x40..<0x7f:
      let (isWhole, text) = (state == .control, held)
      reset()
      if isWhole { sequence(text, byte) }
    default:
      // A sequence that was cut off.
      reset()
      take(byte)
    }
  }

  private mutating func sequence(_ text: [UInt8], _ final: UInt8) {
    if final == UInt8(ascii: "M"), text.isEmpty {
      state = .oldMouse(3)
      return
    }
    if text.first == UInt8(ascii: "<") { return mouse(text.dropFirst(), isRelease: final == UInt8(ascii: "m")) }
    let numbers = Self.numbers(text[...])
    let modifiers = numbers.count > 1 ? Modifiers(rawValue: UInt8(clamping: max(0, numbers[1] - 1) & 7)) : []
    if final == UInt8(ascii: "~") {
      if numbers.first == 200 {
        state = .paste
      } else if let code = numbers.first.flatMap({ Self.numbered[$0] }) {
        emit(code, modifiers)
      }
    } else if final == UInt8(ascii: "Z") {
      emit(.backTab)
    } else if let code = Self.singles[final] {
      emit(code, modifiers)
    }
  }

  private mutating func mouse(_ text: ArraySlice<UInt8>, isRelease: Bool) {
    let numbers = Self.numbers(text)
    guard numbers.count == 3, numbers[1] > 0, numbers[2] > 0 else { return }
    let button = numbers[0]
    let action: Mouse.Action
    // 32 is movement.
    if button & 64 != 0 {
      guard !isRelease, button & 2 == 0 else { return }
      action = button & 1 == 0 ? .wheelUp : .wheelDown
    } else {
      guard button & 32 == 0, button & 3 < 3 else { return }
      action = isRelease ? .release(button & 3) : .press(button & 3)
    }
    events.append(.mouse(Mouse(action, row: numbers[2] - 1, column: numbers[1] - 1)))
  }

  /// Numbers between semicolons, at most 65,535; a missing one is 0.
  private static func numbers(_ text: ArraySlice<UInt8>) -> [Int] {
    var numbers = [0]
    for byte in text {
      if byte == UInt8(ascii: ";") {
        numbers.append(0)
      } else if (0x30...0x39).contains(byte) {
        numbers[numbers.count - 1] = min(numbers[numbers.count - 1] * 10 + Int(byte - 0x30), 65_535)
      }
    }
    return numbers
  }

  private static let numbered: [Int: Key.Code] = [
    1: .home, 2: .insert, 3: .delete, 4: .end, 5: .pageUp, 6: .pageDown, 7: .home, 8: .end, 11: .function(1),
    12: .function(2), 13: .function(3), 14: .function(4), 15: .function(5), 17: .function(6), 18: .function(7),
    19: .function(8), 20: .function(9), 21: .function(10), 23: .function(11), 24: .function(12),
  ]

  private static let singles: [UInt8: Key.Code] = [
    UInt8(ascii: "A"): .up, UInt8(ascii: "B"): .down, UInt8(ascii: "C"): .right, UInt8(ascii: "D"): .left,
    UInt8(ascii: "H"): .home, UInt8(ascii: "F"): .end, UInt8(ascii: "P"): .function(1), UInt8(ascii: "Q"): .function(2),
    UInt8(ascii: "R"): .function(3), UInt8(ascii: "S"): .function(4), UInt8(ascii: "M"): .enter,
  ]

  // MARK: Pasted text

  private static let pasteEnd = Array("\u{1b}[201~".utf8)

  private mutating func paste(_ byte: UInt8) {
    if held.count < Self.pasteLimit { held.append(byte) }
    tail.append(byte)
    if tail.count > Self.pasteEnd.count { tail.removeFirst() }
    guard tail == Self.pasteEnd else { return }
    if held.suffix(tail.count) == Self.pasteEnd[...] { held.removeLast(tail.count) }
    events.append(.paste(String(decoding: held, as: UTF8.self)))
    reset()
  }
}
