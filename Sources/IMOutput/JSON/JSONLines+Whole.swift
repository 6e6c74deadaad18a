package import IMWire

/// Lines for readers of JSON at large, who have no limits on the length of a line, the size of a number or of a text, as
/// Elasticsearch has.
///
/// What is written for every frame (`FrameJSONWriter`, documents of messages) has a `UncheckedWriter` and the names of its members as
/// literals of the program; escapes and numbers are the same.
extension JSONLines {
  /// Appends an object, whose members `body` writes, and a line feed to `out`.
  package static func line(to out: inout ByteWriter, _ body: (inout JSONLines) -> Void) {
    var lines = JSONLines(on: out)
    lines.begin()
    body(&lines)
    out = lines.finished()
  }

  /// Adds the members that `body` writes to the object that is the last line of `out`.
  package static func amend(_ out: inout ByteWriter, _ body: (inout JSONLines) -> Void) {
    // The brace and the line feed.
    out.truncate(to: out.count - 2)
    var lines = JSONLines(on: out)
    lines.resume()
    body(&lines)
    out = lines.finished()
  }

  /// Ends the line, and gives the bytes back.
  private consuming func finished() -> ByteWriter {
    writer.literal("}\n")
    return writer
  }

  // MARK: Members

  /// A whole number as it is: above 2⁶³ - 1, too.
  package mutating func exact(_ key: StaticString, _ value: some FixedWidthInteger & UnsignedInteger) {
    self.key(key)
    writer.number(value)
  }

  /// The same under a name of our own that the program has as text.
  package mutating func exact(named key: String, _ value: some FixedWidthInteger & UnsignedInteger) {
    self.key(named: key)
    writer.number(value)
  }

  /// Text, whole.
  package mutating func string(_ key: StaticString, _ value: String) {
    self.key(key)
    writer.jsonString(value)
  }

  /// The same under a name of our own that the program has as text.
  package mutating func string(named key: String, _ value: String) {
    self.key(named: key)
    writer.jsonString(value)
  }

  /// A number that is text already.
  package mutating func digits(_ key: StaticString, _ digits: String) {
    self.key(key)
    writer.text(digits)
  }

  /// An address and its port.
  package mutating func endpoint(_ key: StaticString, _ endpoint: Endpoint) {
    self.key(key)
    writer.byte(UInt8(ascii: "\""))
    writer.endpoint(endpoint)
    writer.byte(UInt8(ascii: "\""))
  }

  /// Thousandths, such as nanoseconds as microseconds.
  package mutating func thousandths(_ key: StaticString, _ value: Int64) {
    self.key(key)
    writer.thousandths(value)
  }

  private mutating func key(named name: String) {
    beginKey()
    writer.text(name)
    writer.literal("\":")
  }

  // MARK: Lists

  /// Begins a list that is the member `key`.
  package mutating func openList(_ key: StaticString) {
    self.key(key)
    writer.byte(UInt8(ascii: "["))
    isFirst = true
  }

  /// Begins a list that is an item of a list.
  package mutating func openList() {
    comma()
    writer.byte(UInt8(ascii: "["))
    isFirst = true
  }

  /// Begins an object that is an item of a list.
  package mutating func openItem() {
    comma()
    openObject()
  }

  /// Ends a list.
  package mutating func closeList() {
    writer.byte(UInt8(ascii: "]"))
    isFirst = false
  }

  /// A number that is an item of a list.
  package mutating func item(_ value: Int64) {
    comma()
    writer.number(value)
  }

  /// A number with so many decimals at most that is an item of a list.
  package mutating func item(decimal value: Double, _ decimals: Int) {
    comma()
    writer.decimal(value, decimals)
  }

  /// Text, whole, that is an item of a list.
  package mutating func item(_ value: String) {
    comma()
    writer.jsonString(value)
  }

  /// A name of our own that is an item of a list.
  package mutating func item(name: String) {
    comma()
    writer.byte(UInt8(ascii: "\""))
    writer.text(name)
    writer.byte(UInt8(ascii: "\""))
  }
}
