/// One step of the small program that reads a body which is not a TLV list from its first byte.
package struct PlanStep: Sendable, BitwiseCopyable {
  /// What a step does.
  package enum Operation: UInt8, Sendable, BitwiseCopyable {
    /// Moves `count` bytes on.
    case skip
    /// Loads `count` bytes, big endian, into `register`.
    case load
    /// Reads a length of `count` bytes, then so many bytes of text, which `register` names.
    case text
    /// The next `count` bytes are `a` (masked by `b`); anything else is not this type, unless the next step is another
    /// `expect`: of several in a row, the first that fits counts.
    case expect
    /// Jumps `count` steps when the header's first eight bytes, or with `register` `bits` what was loaded there, masked by
    /// `a`, are `b`.
    case unless
    /// Moves behind a zero byte that stands among the next `count` bytes; what is in front of it is text, which
    /// `register` names.
    case string
    /// Reads a length of `count` bytes, and moves so many bytes on.
    case bytes
    /// The body may end here.
    case end
    /// Loads the header's status; see `Plan.status`.
    case status
    /// The rest of the body is a TLV list.
    case tlv
    /// Jumps where `unless` does not.
    case when
    /// The next `count` bytes, masked by `b`, are not `a`; they are not passed over.
    case refuse
    /// A length of `count` bytes (0: a varint), then a TLV list of so many bytes.
    case list
    /// Statuses of `count` bytes up to the body's end, one at least: the first that refuses counts, else the first.
    case each
    /// The body ends here.
    case close
    /// What precedes has told which variant of the protocol the connection speaks.
    case settle
    /// Reads up to `count` decimal digits, at least one, into `register`.
    case digits
    /// Moves past the next byte that is `a`; the bytes before it are the text that `register` names.
    case until
    /// Puts the content's value number `count` into `register`. The general reader does it in front of all other steps.
    case at
  }
  /// What it does.
  package var operation: Operation
  /// Where a `load` or a `text` puts what it reads; `none` drops it.
  package var register: Frame.Register
  /// Bytes, or for `unless` steps, as the operation says.
  package var count: UInt16
  /// The bytes to `expect` or to `refuse`, as a big-endian number; the mask of `unless` and `when`; a `text`'s least length; how
  /// the number of a `load` is written: 0, or one of these three.
  package var a: UInt64
  /// The mask of `expect` and `refuse`; the value of `unless` and `when`; how far the number of a `load` moves right.
  package var b: UInt64
  /// Least significant byte first.
  package static let littleEndian: UInt64 = 1
  /// Most significant byte first, and then moved right by `b` bits.
  package static let shifted: UInt64 = 3
  /// Decimal digits, two a byte.
  package static let bcd: UInt64 = 2

  /// A step of its parts.
  package init(
    _ operation: Operation, register: Frame.Register = .none, count: Int = 0, a: UInt64 = 0, b: UInt64 = 0
  ) {
    self.operation = operation
    self.register = register
    self.count = UInt16(clamping: count)
    self.a = a
    self.b = b
  }
}
