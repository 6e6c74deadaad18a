import IMEndpoint
import Testing

@Suite struct MomentTests {
  @Test func differencesSaturate() {
    let early = Instant(nanoseconds: .min)
    #expect(Instant.distantFuture.nanoseconds(since: early) == .max)
    #expect(early.nanoseconds(since: .distantFuture) == .min)
    #expect(Instant.distantFuture.advanced(by: .seconds(1)) == .distantFuture)
    #expect(Instant.seconds(1.5).nanoseconds(since: .seconds(1)) == 500_000_000)
  }

  @Test func durationsBecomeNanoseconds() {
    #expect(Duration.milliseconds(1_500).wholeNanoseconds == 1_500_000_000)
    #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
    #expect(Duration.seconds(-2).wholeNanoseconds == -2_000_000_000)
  }
}
