/// How often each event happened.
package struct StreamAnalysis: Equatable, Sendable {
  private var counts = [UInt64](repeating: 0, count: StreamEvent.allCases.count)

  /// Nothing happened yet.
  package init() {}

  /// The count of one event.
  package internal(set) subscript(event: StreamEvent) -> UInt64 {
    get { counts[event.rawValue] }
    set { counts[event.rawValue] = newValue }
  }

  /// The sums of two.
  package static func + (a: StreamAnalysis, b: StreamAnalysis) -> StreamAnalysis {
    var sum = a
    for event in StreamEvent.allCases { sum[event] += b[event] }
    return sum
  }
}
