import IMOTLP
import Testing

@testable import IMShip

/// A reader of Protocol Buffers' wire form that shares nothing with the writer: fields by number, as varints, words or bytes.
private indirect enum Wire: Equatable {
  case varint(UInt64), word(UInt64), bytes([UInt8])

  static func fields(_ bytes: [UInt8]) throws -> [(number: UInt64, value: Wire)] {
    var rest = bytes[...], fields: [(UInt64, Wire)] = []
    func varint() throws -> UInt64 {
      var (value, shift): (UInt64, UInt64) = (0, 0)
      while true {
        let first = rest.popFirst()
        let byte = try #require(first)
        value |= UInt64(byte & 0x7f) << shift
        if byte < 0x80 { return value }
        shift += 7
      }
    }
    while !rest.isEmpty {
      let tag = try varint()
      switch tag & 7 {
      case 0: fields.append((tag >> 3, .varint(try varint())))
      case 1:
        let word = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        fields.append((tag >> 3, .word(word)))
      case 2:
        let count = Int(try varint())
        try #require(count <= rest.count)
        fields.append((tag >> 3, .bytes(Array(rest.prefix(count)))))
        rest = rest.dropFirst(count)
      default: try #require(Bool(false), "wire type \(tag & 7)")
      }
    }
    return fields
  }

  /// The bytes at a path of field numbers, the last of each.
  static func at(_ path: [UInt64], _ bytes: [UInt8]) throws -> Wire {
    var value = Wire.bytes(bytes)
    for number in path {
      guard case .bytes(let bytes) = value else { throw Missing() }
      value = try #require(fields(bytes).last { $0.number == number }?.value)
    }
    return value
  }

  struct Missing: Error {}
}

struct OTLPRequestTests {
  private func request(_ text: String) -> OTLPRequest? {
    let bytes = Array(text.utf8)
    return OTLPRequest(bytes, 0..<bytes.count)
  }

