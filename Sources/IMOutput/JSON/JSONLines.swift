public import IMWire

/// Documents on their way out: JSON objects, one a line.
///
/// Members are written in order; commas take care of themselves. A line never exceeds `maximumLine`: a longer one is taken
/// back and counted.
public struct JSONLines: ~Copyable {
  /// The longest line, its end included.
  package static let maximumLine = 64 << 10
  /// The longest text of a field; what is longer is cut.
  package static let maximumText = 1 << 10

  /// What was written and not handed on yet.
  public var writer: ByteWriter
  /// Lines taken back because they were too long.
  package private(set) var refused: UInt64 = 0
  @usableFromInline var isFirst = true
  private var lineStart = 0

  /// No lines.
  package init() { writer = ByteWriter(capacity: 64 << 10) }

  /// Lines behind what `writer` has.
  package init(on writer: consuming ByteWriter) { self.writer = writer }

  // MARK: Lines and objects

  /// Begins a line.
  package mutating func begin() {
    lineStart = writer.count
    writer.byte(UInt8(ascii: "{"))
    isFirst = true
  }

  /// Goes on behind a member that was written without this.
  package mutating func resume() { isFirst = false }

  /// Begins a part of a line whose first member needs no comma.
  package mutating func part() { isFirst = true }

  /// Ends the line; false when it was too long and was taken back.
  package mutating func end() -> Bool {
    writer.literal("}\n")
    guard writer.count - lineStart <= Self.maximumLine else {
      writer.truncate(to: lineStart)
      refused += 1
      return false
    }
    return true
  }

  /// Begins an object that is the member `key`.
  @inlinable @inline(__always)
  public mutating func open(_ key: StaticString) {
    self.key(key)
    writer.byte(UInt8(ascii: "{"))
    isFirst = true
  }

  /// Ends the object.
  @inlinable @inline(__always)
  public mutating func close() {
    writer.byte(UInt8(ascii: "}"))
    isFirst = false
  }

  /// A place to take members back to.
  package struct Mark {
    fileprivate let count: Int, isFirst: Bool
  }

  /// Where it stands.
  package var mark: Mark { Mark(count: writer.count, isFirst: isFirst) }

  /// Takes back what was written behind `mark`.
  package mutating func takeBack(to mark: Mark) {
    writer.truncate(to: mark.count)
    isFirst = mark.isFirst
  }

  /// The comma and the name of a member whose value follows; `name` has its quotes and its colon.
  @inline(__always)
  mutating func beginMember(_ name: Piece) {
    comma()
    writer.piece(name)
  }

  /// Begins an object that is the value of a member.
  package mutating func openObject() {
    writer.byte(UInt8(ascii: "{"))
    isFirst = true
  }

  /// Members that were made before, without commas at their ends.
  package mutating func members(_ text: String) {
    comma()
    writer.text(text)
  }

  /// The same, as it stands in the program.
  @inlinable @inline(__always)
  public mutating func literal(_ text: StaticString) {
    comma()
    writer.literal(text)
  }

  /// The same, made once.
  @inlinable @inline(__always)
  public mutating func members(_ piece: Piece) { members(piece.bytes) }

  /// The same.
  @inlinable @inline(__always)
  public mutating func members(_ bytes: UnsafeRawBufferPointer) {
    comma()
    writer.raw(bytes)
  }

  /// The comma and the name of a member whose value follows.
  @inlinable @inline(__always)
  public mutating func key(_ key: StaticString) {
    writer.key(key, isFirst: isFirst)
    isFirst = false
  }

  /// The comma and the opening quote of a name that is put together; the caller writes the rest, `":` included.
  package mutating func beginKey() {
    comma()
    writer.byte(UInt8(ascii: "\""))
  }

  @inlinable @inline(__always)
  mutating func comma() {
    if !isFirst { writer.byte(UInt8(ascii: ",")) }
    isFirst = false
  }

  // MARK: Values

