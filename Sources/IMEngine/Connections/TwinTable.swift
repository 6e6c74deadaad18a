package import IMWire

/// A connection that was captured a second time, with other addresses or ports: after a NAT, or before it.
package struct TranslatedConnection: Sendable {
  /// The connection that is decoded, by its number in the run.
  package var serial: UInt32
  /// The ends of the other one, whose packets are counted as captured twice.
  package var client: Endpoint, server: Endpoint
}

/// The SYNs of the last moment, by which a connection is found that passes a NAT between two points of one capture.
///
/// A NAT changes addresses and ports, and leaves alone what the ends agree on: the first sequence numbers of both sides and the clock
/// in the SYN. Packets that it has forwarded have passed one hop more. All of that together is asked for, and that the two
/// packets came at nearly the same time: clients that merely say the same differ in it.
struct TwinTable: ~Copyable {
  /// A SYN, and the flow that it opened.
  private struct Entry {
    var initial: UInt32, clock: UInt32
    var window: UInt16
    var hops: UInt8
    var at: Timestamp
    var flow: UInt32, serial: UInt32
    /// The flow that the same SYN opened after the NAT; serial 0 is none.
    var twin: UInt32 = .max, twinSerial: UInt32 = 0
  }

  /// A flow and its serial number.
  typealias Place = (flow: UInt32, serial: UInt32)

  /// The longest time that a packet takes through a NAT.
  static var longestPassage: Nanoseconds { .milliseconds(20) }
  private static var count: Int { 1 << 10 }

  private let entries: UnsafeMutablePointer<Entry>
  /// The first ones that were found.
  private(set) var found: [TranslatedConnection] = []

  init() {
    entries = .allocate(capacity: Self.count)
    entries.initialize(
      repeating: Entry(
        initial: 0, clock: 0, window: 0, hops: 0, at: .distantPast, flow: .max, serial: 0),
      count: Self.count)
  }

  deinit { entries.deallocate() }

  private func entry(_ initial: UInt32) -> UnsafeMutablePointer<Entry> {
    entries + Int((initial &* GoldenRatio.of32Bits) >> 22)
  }

  /// Takes note of a SYN that opened a flow; whether it seems to be one that was captured before it was translated.
  func note(_ segment: UnsafePointer<Segment>, clock: UInt32, hops: UInt8, _ place: Place) -> Bool {
    let entry = entry(segment.pointee.sequence)
    let age = segment.pointee.timestamp.time(since: entry.pointee.at)
    if entry.pointee.serial != 0, entry.pointee.twinSerial == 0, entry.pointee.flow != place.flow,
      entry.pointee.initial == segment.pointee.sequence, entry.pointee.clock == clock,
      entry.pointee.window == segment.pointee.window, entry.pointee.hops != hops,
      age >= .zero, age < Self.longestPassage
    {
      entry.pointee.twin = place.flow
      entry.pointee.twinSerial = place.serial
      return true
    }
    entry.pointee = Entry(
      initial: segment.pointee.sequence, clock: clock, window: segment.pointee.window, hops: hops,
      at: segment.pointee.timestamp, flow: place.flow, serial: place.serial)
    return false
  }

  /// The two flows that the SYN with the number `initial` seems to have opened, where one of them is `flow`.
  func pair(_ initial: UInt32, of flow: UInt32) -> (first: Place, second: Place)? {
    let entry = entry(initial).pointee
    guard entry.twinSerial != 0, entry.initial == initial, entry.flow == flow || entry.twin == flow else { return nil }
    return ((entry.flow, entry.serial), (entry.twin, entry.twinSerial))
  }

  /// Takes note of a connection that was found, if there are not too many.
  mutating func add(_ connection: TranslatedConnection) { if found.count < 16 { found.append(connection) } }
}

extension Segment {
  /// The hop limit of its packet; `nil` where its IP header has options or extensions. `bytes` is the packet.
  func hopLimit(_ bytes: borrowing Bytes) -> UInt8? {
    let header = options.lowerBound - 20
    if key.isIPv6 {
      return header >= 40 && bytes.u8(header - 40) >> 4 == 6 ? bytes.u8(header - 33) : nil
    }
    return header >= 20 && bytes.u8(header - 20) == 0x45 ? bytes.u8(header - 12) : nil
  }
}
