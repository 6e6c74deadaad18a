package import IMOutput
package import IMWire

/// Values of OTLP as its JSON has them: 64-bit numbers as decimal strings, attributes as objects of key and value.
///
/// Each of the functions named `attribute` writes a comma first: a list of attributes begins with one that is written
/// otherwise.
extension ByteWriter {
  /// A key and the beginning of its value, up to the name of the value's kind.
  @inline(__always)
  private mutating func key(_ key: StaticString) {
    literal(",{\"key\":\"")
    literal(key)
  }

  /// An attribute whose value is a text of our own, which needs no escape.
  package mutating func attribute(_ key: StaticString, _ value: StaticString) {
    self.key(key)
    literal("\",\"value\":{\"stringValue\":\"")
    literal(value)
    literal("\"}}")
  }

  /// An attribute whose value is any text; absent for `nil`.
  package mutating func attribute(_ key: StaticString, text value: String?) {
    guard let value else { return }
    self.key(key)
    literal("\",\"value\":{\"stringValue\":")
    jsonString(value)
    literal("}}")
  }

  /// An attribute whose value is a text that `body` writes, with what JSON escapes escaped.
  @inline(__always)
  package mutating func attribute(_ key: StaticString, writing body: (inout ByteWriter) -> Void) {
    self.key(key)
    literal("\",\"value\":{\"stringValue\":\"")
    body(&self)
    literal("\"}}")
  }

  /// An attribute whose value is a whole number; one beyond 63 bits is the greatest.
  package mutating func attribute(_ key: StaticString, number value: UInt64) {
    self.key(key)
    literal("\",\"value\":{\"intValue\":\"")
    number(min(value, UInt64(Int64.max)))
    literal("\"}}")
  }

  /// An attribute whose value is a number of thousandths: microseconds as milliseconds.
  package mutating func attribute(_ key: StaticString, thousandths value: Int64) {
    self.key(key)
    literal("\",\"value\":{\"doubleValue\":")
    thousandths(value)
    literal("}}")
  }

  /// An attribute whose value is a finite number, to six places; absent for `nil`.
  package mutating func attribute(_ key: StaticString, decimal value: Double?) {
    guard let value, value.isFinite else { return }
    self.key(key)
    literal("\",\"value\":{\"doubleValue\":")
    decimal(value, 6)
    literal("}}")
  }

  /// An attribute whose value is true or false.
  package mutating func attribute(_ key: StaticString, flag value: Bool) {
    self.key(key)
    if value { literal("\",\"value\":{\"boolValue\":true}}") } else { literal("\",\"value\":{\"boolValue\":false}}") }
  }

  /// Nanoseconds since 1970, in decimal; times before that, which only a damaged capture has, are 0.
  package mutating func nanoseconds(_ time: Timestamp) { number(UInt64(max(0, time.nanoseconds))) }

  /// A number of microseconds as seconds.
  package mutating func seconds(microseconds value: Int64) { decimal(value, places: 6) }
}
