import IMCapture
import IMEngine
import IMFilter
package import IMSystem
package import IMWire

/// The time between two moments, both included.
package struct TimeRange {
  /// Its first and its last time.
  package var from = Timestamp.distantPast, to = Timestamp.distantFuture

  /// Whether `time` is in it.
  package func contains(_ time: Timestamp) -> Bool { time >= from && time <= to }
}

/// Reads the values of `--from` and `--to`; `nil` where neither is given.
///
/// A time of day is on the day on which the capture begins, or on the next one if it would otherwise precede the capture. A time to the second means
/// all of that second. A time such as `+8.900`, as in a ladder, counts from the first packet of the only one of `connections`.
package func readRange(_ run: Run, from: String?, to: String?, of connections: [UInt32]) throws(UsageError)
  -> TimeRange?
{
  guard from != nil || to != nil else { return nil }
  let reader = MomentReader(run, connection: connections.count == 1 ? connections[0] : nil)
  var range = TimeRange()
  if let from { range.from = try reader.moment(from, "--from") }
  if let to { range.to = lastNanosecond(of: try reader.moment(to, "--to"), readFrom: to) }
  guard range.from <= range.to else { throw UsageError(message: "--from is later than --to") }
  return range
}

/// Reads moments of a capture. It reads the capture for what they count from, once.
private final class MomentReader {
  private let run: Run
  private let connection: UInt32?
  private lazy var firstPacket: Timestamp? = run.isLive ? .wallClock : run.firstPacketTime()
  private var firstOfConnection: Timestamp??

  init(_ run: Run, connection: UInt32?) { (self.run, self.connection) = (run, connection) }

  func moment(_ text: String, _ option: String) throws(UsageError) -> Timestamp {
    if text.first == "+", let time = readMoment(String(text.dropFirst()), zone: .utc), time.seconds >= 0 {
      return try begin(for: text).advanced(by: time.nanoseconds)
    }
    if let time = readMoment(text, zone: .local) {
      guard time.seconds < 315_532_800, !text.contains(":") else { return time }
      throw UsageError(
        message: "\(option) '\(text)' is \(time.seconds < 0 ? "before 1970" : "in the 1970s"); "
          + "for a time since a connection's first packet, use --conn with +\(text)")
    }
    if text.utf8.dropFirst(2).first == UInt8(ascii: ":"), let firstPacket,
      let time = readTimeOfDay(text, near: firstPacket, zone: .local)
    {
      return time
    }
    throw UsageError(
      message:
        "\(option) '\(text)': expected a time, such as '2026-11-21 00:11:46', 00:11:46 or seconds since 1970")
  }

  /// When the first packet of the connection came, from which `text` counts; that of the capture where it has no such connection.
  private func begin(for text: String) throws(UsageError) -> Timestamp {
    if let known = firstOfConnection { return known ?? .distantPast }
    guard let connection else {
      throw UsageError(message: "'\(text)' counts from the first packet of a connection: name it with --conn")
    }
    guard !run.isLive else {
      throw UsageError(message: "'\(text)' counts from the first packet of a connection in a file")
    }
    if let once = run.input.readOnce {
      throw UsageError(message: "'\(text)' needs the capture to be read twice; give a file, not \(once)")
    }
    let sink = FirstPacketSink(connection)
    let again = run.again(over: run.input)
    _ = again.lead(again.driver(again.engine(FirstPacketSink.needs, sink: sink)), hidesProgress: true)
    firstOfConnection = .some(sink.time)
    return sink.time ?? .distantPast
  }
}

/// Finds when the first packet of a connection came.
private final class FirstPacketSink: EngineSink {
  static let needs: EngineOptions.Needs = [.connections]
  private let connection: UInt32
  private(set) var time: Timestamp?

  init(_ connection: UInt32) { self.connection = connection }

  func connection(_ report: ConnectionReport) {
    if report.info.serial == connection { time = report.firstSeen }
  }
}
