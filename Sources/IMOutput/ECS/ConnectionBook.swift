import IMEngine

/// The records of connections that live, and of some that were over lately, by serial number.
struct ConnectionBook {
  /// At most so many at once. Then the older half is forgotten: what still comes of those begins anew.
  private static let maximumCount = 1 << 18
  /// Records kept after their last report: late answers may still come.
  private static let maximumFinished = 8_192

  private var records: [UInt32: ConnectionRecord] = [:]
  private var finished: [UInt32] = []
  private var last: ConnectionRecord?

  /// Connections known.
  var count: Int { records.count }

  /// The record of a connection, made when it is new.
  @inline(__always)
  mutating func record(_ info: ConnectionInfo) -> ConnectionRecord {
    if let last, last.info.serial == info.serial {
      if last.info.plan != info.plan { last.info = info }
      return last
    }
    return lookUp(info)
  }

  /// The record with a serial number, if there is one.
  func record(serial: UInt32) -> ConnectionRecord? {
    if let last, last.info.serial == serial { return last }
    return records[serial]
  }

  /// Takes note that a connection's last report is out.
  mutating func finish(_ record: ConnectionRecord) {
    record.isFinal = true
    finished.append(record.info.serial)
    guard finished.count >= 2 * Self.maximumFinished else { return }
    for serial in finished[..<Self.maximumFinished] { records[serial] = nil }
    finished.removeFirst(Self.maximumFinished)
    last = nil
  }

  @inline(never)
  private mutating func lookUp(_ info: ConnectionInfo) -> ConnectionRecord {
    if let known = records[info.serial] {
      known.info = info
      last = known
      return known
    }
    if records.count >= Self.maximumCount {
      for serial in records.keys.sorted().prefix(Self.maximumCount / 2) { records[serial] = nil }
    }
    let new = ConnectionRecord(info)
    records[info.serial] = new
    last = new
    return new
  }
}
