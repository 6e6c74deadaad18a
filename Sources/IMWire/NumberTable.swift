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

  @usableFromInline var keys: [UInt32]
  @usableFromInline var values: [Value?]
  @usableFromInline var shift: UInt64
  @usableFromInline var used = 0
  /// Numbers that have a value.
  @inlinable public var count: Int { used }

  /// No values.
  @inlinable public init() {
    keys = [UInt32](repeating: Self.none, count: Self.least)
    values = [Value?](repeating: nil, count: Self.least)
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
    while keys[place] != key, keys[place] != Self.none { place = (place &+ Self.step) & (keys.count &- 1) }
    return place
  }

  /// The value of a number; `nil` where it has none. `UInt32.max` never has one.
  @inlinable public subscript(key: UInt32) -> Value? {
    get {
      let place = place(key)
      return keys[place] == key ? values[place] : nil
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
    if keys[place] == Self.none {
      if makeRoom() { place = self.place(key) }
      keys[place] = key
    }
    values[place] = value
  }

  /// Counts a number that is about to come; gives true where places have changed for it.
  @inlinable mutating func makeRoom() -> Bool {
    used += 1
    guard 2 * used > keys.count else { return false }
    let (oldKeys, oldValues) = (keys, values)
    keys = [UInt32](repeating: Self.none, count: 2 * oldKeys.count)
    values = [Value?](repeating: nil, count: keys.count)
    shift = Self.shift(keys.count)
    for i in oldKeys.indices where oldKeys[i] != Self.none {
      let place = place(oldKeys[i])
      keys[place] = oldKeys[i]
      values[place] = oldValues[i]
    }
    return true
  }

  /// Takes the value of a number away; gives it.
  @discardableResult
  @inlinable public mutating func remove(_ key: UInt32) -> Value? {
    var empty = place(key)
    guard key != Self.none, keys[empty] == key else { return nil }
    let value = values[empty]
    values[empty] = nil
    // Whoever stands behind and would stand here, but for the one that goes, moves up: no search stops too early.
    let mask = keys.count &- 1
    var next = (empty &+ Self.step) & mask
    while keys[next] != Self.none {
      let home = home(keys[next])
      // In steps.
      if ((next &- home) &* Self.inverse) & mask >= ((next &- empty) &* Self.inverse) & mask {
        keys[empty] = keys[next]
        values[empty] = values[next]
        values[next] = nil
        empty = next
      }
      next = (next &+ Self.step) & mask
    }
    keys[empty] = Self.none
    forgetOne()
    return value
  }

  @inlinable mutating func forgetOne() { used -= 1 }

  /// Takes all values away, and keeps the room.
  @inlinable public mutating func removeAll() {
    guard used > 0 else { return }
    for i in keys.indices where keys[i] != Self.none {
      keys[i] = Self.none
      values[i] = nil
    }
    used = 0
  }
}
