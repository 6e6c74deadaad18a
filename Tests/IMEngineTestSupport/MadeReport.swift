package import IMEngine
import IMTestSupport
package import IMWire

/// Connection reports as the engine makes them; a test changes the values that it is about.
package enum MadeReport {
  /// The client of every report.
  package static let client = Endpoint(address: IPAddress(v4: 0x0a00_0007), port: 40_001)
  /// The server of every report.
  package static let server = Endpoint(address: IPAddress(v4: 0xc000_0209), port: 8_080)

  /// Keeps the last report.
  private final class Sink: EngineSink {
    var report: ConnectionReport?
    func connection(_ report: ConnectionReport) { self.report = report }
  }

  /// The last report of a connection with one answered `tjp` message, with all counters of the engine set to zero: packets, segments,
  /// frames and messages. Both ends closed it.
  package static func decoded(serial: UInt32 = 1) -> ConnectionReport {
    var report = made(TJPFrameBuilder(text: "hello", sequence: 1).bytes, TJPFrameBuilder.echoACK(of: 1).bytes)
    report.info.serial = serial
    clear(&report)
    if var figures = report.figures {
      (figures.frames, figures.frameBytes) = ([0, 0], [0, 0])
      (figures.checksums, figures.lastFrameAt) = ([0, 0, 0, 0, 0], .distantPast)
      report.figures = figures
    }
    return report
  }

  /// The last report of a connection with bytes that no profile decodes, with the same counters set to zero.
  package static func undecoded(serial: UInt32 = 1) -> ConnectionReport {
    var report = made(Array("GET / HTTP/1.0\r\n\r\n".utf8), Array("HTTP/1.0 200 OK\r\n\r\n".utf8))
    report.info.serial = serial
    clear(&report)
    return report
  }

  private static func clear(_ report: inout ConnectionReport) {
    (report.reason, report.isFinal) = (.fin, true)
    (report.packets, report.wireBytes, report.streamBytes) = ([0, 0], [0, 0], [0, 0])
    report.segments = [SegmentMetrics(), SegmentMetrics()]
    report.rare = RareMetrics()
    (report.serverHandshake, report.clientHandshake) = (nil, nil)
  }

  private static func made(_ request: [UInt8], _ answer: [UInt8]) -> ConnectionReport {
    var talk = ConversationBuilder(client: client, server: server)
    talk.open(at: Timestamp(milliseconds: 1_000))
    talk.send(request, .clientToServer, at: Timestamp(milliseconds: 1_010))
    talk.send(answer, .serverToClient, at: Timestamp(milliseconds: 1_020))
    talk.close(.fin(by: .clientToServer), at: Timestamp(milliseconds: 1_030))
    var options = EngineOptions(plans: [MadePlan.tjp()])
    options.needs = [.connections]
    let sink = Sink()
    var engine = Engine(options: options, sink: sink)
    let batch = CaptureBuilder(talk).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    guard let report = sink.report else { preconditionFailure("the engine reports on every connection") }
    return report
  }
}

extension ConnectionReport {
  /// The last report of an undecoded connection of `info` from `begin` to `end`, with three packets of the client and two of the server.
  package static func undecoded(
    _ info: ConnectionInfo, _ reason: CloseReason, from begin: Timestamp, to end: Timestamp
  ) -> ConnectionReport {
    var report = MadeReport.undecoded()
    (report.info, report.reason, report.phase) = (info, reason, reason == .open ? .established : .closed)
    (report.firstSeen, report.establishedAt, report.lastSeen, report.madeAt) = (begin, begin, end, end)
    report.closedAt = reason == .open ? nil : end
    (report.packets, report.wireBytes) = ([3, 2], [300, 200])
    return report
  }
}
