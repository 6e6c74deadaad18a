import IMOutput

/// HTML or SVG on its way out. Markup is literals of this program only; everything else goes through `text`, which escapes it.
package struct Markup: ~Copyable {
  private var out = ByteWriter(capacity: 1 << 16)

  /// Nothing written.
  package init() {}

  /// Hands out what was written.
  package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try out.withBytes(body) }

  /// What was written.
  package var bytes: [UInt8] { withBytes { Array($0) } }

  /// Bytes that were written.
  var count: Int { out.count }

  /// Appends markup that was written before.
  mutating func append(_ markup: [UInt8]) { markup.withUnsafeBytes { out.raw($0) } }

  /// Appends markup of this program.
  mutating func raw(_ markup: StaticString) { out.literal(markup) }

  /// Appends a page's script or style, or what was computed of them.
  mutating func trusted(_ text: String) { out.text(text) }

  /// Appends text, between tags or as the value of an attribute in double quotes. Control characters and those that change the
  /// direction of text stand as `\xNN`, as on a terminal; at most `limit` characters are written.
  mutating func text(_ text: String, limit: Int = 1_000) {
    var text = text
    var shown = ByteWriter(capacity: 256)
    text.withUTF8 { shown.terminal(UnsafeRawBufferPointer($0), limit: limit, keepsBackslashes: true) }
    shown.withBytes { escape($0) }
  }

  private mutating func escape(_ bytes: UnsafeRawBufferPointer) {
    var previous: (UInt8, UInt8) = (0, 0)
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "&"): out.literal("&amp;")
      case UInt8(ascii: "<"): out.literal("&lt;")
      case UInt8(ascii: ">"): out.literal("&gt;")
      case UInt8(ascii: "\""): out.literal("&quot;")
      case UInt8(ascii: "'"): out.literal("&#39;")
      // U+FFFE and U+FFFF, which XML does not allow, become U+FFFD.
      case 0xbe, 0xbf: out.byte(previous == (0xef, 0xbf) ? 0xbd : byte)
      default: out.byte(byte)
      }
      previous = (previous.1, byte)
    }
  }

  /// Appends JSON inside of an element of a script: no markup begins in it.
  mutating func json(_ bytes: UnsafeRawBufferPointer) {
    for byte in bytes {
      if byte == UInt8(ascii: "<") { out.literal("\\u003c") } else { out.byte(byte) }
    }
  }

  /// Appends a whole number.
  mutating func number(_ value: some BinaryInteger) { out.number(Int64(clamping: value)) }

  /// Appends a coordinate with one decimal; one that is no number, or far outside of any chart, is moved to its edge.
  mutating func place(_ value: Double) {
    let bounded = value.isFinite ? min(max(value, -9_999), 99_999) : 0
    let tenths = Int64((bounded * 10).rounded())
    if tenths < 0 { out.byte(UInt8(ascii: "-")) }
    out.number(tenths.magnitude / 10)
    if tenths.magnitude % 10 > 0 {
      out.byte(UInt8(ascii: "."))
      out.number(tenths.magnitude % 10)
    }
  }
}
