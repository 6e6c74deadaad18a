import Glibc
import IMMetrics

/// What a load has come to, once a second in one line of a terminal; nothing where standard error is none.
struct Progress {
  private let isShown: Bool
  private var began: Int64?
  private var last: Int64 = 0
  private var lastDelivered: UInt64 = 0

  init(isQuiet: Bool) { isShown = !isQuiet && isatty(2) == 1 }

  mutating func show(_ tally: LoadTally, at now: Int64) {
    guard isShown else { return }
    if began == nil { (began, last) = (now, now) }
    guard let began, now - last >= 1_000_000_000 else { return }
    let rate = Double(tally.delivered - lastDelivered) / (Double(now - last) / 1e9)
    let mean = tally.latency.mean.map { milliseconds($0) + " ms" } ?? "-"
    say(
      "\r\((now - began) / 1_000_000_000) s  sent \(tally.sent)  delivered \(tally.delivered)  open \(tally.open)  "
        + "\(Int(rate)) a second  mean \(mean)\u{1b}[K", to: 2)
    last = now
    lastDelivered = tally.delivered
  }

  /// Ends the line.
  func end() {
    if isShown, began != nil { say("\n", to: 2) }
  }
}

/// Microseconds as milliseconds with three places.
func milliseconds(_ microseconds: Double) -> String {
  let thousandths = Int64(microseconds.rounded())
  let rest = String(thousandths % 1_000)
  return "\(thousandths / 1_000)." + String(repeating: "0", count: max(0, 3 - rest.count)) + rest
}
