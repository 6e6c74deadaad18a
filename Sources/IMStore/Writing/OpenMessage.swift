package import IMEngine
import IMFields
import IMOutput
import IMWire

/// A further copy of a message, or an answer to it.
package struct TimedFrame {
  /// Microseconds since the epoch.
  let time: Int64
  let isAnswer: Bool
  /// Of a copy, what its checksum said.
  let checksum: ChecksumStatus
  /// Of a copy, the remarks on it, as `FrameFlagNames.mask` has them.
  let flags: UInt32

  /// Copies and answers of one message that are kept one by one, at most.
  static var most: Int { 1_000 }

  /// A further copy.
  package init(copyAt time: Int64, _ checksum: ChecksumStatus, flags: UInt32) {
    self.time = time
    isAnswer = false
    self.checksum = checksum
    self.flags = flags
  }

  /// An answer.
  package init(answerAt time: Int64) {
    self.time = time
    isAnswer = true
    checksum = .unchecked
    flags = 0
  }
}

/// What the frames of a message of a file have told of it.
struct BegunMessage {
  /// What its first copy told.
  let first: FirstCopy
  /// The name that the session's client gave; `nil` where it is not known, or sessions are numbers.
  var name: String?
  /// What only few messages have; `nil` of the others.
  private(set) var extras: Extras?
  /// Microseconds since the epoch of the first answer; `none` without one.
  private(set) var firstAnswer = BegunMessage.none
  /// The remarks on any of its copies.
  private(set) var flags: UInt32

  static var none: Int64 { .min }

  /// What only few messages have.
  final class Extras {
    /// The type's name where the profile does not know it.
    var unknownType: String?
    /// Copies after the first, with their checksums, and answers after the first.
    var copies: [Int64] = [], checksums: [ChecksumStatus] = [], answers: [Int64] = []
    /// Its texts; `nil` without one.
    var texts: MessageDetails?
  }

  init(_ first: FirstCopy, flags: UInt32) {
    self.first = first
    self.flags = flags
  }

  /// Its extras, made where it has none.
  mutating func madeExtras() -> Extras {
    if let extras { return extras }
    let made = Extras()
    extras = made
    return made
  }

  /// Adds a copy or an answer.
  @inline(__always)
  mutating func add(_ frame: TimedFrame) {
    if frame.isAnswer, firstAnswer == Self.none {
      firstAnswer = frame.time
    } else {
      addFurther(frame)
    }
  }

  @inline(never)
  private mutating func addFurther(_ frame: TimedFrame) {
    let extras = madeExtras()
    guard !frame.isAnswer else {
      if extras.answers.count < TimedFrame.most - 1 { extras.answers.append(frame.time) }
      return
    }
    flags |= frame.flags
    guard extras.copies.count < TimedFrame.most - 1 else { return }
    extras.copies.append(frame.time)
    extras.checksums.append(frame.checksum)
  }
}

/// What is known of a message of a file that its writer does not have.
struct OpenMessage {
  /// What its frames have told.
  var begun: BegunMessage
  /// What became of it; until that is decided, what its first copy tells.
  var exchange: Exchange
  /// The status that its answer gave; `nil` where there is none.
  var status: StatusCode?
}

/// Messages that have left a `MessageRing` before their fates were decided, by their numbers.
struct WaitingMessages: ~Copyable {
  /// Messages in a piece of memory: pieces stay where they are, so none is ever copied to make room for more.
  private static var pieceCount: Int { 1_024 }

  private var pieces: [UnsafeMutablePointer<BegunMessage>] = []
  private var numbers = NumberTable<UInt32>()
  /// Places that nobody has.
  private var free: [UInt32] = []

  /// Messages that wait.
  var count: Int { numbers.count }

  deinit {
    numbers.forEach { _ = pointer($0).deinitialize(count: 1) }
    for piece in pieces { piece.deallocate() }
  }

  private func pointer(_ place: UInt32) -> UnsafeMutablePointer<BegunMessage> {
    pieces[Int(place) / Self.pieceCount] + Int(place) % Self.pieceCount
  }

  /// Adds one.
  mutating func add(_ message: consuming BegunMessage, _ number: UInt32) {
    if free.isEmpty {
      let first = UInt32(truncatingIfNeeded: pieces.count * Self.pieceCount)
      pieces.append(.allocate(capacity: Self.pieceCount))
      free.append(contentsOf: (first..<first + UInt32(Self.pieceCount)).reversed())
    }
    let place = free.removeLast()
    pointer(place).initialize(to: message)
    numbers[number] = place
  }

  /// Whether the one with this number waits.
  func has(_ number: UInt32) -> Bool { numbers.count > 0 && numbers[number] != nil }

  /// Changes the one with this number; false where it does not wait.
  func change(_ number: UInt32, _ body: (inout BegunMessage) -> Void) -> Bool {
    guard numbers.count > 0, let place = numbers[number] else { return false }
    body(&pointer(place).pointee)
    return true
  }

  /// Takes one out.
  mutating func remove(_ number: UInt32) -> BegunMessage? {
    guard numbers.count > 0, let place = numbers.remove(number) else { return nil }
    free.append(place)
    return pointer(place).move()
  }
}
