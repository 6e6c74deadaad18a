import CMachine
import IMEngine

/// The records of connections that live, and of some that were over lately, by serial number.
///
/// They are handed out by their place in memory, which is theirs until `finish` or another new record forgets them: a message
/// costs no counting of references.
struct ConnectionRegistry: ~Copyable {
  /// A record where it stands.
  typealias Record = UnsafeMutablePointer<ConnectionRecord>

  /// At most so many at once. Then the older half is forgotten: what still comes of those begins anew.
  private static let maximumCount = 1 << 18
  /// Records kept after their last report: late answers may still come.
  private static let maximumFinished = 8_192

  private struct Place {
    var serial: UInt32 = 0
    var record: Record?
  }

  /// A table with open addressing: a record stands at its serial number's place, or behind it where that was taken.
  private var places: UnsafeMutablePointer<Place>
  private var bits: UInt32 = 6
  /// Connections known.
  private(set) var count = 0
  private var finished: [UInt32] = []
  private var last: Record?

  init() {
    places = .allocate(capacity: 1 << 6)
    places.initialize(repeating: Place(), count: 1 << 6)
  }

  deinit {
    for i in 0..<1 << Int(bits) {
      places[i].record?.deinitialize(count: 1)
      places[i].record?.deallocate()
    }
    places.deallocate()
  }

  /// The record of a connection, made when it is new.
  @inline(__always)
  mutating func record(_ info: ConnectionInfo) -> Record {
    if let last, last.pointee.info.serial == info.serial {
      if last.pointee.info.plan != info.plan { last.pointee.inform(info) }
      return last
    }
    return lookUp(info)
  }

  /// The record with a serial number, if there is one.
  @inline(__always)
  func record(serial: UInt32) -> Record? { places[place(of: serial)].record }

  /// Asks for a record.
  @inline(__always)
  func prefetch(serial: UInt32) {
    if let record = record(serial: serial) { Self.prefetch(record) }
  }

  @inline(__always)
  private static func prefetch(_ record: Record) {
    let start = UnsafeRawPointer(record)
    for line in 0..<5 { imdump_prefetch(start + 64 &* line) }
  }

  /// Takes note that a connection's last report is out.
  mutating func finish(_ record: Record) {
    record.pointee.isFinal = true
    finished.append(record.pointee.info.serial)
    guard finished.count >= 2 * Self.maximumFinished else { return }
    let kept = record.pointee.info.serial
    for serial in finished[..<Self.maximumFinished] where serial != kept { forget(serial) }
    finished.removeFirst(Self.maximumFinished)
    last = nil
  }

  @inline(never)
  private mutating func lookUp(_ info: ConnectionInfo) -> Record {
    if let known = record(serial: info.serial) {
      Self.prefetch(known)
      known.pointee.inform(info)
      last = known
      return known
    }
    if count >= Self.maximumCount { forgetHalf() }
    if count << 1 >= 1 << Int(bits) { grow() }
    let new = Record.allocate(capacity: 1)
    new.initialize(to: ConnectionRecord(info))
    places[place(of: info.serial)] = Place(serial: info.serial, record: new)
    count += 1
    last = new
    return new
  }

  // MARK: The table

  /// Where the number's search begins. Serial numbers count up: multiplied so, neighbours lie apart.
  @inline(__always)
  private func home(_ serial: UInt32) -> Int { Int((serial &* 0x9e37_79b1) &>> (32 &- bits)) }

  /// Where a record stands, or would.
  @inline(__always)
  private func place(of serial: UInt32) -> Int {
    var place = home(serial)
    while places[place].record != nil, places[place].serial != serial { place = (place &+ 1) & (1 &<< Int(bits) &- 1) }
    return place
  }

  private mutating func grow() {
    let (old, oldCount) = (places, 1 << Int(bits))
    bits += 1
    places = .allocate(capacity: 1 << Int(bits))
    places.initialize(repeating: Place(), count: 1 << Int(bits))
    for i in 0..<oldCount where old[i].record != nil { places[place(of: old[i].serial)] = old[i] }
    old.deallocate()
  }

  private mutating func forgetHalf() {
    var serials: [UInt32] = []
    for i in 0..<1 << Int(bits) where places[i].record != nil { serials.append(places[i].serial) }
    serials.sort()
    for serial in serials.prefix(Self.maximumCount / 2) { forget(serial) }
  }

  private mutating func forget(_ serial: UInt32) {
    var hole = place(of: serial)
    guard let record = places[hole].record else { return }
    record.deinitialize(count: 1)
    record.deallocate()
    count -= 1
    // What stands behind it moves up, where that brings it no further than its home.
    let mask = 1 << Int(bits) - 1
    var next = (hole + 1) & mask
    while places[next].record != nil {
      if (next - home(places[next].serial)) & mask >= (next - hole) & mask {
        places[hole] = places[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    places[hole] = Place()
  }
}
