/// A frame's number: a category in the top byte and a counter of its own for each category in the other three.
///
/// The counter goes from 0xFEFFFF to 0: the top 65,536 values never appear.
@frozen
public struct SequenceNumber: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
  /// The number as it stands on the wire, in host order.
  public var rawValue: UInt32

  /// The value with this number.
  @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The number of `counter` in `category`.
  @inlinable public init(_ category: SequenceCategory, _ counter: UInt32) {
    rawValue = UInt32(category.rawValue) << 24 | counter & 0xff_ffff
  }

  /// How many counters there are before they repeat.
  @inlinable public static var modulus: UInt32 { 0xff_0000 }

  /// The counter without its category.
  @inlinable public var counter: UInt32 { rawValue & 0xff_ffff }

  /// The top byte; `nil` when it is none of the categories.
  @inlinable public var category: SequenceCategory? { SequenceCategory(rawValue: UInt8(rawValue >> 24)) }

  /// The number after this one, in its category.
  @inlinable public var next: SequenceNumber {
    SequenceNumber(rawValue: counter + 1 >= Self.modulus ? rawValue & 0xff00_0000 : rawValue + 1)
  }

  /// Steps from `earlier` to this number's counter, going round: 0 ..< `modulus`. Counters outside the circle count as 0.
  @inlinable public func distance(from earlier: SequenceNumber) -> UInt32 {
    let (a, b) = (earlier.counter % Self.modulus, counter % Self.modulus)
    return b >= a ? b - a : b + Self.modulus - a
  }
}

/// What a counter counts: each category has its own.
public enum SequenceCategory: UInt8, Sendable, CaseIterable, BitwiseCopyable {
  /// Messages and receipts.
  case normal = 0
  /// Heartbeats.
  case heartbeat = 1
  /// Handshakes.
  case control = 2
  /// Images, sounds, films and files.
  case media = 3
  /// Messages to groups.
  case broadcast = 4
}

/// The counters of one sender in one session.
struct SequenceCounters: Sendable {
  private var next: InlineArray<5, UInt32>

  /// Counters that start anywhere on the circle: 1 after `start`, each category 1,000 further.
  init(start: UInt32) {
    next = InlineArray(repeating: 0)
    for category in SequenceCategory.allCases {
      let index = Int(category.rawValue)
      next[index] = (start % SequenceNumber.modulus + UInt32(index) * 1_000 + 1) % SequenceNumber.modulus
    }
  }

  /// The number the next frame of `category` will have.
  func upcoming(_ category: SequenceCategory) -> SequenceNumber {
    SequenceNumber(category, next[Int(category.rawValue)])
  }

  /// Takes the next number of `category`.
  mutating func take(_ category: SequenceCategory) -> SequenceNumber {
    let number = SequenceNumber(category, next[Int(category.rawValue)])
    next[Int(category.rawValue)] = number.next.counter
    return number
  }
}
