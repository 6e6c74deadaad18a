package import IMOTLP

/// A line of OTLP JSON as the body of a request: Protocol Buffers, which every receiver takes.
///
/// What the schema does not have is left out; what is malformed makes no request. Requests of one signal are appended to each
/// other: their resources follow one another, as in one request.
package struct OTLPRequest: Sendable {
  /// What the line holds.
  package let signal: OTLPSignal
  /// The message `ExportLogsServiceRequest`, or that of the other signals.
  package var body: [UInt8] { writer.bytes }
  /// Log records, points of metrics, or spans.
  package private(set) var recordCount = 0

  private let bytes: [UInt8]
  private var writer = ProtobufWriter()

  /// Reads the line in `range`; `nil` where it is no request.
  package init?(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    var scanner = JSONScanner(bytes, range)
    // Its only member tells what it is.
    var found: OTLPSignal?
    var first = JSONScanner(bytes, range)
    _ = first.members { scanner, key in
      found = OTLPSignal.allCases.first { scanner.spells(key, OTLPSchema.fields(OTLPSchema.request($0))[0].name) }
      return false
    }
    guard let found else { return nil }
    signal = found
    guard message(OTLPSchema.request(found), &scanner), scanner.isAtEnd else { return nil }
  }

  /// Reads an object, whose nesting the scanner bounds.
  private mutating func message(_ message: OTLPSchema.Message, _ scanner: inout JSONScanner) -> Bool {
    switch message {
    case .log, .span, .point, .histogramPoint, .exponentialPoint: recordCount += 1
    default: break
    }
    let fields = OTLPSchema.fields(message)
    return scanner.members { scanner, key in
      guard scanner.next != UInt8(ascii: "n"), let field = fields.first(where: { scanner.spells(key, $0.name) }) else {
        return scanner.skip()
      }
      return value(field, &scanner)
    }
  }

  private mutating func value(_ field: OTLPSchema.Field, _ scanner: inout JSONScanner) -> Bool {
    switch field.kind {
    case .text:
      guard let range = scanner.text() else { return false }
      if bytes[range].allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "\\") }) {
        writer.bytes(field.number, bytes[range])
      } else {
        writer.bytes(field.number, scanner.unescaped(range).utf8)
      }
    case .id:
      guard let range = scanner.text(), range.count % 2 == 0, range.count <= 64 else { return false }
      var id: [UInt8] = []
      for place in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
        guard let high = JSONScanner.digit(bytes[place]), let low = JSONScanner.digit(bytes[place + 1]) else {
          return false
        }
        id.append(UInt8(high << 4 | low))
      }
      writer.bytes(field.number, id)
    case .flag:
      guard let flag = scanner.flag() else { return false }
      writer.number(field.number, flag ? 1 : 0)
    case .number:
      guard let number = integer(&scanner) else { return false }
      writer.number(field.number, number)
    case .zigzag:
      guard let number = integer(&scanner) else { return false }
      let value = Int64(bitPattern: number)
      writer.number(field.number, UInt64(bitPattern: value << 1 ^ value >> 63))
    case .fixed32:
      guard let number = integer(&scanner), let word = UInt32(exactly: number) else { return false }
      writer.fixed32(field.number, word)
    case .fixed64:
      guard let number = integer(&scanner) else { return false }
      writer.fixed(field.number, number)
    case .double:
      guard let number = double(&scanner) else { return false }
      writer.fixed(field.number, number.bitPattern)
    case .packedNumbers:
      return list(field.number, &scanner) { request, scanner in
        guard let number = request.integer(&scanner) else { return false }
        request.writer.packed(number)
        return true
      }
    case .packedFixed64:
      return list(field.number, &scanner) { request, scanner in
        guard let number = request.integer(&scanner) else { return false }
        request.writer.word(number)
        return true
      }
    case .packedDoubles:
      return list(field.number, &scanner) { request, scanner in
        guard let number = request.double(&scanner) else { return false }
        request.writer.word(number.bitPattern)
        return true
      }
    case .message(let message):
      let start = writer.begin(field.number)
      guard self.message(message, &scanner) else { return false }
      writer.end(start)
    case .messages(let message):
      return scanner.elements { scanner in
        let start = writer.begin(field.number)
        guard self.message(message, &scanner) else { return false }
        writer.end(start)
        return true
      }
    }
    return true
  }

  /// Reads a list of numbers as packed ones.
  private mutating func list(
    _ number: Int, _ scanner: inout JSONScanner, _ body: (inout OTLPRequest, inout JSONScanner) -> Bool
  ) -> Bool {
    let start = writer.begin(number)
    guard scanner.elements({ scanner in body(&self, &scanner) }) else { return false }
    writer.end(start)
    return true
  }

  /// A whole number, as a string or as a number; a negative one as two's complement.
  private func integer(_ scanner: inout JSONScanner) -> UInt64? {
    let isText = scanner.next == UInt8(ascii: "\"")
    guard let range = isText ? scanner.text() : scanner.number(), !range.isEmpty, range.count <= 20 else { return nil }
    let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-")
    var value: UInt64 = 0
    for byte in bytes[range].dropFirst(isNegative ? 1 : 0) {
      guard byte &- 0x30 < 10 else { return nil }
      let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, isTooLargeAgain) = product.addingReportingOverflow(UInt64(byte &- 0x30))
      guard !isTooLarge, !isTooLargeAgain else { return nil }
      value = sum
    }
    return isNegative ? 0 &- value : value
  }

  private func double(_ scanner: inout JSONScanner) -> Double? {
    let isText = scanner.next == UInt8(ascii: "\"")
    guard let range = isText ? scanner.text() : scanner.number(), range.count <= 64 else { return nil }
    return Double(String(decoding: bytes[range], as: UTF8.self))
  }
}

