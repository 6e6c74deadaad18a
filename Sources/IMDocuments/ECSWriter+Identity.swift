import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// IDs of connections and of their events.
///
/// | document | `event.id` | where |
/// |---|---|---|
/// | message | `UID-0-1234`, `UID-0-1234-late` | in the stream of the end 0 |
/// | weird | `UID-0-1234-gap`, `UID-0-1234-ignored_reset-TIME` | the same |
/// | connection | `UID-r-TIME`, `UID-open-TIME`, `UID-evicted-TIME`, `UID-end` | |
///
/// A further event at the same place has `.1` at its end. IDs of other documents begin with `runPrefix`.
extension ECSWriter {
  /// Writes the connection's ID in the run, from which tools read its number: `RUN-7`.
  func connectionID(_ serial: UInt32, _ out: inout ByteWriter) {
    out.raw(run.bytes)
    out.byte(UInt8(ascii: "-"))
    out.number(serial)
  }

  /// Writes `imdump.conn.id`, including quotes.
  func connectionID(_ serial: UInt32, _ lines: inout JSONLines) {
    lines.writer.byte(UInt8(ascii: "\""))
    connectionID(serial, &lines.writer)
    lines.writer.byte(UInt8(ascii: "\""))
  }

  /// Writes `id` and `uid` of `imdump.conn`, if they are known.
  func connectionIDs(_ serial: UInt32, _ uid: ConnectionUID.Text?, _ lines: inout JSONLines) {
    if serial > 0 {
      lines.key("id")
      connectionID(serial, &lines)
    }
    if let uid {
      lines.key("uid")
      lines.writer.byte(UInt8(ascii: "\""))
      lines.writer.bytes(uid)
      lines.writer.byte(UInt8(ascii: "\""))
    }
  }

  /// Writes the prefix of the IDs of all events of a connection: its UID, or its ID in the run if no packet of it is known.
  func eventPrefix(_ record: ConnectionRegistry.Record, _ out: inout ByteWriter) {
    if let uid = record.pointee.uid() {
      out.bytes(uid)
    } else {
      connectionID(record.pointee.info.serial, &out)
    }
  }

  /// Writes that prefix and the endpoint that sends in `direction`, `UID-0-`. 0 is the lesser address and port, since the choice of the client may be
  /// a guess that another run does not share.
  func streamPrefix(_ record: ConnectionRegistry.Record, _ direction: Direction, _ out: inout ByteWriter) {
    eventPrefix(record, &out)
    let info = record.pointee.info
    let isLesser = CommunityID.isOrdered(info.peer, info.server) == (direction == .clientToServer)
    out.literal(isLesser ? "-0-" : "-1-")
  }

  /// Writes `event.id` of an issue: `UID-0-1234-gap`, with its stream offset, its time if the stream may not have advanced, and its number if all of
  /// that equals the previous issue's.
  func eventID(
    _ issue: Issue, _ admission: WeirdLimiter.Admission, _ record: ConnectionRegistry.Record, _ out: inout ByteWriter
  ) {
    streamPrefix(record, issue.direction, &out)
    out.number(issue.streamOffset)
    out.byte(UInt8(ascii: "-"))
    out.text(issue.kind.name)
    if issue.isKnownByTime {
      out.byte(UInt8(ascii: "-"))
      out.number(issue.timestamp.microseconds)
    }
    guard admission.repetition > 0 else { return }
    out.byte(UInt8(ascii: "."))
    out.number(admission.repetition)
  }

  /// Writes `event.id` of a connection's report: `UID-end` for the last one; `UID-open-TIME` if the capture ended before the connection, and
  /// `UID-evicted-TIME` if this run evicted it, with the time of its last packet; `UID-r-TIME` while it is open, with the time at which the report
  /// was due. Times are in microseconds.
  func eventID(_ report: ConnectionReport, _ record: ConnectionRegistry.Record, _ out: inout ByteWriter) {
    eventPrefix(record, &out)
    if !report.isFinal {
      out.literal("-r-")
      out.number(report.madeAt.microseconds)
    } else if report.reason == .open || report.reason == .evicted {
      out.literal(report.reason == .open ? "-open-" : "-evicted-")
      out.number(report.end.microseconds)
    } else {
      out.literal("-end")
    }
  }

  /// Writes `event.id`, with `id` writing its value.
  @inline(__always)
  func eventID(_ lines: inout JSONLines, _ id: (inout ByteWriter) -> Void) {
    lines.key("id")
    lines.writer.byte(UInt8(ascii: "\""))
    id(&lines.writer)
    lines.writer.byte(UInt8(ascii: "\""))
  }
}
