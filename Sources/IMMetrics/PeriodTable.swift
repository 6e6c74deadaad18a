package import IMEngine
package import IMWire

/// The figures of the running period, by endpoint.
///
/// Only endpoints at which something happened cost anything when a period ends.
package struct PeriodTable: ~Copyable {
  /// Memory of its own and no array: an accessor of another module costs an allocation at every use.
  private var metrics: UnsafeMutablePointer<PeriodMetrics>
  private var capacity = 8
  private var count = 0
  private var isTouched: [Bool] = []
  private var touched: [UInt32] = []
  private var number: UInt32 = 0
  /// The periods in which exchanges were closed without an answer, by `Exchange.id`: an answer may still come.
  private var closedIn: [UInt32: UInt32] = [:]

  /// At most so many exchanges without an answer are remembered. Beyond, late answers count as an earlier period's.
  private static let maximumClosed = 65_536

  /// Nothing counted yet.
  package init() { metrics = .allocate(capacity: capacity) }

  deinit {
    metrics.deinitialize(count: count)
    metrics.deallocate()
  }

  /// The figures of the endpoint with an index of `ServerRegistry`, for a change that follows at once: it is part of the period
  /// from now on. The next call may move them.
  package mutating func at(_ endpoint: UInt32) -> UnsafeMutablePointer<PeriodMetrics> {
    touch(endpoint)
    return metrics + Int(endpoint)
  }

  /// Counts the exchange with the number `id`, whose fate was decided. `role` is that of its type, and `roundTrip` its own.
  package mutating func resolved(
    _ resolution: Resolution, id: UInt32, role: FrameRole, endpoint: UInt32, roundTrip: Nanoseconds?
  ) {
    let elsewhere = resolution.isPlain ? false : isElsewhere(resolution, id)
    at(endpoint).pointee.resolved(
      resolution, role: role, elsewhere: elsewhere, roundTrip: roundTrip)
  }

  /// Whether an earlier period has counted the exchange. Takes note of one that was closed without an answer.
  @inline(never)
  private mutating func isElsewhere(_ resolution: Resolution, _ id: UInt32) -> Bool {
    if resolution.flags.contains(.late) { return closedIn.removeValue(forKey: id) != number }
    switch resolution.fate {
    case .unanswered, .damaged, .unknown:
      if closedIn.count >= Self.maximumClosed { closedIn.removeAll(keepingCapacity: true) }
      closedIn[id] = number
    case .acked, .ackedAfterRetry, .rejected, .pending, .unacknowledged: break
    }
    return false
  }

  /// Ends the period: hands out the figures of each endpoint at which something happened, by index, and begins anew.
  package mutating func close(_ body: (UInt32, borrowing PeriodMetrics) -> Void) {
    touched.sort()
    for index in touched {
      body(index, metrics[Int(index)])
      metrics[Int(index)].begin()
      isTouched[Int(index)] = false
    }
    touched.removeAll(keepingCapacity: true)
    number &+= 1
    if closedIn.count > 1_024 {
      let oldest = number &- min(number, 3)
      closedIn = closedIn.filter { $0.value >= oldest }
    }
  }

  @inline(__always)
  private mutating func touch(_ endpoint: UInt32) {
    let index = Int(endpoint)
    if index >= count { grow(index) }
    if !isTouched[index] {
      isTouched[index] = true
      touched.append(endpoint)
    }
  }

  @inline(never)
  private mutating func grow(_ index: Int) {
    if index >= capacity {
      let larger = UnsafeMutablePointer<PeriodMetrics>.allocate(capacity: max(capacity * 2, index + 1))
      larger.moveInitialize(from: metrics, count: count)
      metrics.deallocate()
      metrics = larger
      capacity = max(capacity * 2, index + 1)
    }
    while count <= index {
      (metrics + count).initialize(to: PeriodMetrics())
      isTouched.append(false)
      count += 1
    }
  }
}