  /// A whole number.
  @inlinable @inline(__always)
  public mutating func number(_ key: StaticString, _ value: some FixedWidthInteger & UnsignedInteger) {
    // Elasticsearch's long is signed.
    writer.member(key, isFirst: isFirst, min(UInt64(truncatingIfNeeded: value), UInt64(Int64.max)))
    isFirst = false
  }

  /// A whole number, or nothing when it is not known.
  package mutating func number(_ key: StaticString, _ value: UInt64?) {
    if let value { number(key, value) }
  }

  /// A whole number with a sign.
  package mutating func signed(_ key: StaticString, _ value: Int64) {
    self.key(key)
    writer.number(value)
  }

  /// Microseconds as milliseconds, or nothing when there are none.
  @inlinable @inline(__always)
  public mutating func milliseconds(_ key: StaticString, _ microseconds: Int64?) {
    guard let microseconds else { return }
    self.key(key)
    writer.thousandths(microseconds)
  }

  /// Microseconds as milliseconds, or nothing when there are none.
  package mutating func milliseconds(_ key: StaticString, _ microseconds: Double?) {
    guard let microseconds, microseconds.isFinite else { return }
    self.key(key)
    writer.decimal(microseconds / 1_000, 3)
  }

  /// A number with at most six decimals, or nothing when there is none.
  package mutating func decimal(_ key: StaticString, _ value: Double?) {
    guard let value, value.isFinite else { return }
    self.key(key)
    writer.decimal(value, 6)
  }

  /// True or false.
  @inlinable @inline(__always)
  public mutating func flag(_ key: StaticString, _ value: Bool) {
    self.key(key)
    if value { writer.literal("true") } else { writer.literal("false") }
  }

  /// A time.
  @inlinable @inline(__always)
  public mutating func instant(_ key: StaticString, _ time: Timestamp) {
    self.key(key)
    writer.byte(UInt8(ascii: "\""))
    writer.instant(time)
    writer.byte(UInt8(ascii: "\""))
  }

  /// Text, cut to `maximumText` bytes; or nothing when there is none.
  package mutating func text(_ key: StaticString, _ value: String?) {
    guard let value else { return }
    self.key(key)
    writer.jsonString(Self.cut(value))
  }

  /// Text under a name that is only known at run time.
  package mutating func pair(_ key: String, _ value: String) {
    comma()
    writer.jsonString(Self.cut(key))
    writer.byte(UInt8(ascii: ":"))
    writer.jsonString(Self.cut(value))
  }

  /// A name of our own, as it stands in the program.
  @inlinable @inline(__always)
  public mutating func name(_ key: StaticString, _ value: StaticString) {
    self.key(key)
    writer.byte(UInt8(ascii: "\""))
    writer.literal(value)
    writer.byte(UInt8(ascii: "\""))
  }

  /// A name of our own, which needs no escapes.
  package mutating func name(_ key: StaticString, _ value: String) {
    self.key(key)
    writer.byte(UInt8(ascii: "\""))
    writer.text(value)
    writer.byte(UInt8(ascii: "\""))
  }

  /// An address.
  @inlinable @inline(__always)
  public mutating func address(_ key: StaticString, _ address: IPAddress) {
    self.key(key)
    writer.byte(UInt8(ascii: "\""))
    writer.address(address)
    writer.byte(UInt8(ascii: "\""))
  }

  /// `value` cut to `maximumText` bytes at the end of a character.
  package static func cut(_ value: String) -> String {
    guard value.utf8.count > maximumText else { return value }
    var end = value.utf8.index(value.startIndex, offsetBy: maximumText)
    while end > value.startIndex, end.samePosition(in: value.unicodeScalars) == nil {
      end = value.utf8.index(before: end)
    }
    return String(value[..<end])
  }

  /// `value` as it stands inside a JSON string, for pieces of a text that is put together.
  package static func escaped(_ value: String) -> String {
    var writer = ByteWriter(capacity: 64)
    writer.jsonString(cut(value))
    return String(writer.text.dropFirst().dropLast())
  }
}
