import IMWire
import Testing

@Suite struct NanosecondsTests {
  @Test func areWhatDurationsAre() {
    #expect(Nanoseconds.seconds(6) == Nanoseconds(.seconds(6)))
    #expect(Nanoseconds.milliseconds(20) == Nanoseconds(.milliseconds(20)))
    #expect(Nanoseconds.microseconds(-3) == Nanoseconds(.microseconds(-3)))
    #expect(Nanoseconds.milliseconds(1_999) + .milliseconds(1) == 2 * .seconds(1))
    #expect(Nanoseconds.seconds(-1) < .zero && Nanoseconds.milliseconds(999) < .seconds(1))
    #expect(Nanoseconds(2_999_999).milliseconds == 2 && Nanoseconds(-1_999).microseconds == -1)
    #expect(MemoryLayout<Nanoseconds>.size == 8)
  }

  @Test("what moments are apart, and where they are moved to, stays among them")
  func saturates() {
    let (past, future) = (Timestamp.distantPast, Timestamp.distantFuture)
    #expect(future.time(since: past) == Nanoseconds(.max))
    #expect(past.time(since: future) == Nanoseconds(.min))
    #expect(future.advanced(by: .seconds(60) as Nanoseconds) == future)
    #expect(past.advanced(by: .seconds(-60) as Nanoseconds) == past)
    let moment = Timestamp(seconds: 1_760_000_000, fraction: 5)
    #expect(moment.advanced(by: .milliseconds(100) as Nanoseconds).time(since: moment) == .milliseconds(100))
  }
}
