/// One step over what precedes a content, such as the digits of Socket.IO.
package struct LeadStep: Sendable, BitwiseCopyable {
  /// What a step does.
  package enum Operation: UInt8, Sendable, BitwiseCopyable {
    /// Reads up to `count` decimal digits.
    case digits
    /// Moves past the next `byte`; the bytes before it are text.
    case until
  }
  /// What it does.
  package var operation: Operation
  /// The most digits.
  package var count: UInt8 = 0
  /// The byte that ends what is passed over.
  package var byte: UInt8 = 0
  /// The byte that has to be next for the step to be taken; negative where it always is.
  package var next: Int16 = -1
  /// Whether the digits, or the text, are the type.
  package var isType = false
  /// Whether the digits, or the text, are the sequence number.
  package var isSequence = false

  /// A step that reads nothing yet.
  package init(_ operation: Operation) { self.operation = operation }
}

/// What precedes a content.
package struct ContentLead: Sendable {
  /// The type and the sequence number; `nil` where there are no digits for them.
  package private(set) var type: UInt64?, sequence: UInt64?
  /// The ranges of the texts that are the type and the sequence number; `nil` if there is no such text.
  package private(set) var typeText: Range<Int>?, sequenceText: Range<Int>?
  /// Where the content begins.
  package var end: Int

  /// Reads the steps over the bytes between two offsets.
  package init(
    _ bytes: UnsafePointer<UInt8>, _ start: Int, _ end: Int, _ count: Int, step: (Int) -> LeadStep
  ) {
    var at = start
    for i in 0..<count {
      let step = step(i)
      if step.next >= 0, at >= end || Int16(bytes[at]) != step.next { continue }
      switch step.operation {
      case .digits:
        let first = at
        while at < end, at &- first < Int(step.count), bytes[at] &- 0x30 < 10 { at &+= 1 }
        guard let number = decimalNumber(bytes + first, at &- first) else { continue }
        if step.isType { type = number }
        if step.isSequence { sequence = number }
      case .until:
        let first = at
        while at < end, bytes[at] != step.byte { at &+= 1 }
        if step.isType || step.isSequence {
          // Without the byte that ends it, there is no text.
          guard at < end else {
            at = first
            continue
          }
          if step.isType { typeText = first..<at }
          if step.isSequence { sequenceText = first..<at }
        }
        at = min(end, at &+ 1)
      }
    }
    self.end = at
  }
}