  // Field numbers are those of opentelemetry-proto's .proto files, written down here by hand.
  @Test func aLogRecord() throws {
    let long = String(repeating: "x", count: 300)
    let found = try #require(
      request(
        """
        {"resourceLogs":[{"resource":{"attributes":[]},"scopeLogs":[{"scope":{"name":"imdump"},"logRecords":[\
        {"timeUnixNano":"1700000000000000001","severityNumber":17,"eventName":"a.b","body":{"stringValue":"\\u00e4\\n"},\
        "attributes":[{"key":"k","value":{"intValue":"-2"}},{"key":"l","value":{"stringValue":"\(long)"}}],\
        "traceId":"00ff00000000000000000000000000a1","spanId":"0102030405060708","unknown":{"x":[1]},"flags":null}]}]}]}
        """))
    #expect(found.signal == .logs)
    #expect(found.recordCount == 1)
    let record: [UInt64] = [1, 2, 2]
    #expect(try Wire.at(record + [1], found.body) == .word(1_700_000_000_000_000_001))
    #expect(try Wire.at(record + [2], found.body) == .varint(17))
    #expect(try Wire.at(record + [12], found.body) == .bytes(Array("a.b".utf8)))
    #expect(try Wire.at(record + [5, 1], found.body) == .bytes(Array("ä\n".utf8)))
    #expect(try Wire.at(record + [9], found.body) == .bytes([0, 0xff] + [UInt8](repeating: 0, count: 13) + [0xa1]))
    #expect(try Wire.at(record + [10], found.body) == .bytes([1, 2, 3, 4, 5, 6, 7, 8]))
    guard case .bytes(let bytes) = try Wire.at(record, found.body) else { throw Wire.Missing() }
    let attributes = try Wire.fields(bytes).filter { $0.number == 6 }.map(\.value)
    #expect(attributes.count == 2)
    guard case .bytes(let first) = attributes[0], case .bytes(let second) = attributes[1] else { throw Wire.Missing() }
    #expect(try Wire.at([2, 3], first) == .varint(UInt64(bitPattern: -2)))
    #expect(try Wire.at([2, 1], second) == .bytes(Array(long.utf8)))
  }

  @Test func anExponentialHistogram() throws {
    let found = try #require(
      request(
        """
        {"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","unit":"s","exponentialHistogram":{\
        "aggregationTemporality":1,"dataPoints":[{"count":"3","sum":0.25,"scale":3,"zeroCount":"1",\
        "zeroThreshold":0.000001,"positive":{"offset":-70,"bucketCounts":["1","0","300"]}}]}}]}]}]}
        """))
    #expect(found.signal == .metrics)
    #expect(found.recordCount == 1)
    let point: [UInt64] = [1, 2, 2, 10, 1]
    #expect(try Wire.at(point + [4], found.body) == .word(3))
    #expect(try Wire.at(point + [5], found.body) == .word((0.25).bitPattern))
    // ZigZag: 3 is 6, -70 is 139.
    #expect(try Wire.at(point + [6], found.body) == .varint(6))
    #expect(try Wire.at(point + [8, 1], found.body) == .varint(139))
    #expect(try Wire.at(point + [8, 2], found.body) == .bytes([1, 0, 0xac, 0x02]))
    #expect(try Wire.at([1, 2, 2, 10, 2], found.body) == .varint(1))
  }

  @Test(arguments: [
    "", "{}", "[]", "{\"resourceLogs\":1}", "{\"resourceLogs\":[{}]", "{\"resourceLogs\":[]} x",
    "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"0g\"}]}]}]}",
    "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"startTimeUnixNano\":\"99999999999999999999\"}]}]}]}",
    "{\"resourceLogs\":" + String(repeating: "[", count: 100_000),
  ])
  func whatIsNoRequest(_ text: String) { #expect(request(text) == nil) }

  @Test func requestsAreAppendedToEachOther() throws {
    func line(_ name: String) -> String {
      "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"eventName\":\"\(name)\"}]}]}]}"
    }
    var batch = ShipBatch(form: .otlp)
    var at: UInt64 = 0
    for text in [line("a.a"), "{\"resourceSpans\":[]}", line("b.b"), "nonsense"] {
      batch.add(Array(text.utf8)[...], file: 0, start: at, end: at + UInt64(text.utf8.count) + 1)
      at += UInt64(text.utf8.count) + 1
    }
    let request = batch.request(limit: 1 << 20)
    let logs = try #require(request)
    #expect(logs.signal == .logs)
    #expect(logs.records == 2)
    #expect(try Wire.fields(logs.body).count == 2)
    batch.storeSent()
    // The line that is no request waits for the one before it.
    #expect(batch.sentTo[0] == UInt64(line("a.a").utf8.count) + 1)
    let traces = batch.request(limit: 1 << 20)
    #expect(traces?.signal == .traces)
    batch.storeSent()
    let none = batch.request(limit: 1 << 20)
    #expect(none == nil)
    #expect(batch.isDone)
    #expect(batch.refused(after: { _ in 0 }).count == 1)
  }

  @Test func answers() {
    // partial_success { rejected_log_records: 300, error_message: "no" }
    #expect(OTLPAnswer([0x0a, 0x07, 0x08, 0xac, 0x02, 0x12, 0x02, 0x6e, 0x6f]).rejected == 300)
    #expect(OTLPAnswer([0x0a, 0x07, 0x08, 0xac, 0x02, 0x12, 0x02, 0x6e, 0x6f]).message == "no")
    #expect(OTLPAnswer([]).rejected == 0)
    #expect(OTLPAnswer([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).rejected == 0)
    let json = Array("{\"partialSuccess\":{\"rejectedSpans\":\"7\",\"errorMessage\":\"why\"}}".utf8)
    #expect(OTLPAnswer(json).rejected == 7)
    #expect(OTLPAnswer(json).message == "why")
  }
}
