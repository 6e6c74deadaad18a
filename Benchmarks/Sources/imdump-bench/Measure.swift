import Glibc

/// Milliseconds of a clock that only goes forward.
func milliseconds() -> Double { time(CLOCK_MONOTONIC) }

/// Milliseconds that this thread has run: others that take the processor meanwhile are not in it.
func threadMilliseconds() -> Double { time(CLOCK_THREAD_CPUTIME_ID) }

private func time(_ clock: clockid_t) -> Double {
  var now = timespec()
  clock_gettime(clock, &now)
  return Double(now.tv_sec) * 1_000 + Double(now.tv_nsec) / 1_000_000
}

/// Milliseconds that the same thing took, many times.
struct Times {
  private var values: [Double] = []

  var count: Int { values.count }
  var largest: Double { values.max() ?? 0 }
  var sum: Double { values.reduce(0, +) }

  mutating func add(_ value: Double) { values.append(value) }

  mutating func measure<R>(_ body: () throws -> R) rethrows -> R {
    let begun = milliseconds()
    defer { values.append(milliseconds() - begun) }
    return try body()
  }

  func percentile(_ percent: Double) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * percent / 100))]
  }

  /// `p50 0.1, p99 2.3, max 4.5 ms`.
  var text: String { "p50 \(short(percentile(50))), p99 \(short(percentile(99))), max \(short(largest)) ms" }
}

/// A number with as many digits as say something.
func short(_ value: Double) -> String {
  let scale = value < 10 ? 100.0 : value < 100 ? 10 : 1
  let rounded = (value * scale).rounded() / scale
  return scale == 1 ? "\(Int(rounded))" : "\(rounded)"
}

/// Prints a row of the table: what is measured, what it has to be, what it is, and whether that is enough.
func tell(_ mechanism: String, _ acceptance: String, _ measured: String, _ isReached: Bool?) {
  print([mechanism, acceptance, measured, isReached.map { $0 ? "yes" : "no" } ?? "-"].joined(separator: "\t"))
  fflush(nil)
}

/// Prints a line on standard error.
func warn(_ text: String) {
  let bytes = Array((text + "\n").utf8)
  _ = write(STDERR_FILENO, bytes, bytes.count)
}
