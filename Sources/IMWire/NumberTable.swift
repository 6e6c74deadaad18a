/// Values by numbers of our own that count up: exchanges, sessions, connections.
///
/// A `Dictionary` hashes so that nobody who chooses the keys can make them meet; nobody chooses these, so a multiplication does.
/// Sixteen numbers in a row stand side by side, as they come. Open addressing, at most half full: where a place is taken, the
/// next one is seventeen further, which is no part of any row and comes by all places.
@frozen
public struct NumberTable<Value> {
  /// No number: the key of an empty place.
  @inlinable static var none: UInt32 { .max }
  @inlinable static var least: Int { 64 }
  /// From a place to the one that is tried next, and what that is to be multiplied with to give 1.
  @inlinable static var step: Int { 17 }
  @inlinable static var inverse: Int { Int(bitPattern: 0xf0f0_f0f0_f0f0_f0f1) }

  /// A number and its value side by side: who finds the one has read the other.
  @usableFromInline struct Entry {
    @usableFromInline var key: UInt32
    @usableFromInline var value: Value?
    @inlinable init(key: UInt32, value: Value?) { (self.key, self.value) = (key, value) }
  }

  @usableFromInline var entries: [Entry]
  @usableFromInline var shift: UInt64
  @usableFromInline var used = 0
  /// Numbers that have a value.
  @inlinable public var count: Int { used }

  /// No values.
  @inlinable public init() {
    entries = [Entry](repeating: Entry(key: Self.none, value: nil), count: Self.least)
    shift = Self.shift(Self.least)
  }

  @inlinable static func shift(_ capacity: Int) -> UInt64 {
    UInt64(64 - (capacity / 16).trailingZeroBitCount)
  }

  /// Where `key` stands if nothing is in its way.
  @inlinable func home(_ key: UInt32) -> Int {
    let block = (UInt64(key >> 4) &* 0x9e37_79b9_7f4a_7c15) >> shift
    return Int(truncatingIfNeeded: block) &* 16 &+ Int(key & 15)
  }

  /// Where `key` stands, or the empty place in which it would.
  @inlinable func place(_ key: UInt32) -> Int {
    var place = home(key)
    while entries[place].key != key, entries[place].key != Self.none {
      place = (place &+ Self.step) & (entries.count &- 1)
    }
    return place
  }

  /// The value of a number; `nil` where it has none. `UInt32.max` never has one.
  @inlinable public subscript(key: UInt32) -> Value? {
    get {
      let place = place(key)
      return entries[place].key == key ? entries[place].value : nil
    }
    set {
      guard let newValue else {
        _ = remove(key)
        return
      }
      insert(newValue, key)
    }
  }

  /// Gives a number a value, in place of an older one.
  @inlinable public mutating func insert(_ value: Value, _ key: UInt32) {
    guard key != Self.none else { return }
    var place = place(key)
    if entries[place].key == Self.none {
      if makeRoom() { place = self.place(key) }
      entries[place].key = key
    }
    entries[place].value = value
  }

  /// Counts a number that is about to come; gives true where places have changed for it.
  @inlinable mutating func makeRoom() -> Bool {
    used += 1
    guard 2 * used > entries.count else { return false }
    let old = entries
    entries = [Entry](repeating: Entry(key: Self.none, value: nil), count: 2 * old.count)
    shift = Self.shift(entries.count)
    for entry in old where entry.key != Self.none { entries[place(entry.key)] = entry }
    return true
  }

  /// Takes the value of a number away; gives it.
  @discardableResult
  @inlinable public mutating func remove(_ key: UInt32) -> Value? {
    var empty = place(key)
    guard key != Self.none, entries[empty].key == key else { return nil }
    let value = entries[empty].value
    entries[empty].value = nil
    // Whoever stands behind and would stand here, but for the one that goes, moves up: no search stops too early.
    let mask = entries.count &- 1
    var next = (empty &+ Self.step) & mask
    while entries[next].key != Self.none {
      let home = home(entries[next].key)
      // In steps.
      if ((next &- home) &* Self.inverse) & mask >= ((next &- empty) &* Self.inverse) & mask {
        entries[empty] = entries[next]
        entries[next].value = nil
        empty = next
      }
      next = (next &+ Self.step) & mask
    }
    entries[empty].key = Self.none
    forgetOne()
    return value
  }

  @inlinable mutating func forgetOne() { used -= 1 }

  /// Calls `body` with each value, in no order.
  @inlinable public func forEach(_ body: (Value) -> Void) {
    for entry in entries where entry.key != Self.none {
      if let value = entry.value { body(value) }
    }
  }

  /// Takes all values away, and keeps the room.
  @inlinable public mutating func removeAll() {
    guard used > 0 else { return }
    for i in entries.indices where entries[i].key != Self.none { entries[i] = Entry(key: Self.none, value: nil) }
    used = 0
  }
}
