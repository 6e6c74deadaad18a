import Glibc
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What it costs to decode bytes is bounded by how many there are, whoever made them.
///
/// Compared with ordinary traffic that is decoded in the same process, by the thread's own time. What has no bound is
/// hundreds or thousands of times as dear at these sizes.
@Suite struct WorkTests {
  /// Discards what it hears.
  private final class Deaf: EngineSink {}

  /// Nanoseconds of this thread a byte of `traffic`, and whether the ledger adds up.
  private static func cost(_ traffic: AdversarialTraffic, _ byteCount: Int) -> (perByte: Double, isSound: Bool) {
    var packets: [TimedPacket] = []
    traffic.write(byteCount) { packets.append(TimedPacket(timestamp: $0, bytes: $1)) }
    let batch = CaptureBuilder(packets).batch()
    var options = EngineOptions(plans: Plans.both)
    options.verifiesChecksums = false
    var engine = Engine(options: options, sink: Deaf())
    let begun = now()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    let spent = now() - begun
    let (ledger, counters) = (engine.totals, engine.reassembly)
    let used =
      ledger.decodedBytes + ledger.damagedBytes + ledger.strayBytes + ledger.unreadBytes + counters.repeatedBytes
      + counters.ignoredBytes
    return (Double(spent) / Double(batch.bytes.count), counters.payloadBytes == used && engine.heldBytes == 0)
  }

  private static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// What a byte of ordinary traffic costs.
  private static let ordinary = cost(.ordinary, 1_000_000).perByte

  @Test(arguments: AdversarialTraffic.allCases) func isBounded(_ traffic: AdversarialTraffic) {
    // The longest frames, and what is held for them, want room.
    let (cost, isSound) = Self.cost(
      traffic, traffic == .nestedFrames ? 6_000_000 : LongRun.times(750_000, of: 1_500_000))
    #expect(isSound)
    #expect(cost < 120 * Self.ordinary, "\(traffic): \(cost / Self.ordinary) times the ordinary cost of a byte")
  }
}
