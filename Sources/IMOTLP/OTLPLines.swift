package import IMOutput

/// Lines of OTLP JSON on their way out: an export request of one signal a line, with up to 512 records, as OpenTelemetry's file
/// exporter writes them.
package final class OTLPLines {
  /// The most records, and bytes at which no further one is added, of one line.
  package static let maximumRecords = 512, maximumBytes = 1 << 20

  private struct Buffer: ~Copyable {
    var out = ByteWriter()
    var records = 0
  }

  /// By signal.
  // SAFETY: initialized by `init` for every signal, deinitialized by `deinit`, and never handed out.
  private let buffers: UnsafeMutablePointer<Buffer>
  private let heads: [Piece]
  private let tail = Piece("]}]}]}\n")
  private let handOn: (OTLPSignal, UnsafeRawBufferPointer) -> Void

  /// Lines of `resource`, a list of attributes as JSON without its brackets. `scope` gives what follows the scope's name and
  /// version. Each whole line is given to `handOn`, and its bytes are borrowed for the call.
  package init(
    resource: String, version: String, schema: String, scope: (OTLPSignal) -> String,
    handOn: @escaping (OTLPSignal, UnsafeRawBufferPointer) -> Void
  ) {
    let count = OTLPSignal.allCases.count
    buffers = .allocate(capacity: count)
    for place in 0..<count { (buffers + place).initialize(to: Buffer()) }
    heads = OTLPSignal.allCases.map { signal in
      let (resources, scopes, records) = signal.lists
      return Piece(
        "{\"\(resources)\":[{\"resource\":{\"attributes\":[\(resource)]},\"schemaUrl\":\"\(schema)\",\"\(scopes)\":["
          + "{\"scope\":{\"name\":\"imdump\",\"version\":\"\(version)\"\(scope(signal))},\"schemaUrl\":\"\(schema)\","
          + "\"\(records)\":[")
    }
    self.handOn = handOn
  }

  deinit {
    buffers.deinitialize(count: OTLPSignal.allCases.count)
    buffers.deallocate()
  }

  /// Lets `body` write one record, an object of JSON.
  @inline(__always)
  package func write(_ signal: OTLPSignal, _ body: (inout ByteWriter) -> Void) {
    let buffer = buffers + signal.rawValue
    if buffer.pointee.records == 0 {
      buffer.pointee.out.raw(heads[signal.rawValue].bytes)
    } else {
      buffer.pointee.out.byte(UInt8(ascii: ","))
    }
    body(&buffer.pointee.out)
    buffer.pointee.records += 1
    if buffer.pointee.records >= Self.maximumRecords || buffer.pointee.out.count >= Self.maximumBytes { end(signal) }
  }

  /// Ends every line that has records, and hands it on.
  package func flush() {
    for signal in OTLPSignal.allCases { end(signal) }
  }

  private func end(_ signal: OTLPSignal) {
    let buffer = buffers + signal.rawValue
    guard buffer.pointee.records > 0 else { return }
    buffer.pointee.out.raw(tail.bytes)
    buffer.pointee.out.withBytes { handOn(signal, $0) }
    buffer.pointee.out.removeAll()
    buffer.pointee.records = 0
  }
}
