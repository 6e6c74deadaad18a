import Foundation
import IMTestSupport
import Testing

@testable import impeer

/// Clients that write to one another and are killed: both ends of every message agree, and a difference is noticed.
@Suite struct RingTests {
  @Test(.enabled(if: loopbackIsUp)) func bothEndsAgreeThroughKills() throws {
    let result = try Peer.withServer([]) { port in
      try Peer.run([
        "load", "--port", port, "--ring", "--connections", "3", "--rate", "60", "--kill-rate", "4", "--duration", "3",
        "--drain", "60", "--json", "-q",
      ])
    }
    #expect(result.errors == "" && result.status == 0)
    let summary = try #require(JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    let ring = try #require(summary["ring"] as? [String: Int])
    let sent = try #require(summary["sent"] as? Int)
    #expect(sent > 100 && summary["delivered"] as? Int == sent && ring["arrived"] == sent)
    for name in ["lost", "duplicates_by_device", "out_of_order", "delivered_early", "failed_and_arrived", "strange"] {
      #expect(ring[name] == 0, "\(name)")
    }
    let kills = try (#require(summary["connection_kills"] as? Int), #require(summary["process_kills"] as? Int))
    #expect(kills.0 >= 3 && kills.1 >= 3 && abs(kills.0 - kills.1) <= 1)
  }

  /// A server that only acknowledges hands nothing on: every message was accepted, and is lost.
  @Test(.enabled(if: loopbackIsUp)) func whatDoesNotArriveIsLost() throws {
    let result = try Peer.withServer(["--sink"]) { port in
      try Peer.run([
        "load", "--port", port, "--ring", "--connections", "2", "--rate", "20", "--duration", "1", "--drain", "0.5",
        "--json", "-q",
      ])
    }
    #expect(result.status == 1)
    let summary = try #require(JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    let ring = try #require(summary["ring"] as? [String: Int])
    let sent = try #require(summary["sent"] as? Int)
    #expect(sent > 10 && ring["arrived"] == 0 && ring["lost"] == sent && summary["delivered"] as? Int == sent)
  }

  @Test func arrivalsAreCounted() {
    var arrivals = RingArrivals()
    for (number, lane, isLate) in [(0, 0, false), (2, 0, false), (1, 6, false), (1, 0, true), (3, 0, false)] {
      arrivals.add(UInt64(number), lane: UInt8(lane), isLate: isLate)
    }
    // Number 1 came in another lane first, where it is in order; the second copy is a duplicate.
    #expect(arrivals.count == 4 && arrivals.duplicates == 1 && arrivals.disordered == 0 && arrivals.late == 0)
    arrivals.add(6, lane: 0, isLate: false)
    arrivals.add(4, lane: 0, isLate: false)
    arrivals.add(5, lane: 0, isLate: true)
    arrivals.add(1 << 40, lane: 0, isLate: false)
    #expect(arrivals.disordered == 1 && arrivals.late == 1 && arrivals.strange == 1)
    #expect(arrivals.has(6) && !arrivals.has(7) && !arrivals.has(1 << 40))
  }
}
