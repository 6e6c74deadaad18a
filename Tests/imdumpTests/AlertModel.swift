import Foundation
import IMTestSupport

/// A second, simple way to say when a rule fires: from a sample's truth, which no decoder has a part in.
///
/// Everything is in microseconds. It knows no engine and no window in steps: for each boundary it looks at all samples.
struct AlertModel {
  struct Sample {
    var at: Int64
    var isAffected = false
    var value = 0.0
  }

  /// What a rule says: `window`, `step` and `patience` in seconds.
  struct Rule: Sendable {
    var name: String
    var text: String
    var window: Int64
    var step: Int64
    var patience: Int64 = 0
    var minimum = 1
    /// The value of the samples in a window; `nil` without one.
    var value: @Sendable ([Sample]) -> Double?
    var isWrong: @Sendable (Double) -> Bool
    var samples: @Sendable (AlertModel) -> [Sample]
  }

  /// An alert: when, and with what.
  struct Told: Equatable, CustomStringConvertible {
    var at: Int64
    var state: String
    var samples: Int
    var affected: Int
    var description: String { "\(state) at \(at / 1_000_000), \(affected) of \(samples)" }
  }

  private let truth: [String: Any]
  private let first: Int64, last: Int64

  init(_ sample: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: Samples.path(sample + ".truth.json")))
    truth = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    // Times of the first and the last packet of a little-endian pcap file with microseconds.
    let bytes = try Samples.bytes(sample)
    func u32(_ at: Int) -> Int64 { (0..<4).reduce(0) { $0 | Int64(bytes[at + $1]) << (8 * Int64($1)) } }
    var times: [Int64] = []
    var at = 24
    while at + 16 <= bytes.count {
      times.append(u32(at) * 1_000_000 + u32(at + 4))
      at += 16 + Int(u32(at + 8))
    }
    first = times.min() ?? 0
    last = times.max() ?? 0
  }

  private var messages: [[String: Any]] { truth["messages"] as? [[String: Any]] ?? [] }

  private func times(_ message: [String: Any], _ key: String) -> [Int64] {
    (message[key] as? [NSNumber] ?? []).map(\.int64Value)
  }

  /// Messages of a type whose fate is decided: with the first answer, or so long after the last copy.
  private func decided(
    _ type: String, after seconds: Int64, longerThan length: Int = -1, fasterThan milliseconds: Double? = nil,
    isAffected: (String) -> Bool
  ) -> [Sample] {
    messages.compactMap { message in
      let roundTrip = message["retries"] as? Int == 0 ? (message["rtt_us"] as? NSNumber)?.doubleValue : nil
      if let milliseconds, let roundTrip, roundTrip / 1_000 > milliseconds { return nil }
      guard message["type"] as? String == type, message["len"] as? Int ?? 0 > length,
        let fate = message["fate"] as? String, fate != "pending"
      else {
        return nil
      }
      let isAnswered = fate.hasPrefix("acked")
      let at =
        isAnswered
        ? times(message, "acks")[0] : times(message, "ts")[times(message, "ts").count - 1] + seconds * 1_000_000
      return Sample(at: at, isAffected: isAffected(fate))
    }
  }

  /// Messages that were lost; of those with a longer body, or without a longer round trip.
  func lost(longerThan length: Int = -1, fasterThan milliseconds: Double? = nil) -> [Sample] {
    decided("data", after: 6, longerThan: length, fasterThan: milliseconds) { $0 == "unanswered" || $0 == "damaged" }
  }
  func retried(longerThan length: Int = -1) -> [Sample] {
    decided("data", after: 6, longerThan: length) { $0 == "acked_after_retry" }
  }

  /// Round trips of one direction, of everything but heartbeats, in milliseconds.
  func roundTrips(_ direction: String, beyond threshold: Double) -> [Sample] {
    messages.compactMap { message in
      guard message["type"] as? String != "heartbeat", message["dir"] as? String == direction,
        let rtt = (message["rtt_us"] as? NSNumber)?.doubleValue,
        message["retries"] as? Int == 0
      else { return nil }
      return Sample(at: times(message, "acks")[0], isAffected: rtt / 1_000 > threshold, value: rtt / 1_000)
    }
  }

  /// Messages that one side sent, or both.
  func messagesSent(_ direction: String? = nil) -> [Sample] {
    messages.filter {
      $0["type"] as? String == "data" && (direction == nil || $0["dir"] as? String == direction)
    }.map { Sample(at: times($0, "ts")[0]) }
  }

  func reconnects() -> [Sample] {
    (truth["reconnects"] as? [[String: Any]] ?? []).compactMap { ($0["to"] as? NSNumber)?.int64Value }.map {
      Sample(at: $0, isAffected: true)
    }
  }

  /// When the rule is told, for all samples as one scope.
  func told(_ rule: Rule) -> [Told] {
    let second: Int64 = 1_000_000
    let all = rule.samples(self)
    let step = rule.step * second
    let end = max(last, all.map(\.at).max() ?? 0)
    var boundary = (first / step + 1) * step
    var pendingSince: Int64?
    var isFiring = false
    var told: [Told] = []
    while boundary <= (end / step + 1) * step {
      let window = all.filter { $0.at >= boundary - rule.window * second && $0.at < boundary }
      if window.count >= rule.minimum, let value = rule.value(window) {
        let state = { (name: String) in
          Told(at: boundary, state: name, samples: window.count, affected: window.count { $0.isAffected })
        }
        if rule.isWrong(value) {
          pendingSince = pendingSince ?? boundary
          if !isFiring, boundary - (pendingSince ?? boundary) >= rule.patience * second {
            isFiring = true
            told.append(state("firing"))
          }
        } else {
          if isFiring { told.append(state("resolved")) }
          isFiring = false
          pendingSince = nil
        }
      }
      boundary += step
    }
    return told
  }
}
