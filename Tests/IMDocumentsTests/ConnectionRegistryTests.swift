@testable import IMEngine
import IMWire
import Testing

@testable import IMDocuments

/// Records of connections against a dictionary.
@Suite struct ConnectionBookTests {
  private func info(_ serial: UInt32) -> ConnectionInfo {
    let end = Endpoint(address: IPAddress(v4: 1), port: 1)
    return ConnectionInfo(
      serial: serial, client: end, peer: end, server: end, plan: 0, endpoint: .max)
  }

  @Test func recordsAreFoundUntilTheyAreForgotten() {
    var book = ConnectionRegistry()
    var known: [UInt32: UInt64] = [:]
    var finished: [UInt32] = []
    var state: UInt64 = 7
    for turn in 0..<120_000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let serial = UInt32(turn / 3 + Int(state >> 33) % 40_000)
      let record = book.record(info(serial))
      #expect(record.pointee.info.serial == serial)
      #expect(record.pointee.keepAlive == known[serial] ?? 0)
      known[serial] = state
      record.pointee.keepAlive = state
      if turn % 2 == 0, !record.pointee.isFinal {
        book.finish(record)
        finished.append(serial)
        if finished.count == 16_384 {
          for old in finished[..<8_192] { known[old] = nil }
          finished.removeFirst(8_192)
        }
      }
      #expect(book.count == known.count)
    }
    for serial in 0..<UInt32(80_000) {
      #expect(book.record(serial: serial)?.pointee.keepAlive == known[serial])
    }
  }
}
