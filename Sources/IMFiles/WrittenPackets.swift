import IMCapture
package import IMRun
import IMWire

/// Where the packets of a batch stand in the capture files that a run writes with `-w`: so that a store says where the bytes of messages
/// are.
package final class WrittenPackets {
  /// The packets of the batch, in its order.
  package private(set) var packets: [BatchPlaces.Packet] = []
  /// The number of the file that is written, from 1; 0 before the first.
  package private(set) var number: UInt32 = 0
  private var begun: [(number: UInt32, path: String)] = []

  /// Nothing is written yet.
  package init() {}

  /// A batch begins.
  package func clear() { packets.removeAll(keepingCapacity: true) }

  /// A file begins. One that had its path before is there no more.
  func begin(_ path: String) {
    number += 1
    begun.append((number, path))
  }

  /// A packet of the batch was written, whose bytes begin at `offset` of the file.
  func add(_ record: PacketRecord, at offset: UInt64) {
    let first = Int(record.offset)
    packets.append(
      BatchPlaces.Packet(first: first, end: first + Int(record.capturedLength), offset: offset, capture: number - 1))
  }

  /// The files that were begun since the last call.
  package func takeBegun() -> [(number: UInt32, path: String)] {
    defer { begun = [] }
    return begun
  }
}
