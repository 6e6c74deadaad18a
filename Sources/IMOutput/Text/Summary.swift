import IMEngine
package import IMMetrics
import IMWire

extension Summary {
  /// The lines, without a line feed at the end.
  package var lines: [String] {
    var lines: [String] = []
    lines.append(packets)
    lines.append(connections)
    lines.append(bytes)
    for (i, plan) in plans.enumerated() {
      if let line = messages(plan, kinds[i]) { lines.append(line) }
    }
    if let line = evictions { lines.append(line) }
    return lines
  }

  private var evictions: String? {
    let parts = Eviction.allCases.filter { ledger.evicted[$0] > 0 }.map { "\($0.name) \(grouped(ledger.evicted[$0]))" }
    return parts.isEmpty ? nil : "forgotten at the limit on memory: " + parts.joined(separator: ", ")
  }

  private var packets: String {
    var parts = ["\(count(capture.captured, "packet")) captured"]
    if let received = capture.received { parts.append("\(grouped(received)) received by filter") }
    if capture.afterStop > 0 { parts.append("\(grouped(capture.afterStop)) after the stop") }
    if let filtered = capture.filteredOut, filtered > 0 { parts.append("\(grouped(filtered)) filtered out") }
    if let dropped = capture.droppedByKernel { parts.append("\(grouped(dropped)) dropped by kernel") }
    if let dropped = capture.droppedByInterface, dropped > 0 {
      parts.append("\(grouped(dropped)) dropped by interface")
    }
    var reasons: [String] = []
    for reason in SkipReason.allCases {
      let n = ledger.skipped[Int(reason.rawValue)]
      if n > 0 { reasons.append("\(reason.name) \(grouped(n))") }
    }
    parts.append("\(grouped(ledger.segments)) TCP")
    if !reasons.isEmpty { parts.append("skipped: " + reasons.joined(separator: ", ")) }
    if ledger.cutPackets > 0 { parts.append("\(grouped(ledger.cutPackets)) cut by snaplen") }
    if reassembly.copies > 0 { parts.append("\(grouped(reassembly.copies)) captured twice") }
    if ledger.clockBackwards > 0 { parts.append("\(count(ledger.clockBackwards, "time")) back in time") }
    if ledger.offloaded > 0 { parts.append("\(grouped(ledger.offloaded)) with offloaded checksum") }
    return parts.joined(separator: ", ")
  }

  private var connections: String {
    var parts = ["\(count(ledger.connections, "connection"))", "\(grouped(ledger.decodedConnections)) decoded"]
    if ledger.tlsConnections > 0 { parts.append("\(grouped(ledger.tlsConnections)) TLS (encrypted, not readable)") }
    if ledger.proxiedConnections > 0 { parts.append("\(grouped(ledger.proxiedConnections)) through a proxy") }
    if ledger.webSocketConnections > 0 { parts.append("\(grouped(ledger.webSocketConnections)) in WebSocket") }
    if ledger.connectionAttempts > 0 {
      parts.append("\(grouped(ledger.connectionSuccesses)) of \(count(ledger.connectionAttempts, "attempt")) succeeded")
    }
    if ledger.connectionsRefused > 0 { parts.append("\(grouped(ledger.connectionsRefused)) refused") }
    if ledger.connectionsTimedOut > 0 { parts.append("\(grouped(ledger.connectionsTimedOut)) timed out") }
    return parts.joined(separator: ", ")
  }

  private var bytes: String {
    var parts = [
      "\(grouped(ledger.decodedBytes)) bytes decoded", "\(grouped(ledger.damagedBytes)) damaged",
      "\(grouped(ledger.strayBytes)) stray", "\(grouped(ledger.unreadBytes)) not read",
    ]
    if ledger.carrierBytes > 0 { parts[2] += " (\(grouped(ledger.carrierBytes)) of carriers)" }
    for reason in GapReason.allCases {
      let n = reassembly.gaps[Int(reason.rawValue)]
      guard n > 0 else { continue }
      let bytes = reassembly.gapBytes[Int(reason.rawValue)]
      let what =
        switch reason {
        case .captureLoss: "lost by the capture (acknowledged, never seen)"
        case .snaplen: "cut by snaplen"
        case .unseen: "never seen"
        }
      parts.append("\(count(n, "gap")) of \(grouped(bytes)) bytes \(what)")
    }
    if reassembly.retransmissions > 0 { parts.append("\(count(reassembly.retransmissions, "TCP retransmission"))") }
    if reassembly.outOfWindow > 0 {
      parts.append("\(count(reassembly.outOfWindow, "segment")) outside the window")
    }
    if reassembly.conflicts > 0 {
      parts.append("\(grouped(reassembly.conflicts)) with other bytes than the first copy")
    }
    return parts.joined(separator: ", ")
  }

  private func messages(_ plan: ProtocolPlan, _ kinds: [KindTotals]) -> String? {
    var fates = FateCounts()
    var frames: UInt64 = 0
    for (i, kind) in kinds.enumerated() {
      frames += kind.frames[0] + kind.frames[1]
      let role = i < plan.typeRoles.count ? plan.typeRoles[i] : .other
      if role == .message {
        fates.add(kind.fates[0])
        fates.add(kind.fates[1])
      }
    }
    guard frames > 0 else { return nil }
    var parts = ["\(plan.name): \(count(frames, "frame"))", "\(count(UInt64(fates.units), "message"))"]
    let named: [(UInt32, String)] = [
      (fates.acked, "acked"), (fates.ackedAfterRetry, "acked after retry"), (fates.rejected, "rejected"),
      (fates.unanswered, "unanswered"), (fates.damaged, "damaged"), (fates.unknown, "unknown"),
      (fates.pending, "pending"),
    ]
    for (n, name) in named where n > 0 { parts.append("\(grouped(UInt64(n))) \(name)") }
    if let success = FateRatios(fates).success { parts.append("success \(percent(success))") }
    return parts.joined(separator: ", ")
  }
}

extension Interruption {
  /// `interrupted at 41 %`, or `interrupted` where nobody knows.
  package var text: String { "interrupted" + (share.map { " at \(Int($0 * 100)) %" } ?? "") }
}

/// `1 packet`, `2 packets`.
package func count(_ value: UInt64, _ noun: String) -> String { "\(grouped(value)) \(noun)\(value == 1 ? "" : "s")" }

/// `a` of `b` in percent; see `percent(_:)`. `b` is not 0.
package func percent(_ a: UInt64, _ b: UInt64) -> String { percent(Double(a) / Double(b)) }

/// A ratio from 0 to 1 in percent, rounded to two decimals, but so that 100.00 % means all and 0.00 % means none.
package func percent(_ ratio: Double) -> String {
  let hundredths = hundredths(ratio)
  return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) %"
}

private func hundredths(_ ratio: Double) -> UInt64 {
  let hundredths = UInt64((min(max(ratio, 0), 1) * 10_000).rounded())
  if hundredths == 0, ratio > 0 { return 1 }
  if hundredths == 10_000, ratio < 1 { return 9_999 }
  return hundredths
}

extension ByteWriter {
  /// Appends a ratio as `percent(_:)` gives it.
  package mutating func percent(_ ratio: Double) {
    let hundredths = hundredths(ratio)
    var pen = pen(room: 32)
    pen.number(hundredths / 100)
    pen.byte(UInt8(ascii: "."))
    Digits.pair(UInt32(truncatingIfNeeded: hundredths % 100), pen.to)
    pen.to += 2
    pen.literal(" %")
    take(pen)
  }
}