/// What a receiver of OTLP answered with success: a part of the records may have been refused for good.
package struct OTLPAnswer: Equatable, Sendable {
  /// Records that were refused.
  package private(set) var rejected: UInt64 = 0
  /// The receiver's reason, or its warning where nothing was refused.
  package private(set) var message = ""

  /// Reads a body in Protocol Buffers, or in JSON; one that is neither is taken as success.
  package init(_ body: [UInt8]) {
    if body.first == UInt8(ascii: "{") {
      readJSON(body)
      return
    }
    // partial_success is field 1 of the response: in it rejected_... is field 1, error_message field 2.
    guard let part = Self.field(1, in: body[...]) else { return }
    if case .number(let count)? = Self.field(1, in: part.bytes) { rejected = count }
    if case .bytes(let text)? = Self.field(2, in: part.bytes) {
      message = String(decoding: text.prefix(200), as: UTF8.self)
    }
  }

  private mutating func readJSON(_ body: [UInt8]) {
    var scanner = JSONScanner(body)
    var (count, text): (UInt64, String) = (0, "")
    _ = scanner.members { scanner, key in
      guard scanner.spells(key, "partialSuccess"), scanner.next == UInt8(ascii: "{") else { return scanner.skip() }
      return scanner.members { scanner, key in
        if scanner.spells(key, "errorMessage"), scanner.next == UInt8(ascii: "\"") {
          guard let range = scanner.text() else { return false }
          text = String(scanner.unescaped(range).prefix(200))
          return true
        }
        let isCount = ["rejectedLogRecords", "rejectedDataPoints", "rejectedSpans"].contains {
          scanner.spelling(key) == $0
        }
        guard isCount else { return scanner.skip() }
        let range = scanner.next == UInt8(ascii: "\"") ? scanner.text() : scanner.number()
        count = range.flatMap { UInt64(scanner.spelling($0)) } ?? 0
        return range != nil
      }
    }
    (rejected, message) = (count, text)
  }

  private enum Value {
    case number(UInt64), bytes(ArraySlice<UInt8>)

    var bytes: ArraySlice<UInt8> { if case .bytes(let bytes) = self { bytes } else { [] } }
  }

  /// The last value of a field; `nil` where there is none, or the bytes are no message.
  private static func field(_ wanted: UInt64, in bytes: ArraySlice<UInt8>) -> Value? {
    var rest = bytes
    var found: Value?
    func varint() -> UInt64? {
      var value: UInt64 = 0
      for shift in stride(from: 0, to: 70, by: 7) {
        guard let byte = rest.popFirst() else { return nil }
        if shift < 64 { value |= UInt64(byte & 0x7f) << UInt64(shift) }
        if byte < 0x80 { return value }
      }
      return nil
    }
    while !rest.isEmpty {
      guard let tag = varint() else { return nil }
      var value: Value?
      switch tag & 7 {
      case 0:
        guard let number = varint() else { return nil }
        value = .number(number)
      case 1:
        guard rest.count >= 8 else { return nil }
        rest = rest.dropFirst(8)
      case 2:
        guard let count = varint(), count <= UInt64(rest.count) else { return nil }
        value = .bytes(rest.prefix(Int(count)))
        rest = rest.dropFirst(Int(count))
      case 5:
        guard rest.count >= 4 else { return nil }
        rest = rest.dropFirst(4)
      default: return nil
      }
      if tag >> 3 == wanted, let value { found = value }
    }
    return found
  }
}
