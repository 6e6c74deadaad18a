/// Which numbers of one category have come, in bounded memory: a number counts once.
///
/// All numbers up to a floor are settled; above it, a bit for each. The bits grow with the span between the floor and the
/// highest number, up to `window`: then the floor moves up, and what it passes counts as settled. A sender keeps its
/// oldest unacknowledged number within half a window of its newest, so nothing that it may still send is passed.
struct DuplicateFilter: Sendable {
  /// How far numbers may come apart.
  static var window: UInt32 { 16_384 }

  private var floor: UInt32 = 0
  private var hasFloor = false
  /// Bit `n % bits.count * 64` for number `n`; only those above the floor count.
  private var bits: [UInt64] = []
  private var span: UInt32 = 0

  /// Nothing has come yet; the sender has said that everything before `first` is settled.
  mutating func settle(before first: UInt32) {
    guard first < SequenceNumber.modulus else { return }
    let before = first == 0 ? SequenceNumber.modulus - 1 : first - 1
    guard hasFloor else {
      floor = before
      hasFloor = true
      return
    }
    // Never back: a late announcement knows less than the numbers that came since.
    let step = distance(before)
    if step > 0, step < SequenceNumber.modulus / 2 { advance(by: step) }
  }

  /// Whether `counter` comes for the first time; from now on it has come.
  mutating func insert(_ counter: UInt32) -> Bool {
    let counter = counter % SequenceNumber.modulus
    if !hasFloor {
      // A sender that has not said where it begins: the numbers just below may still come.
      floor = (counter + SequenceNumber.modulus - 1 - 256) % SequenceNumber.modulus
      hasFloor = true
    }
    let step = distance(counter)
    if step == 1, span == 0 {
      floor = counter
      return true
    }
    guard step > 0, step < SequenceNumber.modulus / 2 else { return false }
    if step > Self.window { advance(by: step - Self.window) }
    let place = distance(counter)
    reserve(place)
    let index = Int(counter) & (bits.count * 64 - 1)
    let bit: UInt64 = 1 << UInt64(index & 63)
    guard bits[index >> 6] & bit == 0 else { return false }
    bits[index >> 6] |= bit
    span = max(span, place)
    while span > 0, take(1) {}
    return true
  }

  /// Whether `counter` has come, or counts as come.
  func contains(_ counter: UInt32) -> Bool {
    guard hasFloor else { return false }
    let step = distance(counter % SequenceNumber.modulus)
    guard step > 0, step < SequenceNumber.modulus / 2 else { return true }
    guard step <= span, !bits.isEmpty else { return false }
    let index = Int(counter % SequenceNumber.modulus) & (bits.count * 64 - 1)
    return bits[index >> 6] >> UInt64(index & 63) & 1 != 0
  }

  /// Steps from the floor up to `counter`, going round.
  private func distance(_ counter: UInt32) -> UInt32 {
    counter >= floor ? counter - floor : counter + SequenceNumber.modulus - floor
  }

  /// Moves the floor over the number above it, if that has come.
  private mutating func take(_ step: UInt32) -> Bool {
    let next = (floor + 1) % SequenceNumber.modulus
    let index = Int(next) & (bits.count * 64 - 1)
    let bit: UInt64 = 1 << UInt64(index & 63)
    guard bits[index >> 6] & bit != 0 else { return false }
    bits[index >> 6] &= ~bit
    floor = next
    span -= 1
    if span == 0 { bits = [] }
    return true
  }

  /// Moves the floor up, whatever has come or not.
  private mutating func advance(by count: UInt32) {
    guard count < span else {
      floor = (floor + count) % SequenceNumber.modulus
      span = 0
      bits = []
      return
    }
    for _ in 0..<count {
      floor = (floor + 1) % SequenceNumber.modulus
      let index = Int(floor) & (bits.count * 64 - 1)
      bits[index >> 6] &= ~(1 << UInt64(index & 63))
    }
    span -= count
    while span > 0, take(1) {}
  }

  /// Makes room for a number `place` above the floor. The modulus is a multiple of every size, so places stay.
  private mutating func reserve(_ place: UInt32) {
    var words = max(1, bits.count)
    while words * 64 <= Int(place) { words *= 2 }
    guard words != bits.count else { return }
    var larger = [UInt64](repeating: 0, count: words)
    if span > 0 {
      for step in 1...span {
        let number = Int((floor + step) % SequenceNumber.modulus)
        let old = number & (bits.count * 64 - 1)
        guard bits[old >> 6] >> UInt64(old & 63) & 1 != 0 else { continue }
        let new = number & (words * 64 - 1)
        larger[new >> 6] |= 1 << UInt64(new & 63)
      }
    }
    bits = larger
  }

  /// Bytes that the bits take.
  var byteCount: Int { bits.count * 8 }
}
