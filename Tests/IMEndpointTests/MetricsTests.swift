import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// What endpoints count.
@Suite struct MetricsTests {
  /// Every stored count is added: one that is left out of the list would be missing from the sum of a load's clients.
  @Test func nothingIsLeftOutOfASum() {
    let names = Mirror(reflecting: EndpointMetrics()).children.filter { $0.value is UInt64 }.compactMap(\.label)
    #expect(names.count == EndpointMetrics.counts.count)
    var one = EndpointMetrics()
    for (index, count) in EndpointMetrics.counts.enumerated() { one[keyPath: count] = UInt64(index + 1) }
    one.framesByKind = [1, 2, 3, 4, 5, 6]
    (one.roundTrip, one.heartbeatRoundTrip, one.heartbeatInterval) = (7, 8, 9)
    var sum = EndpointMetrics()
    sum.add(one)
    #expect(sum == one)
    sum.add(one)
    for count in EndpointMetrics.counts { #expect(sum[keyPath: count] == 2 * one[keyPath: count]) }
    #expect(sum.framesByKind == [2, 4, 6, 8, 10, 12])
  }
}
