import IMEngine
package import IMSystem

/// A bound on what one input may cost, beside the memory of all: `--limit NAME=VALUE`.
package enum Limit: String, CaseIterable, Sendable {
  /// Bytes that one direction of a connection may hold beyond a hole.
  case stream
  /// Segments that it may hold there.
  case segments
  /// Milliseconds of capture time in which a hole that the peer has acknowledged may still be filled.
  case hole
  /// The same for a capture of one direction only.
  case oneSidedHole = "one-sided-hole"
  /// Bytes of an inflated body.
  case inflate
  /// Bytes of an inflated body for each byte on the wire.
  case inflateRatio = "inflate-ratio"
  /// TLVs walked in one frame.
  case tlvs
  /// Exchanges remembered at once.
  case exchanges
  /// Datagrams whose fragments are waited for.
  case datagrams
  /// Seconds of capture time for which they are.
  case datagramTime = "datagram-time"

  /// The values that it may have.
  package var range: ClosedRange<Int64> {
    switch self {
    case .stream: 1_024...(1 << 30)
    case .segments: 1...(1 << 20)
    case .hole, .oneSidedHole: 0...3_600_000
    case .inflate: 1_024...(1 << 30)
    case .inflateRatio: 1...1_100
    case .tlvs: 1...65_536
    case .exchanges: 4_096...(1 << 24)
    case .datagrams: 1...65_536
    case .datagramTime: 1...3_600
    }
  }

  /// Reads `NAME=VALUE`; what is thrown says what is wanted.
  package static func read(_ text: String) throws(UsageError) -> (Limit, Int64) {
    let parts = text.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, let limit = Limit(rawValue: String(parts[0])) else {
      throw UsageError(
        message: "expected NAME=VALUE, with one of "
          + allCases.map(\.rawValue).joined(separator: ", "))
    }
    guard let value = ByteSize.read(String(parts[1])), limit.range.contains(value) else {
      throw UsageError(message: "expected a value from \(limit.range.lowerBound) to \(limit.range.upperBound)")
    }
    return (limit, value)
  }

  /// Brings `value` into the engine's options.
  func apply(_ value: Int64, to options: inout EngineOptions) {
    let n = Int(value)
    switch self {
    case .stream: options.reassembly.bytesPerDirection = n
    case .segments: options.reassembly.segmentsPerDirection = n
    case .hole: options.reassembly.holePatience = .milliseconds(value)
    case .oneSidedHole: options.reassembly.oneSidedPatience = .milliseconds(value)
    case .inflate: options.inflateLimit = n
    case .inflateRatio: options.inflateRatio = n
    case .tlvs: options.tlvLimit = n
    case .exchanges:
      var capacity = 4_096
      while capacity * 2 <= n { capacity *= 2 }
      options.exchangeCapacity = capacity
    case .datagrams: options.datagramLimit = n
    case .datagramTime: options.datagramPatience = .seconds(value)
    }
  }
}

/// Numbers of bytes as they are written on the command line.
package enum ByteSize {
  /// Reads a whole number, with `K`, `M` or `G` for powers of 1,024; `nil` where it is none or is negative.
  package static func read(_ text: String) -> Int64? {
    var digits = Substring(text.uppercased())
    if digits.hasSuffix("IB") { digits.removeLast(2) } else if digits.hasSuffix("B") { digits.removeLast() }
    let units: [(Character, Int64)] = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)]
    var unit: Int64 = 1
    if let (_, size) = units.first(where: { digits.last == $0.0 }) {
      unit = size
      digits.removeLast()
    }
    guard !digits.isEmpty, digits.allSatisfy(\.isNumber), let number = Int64(digits) else { return nil }
    let (value, overflow) = number.multipliedReportingOverflow(by: unit)
    return overflow ? nil : value
  }
}
