import IMEngine

/// The counts of a run as one JSON object: `imdump stats --json`.
package struct StatsJSONWriter {
  /// A writer.
  package init() {}

  /// Appends one line. `counters` has one name a count, the same for every profile.
  package func write(_ summary: Summary, reconnects: UInt64, dupAcks: UInt64, to out: inout ByteWriter) {
    var counters: [(String, UInt64)] = []
    var frames: UInt64 = 0, c2s: UInt64 = 0, s2c: UInt64 = 0, body: UInt64 = 0, retries: UInt64 = 0
    for (i, plan) in summary.plans.enumerated() {
      for (k, kind) in summary.kinds[i].enumerated() where kind.frames[0] + kind.frames[1] > 0 {
        let name = k < plan.typeNames.count ? plan.typeNames[k] : "other"
        frames += kind.frames[0] + kind.frames[1]
        c2s += kind.frames[0]
        s2c += kind.frames[1]
        body += kind.bodyBytes[0] + kind.bodyBytes[1]
        retries += kind.retries
        counters.append(("frames_\(name)", kind.frames[0] + kind.frames[1]))
        var fates = kind.fates[0]
        fates.add(kind.fates[1])
        if fates.units > 0 {
          counters.append(("units_\(name)", UInt64(fates.units)))
          counters.append(("acked_\(name)", kind.answered))
        }
      }
    }
    let ledger = summary.ledger
    let all: [(String, UInt64)] =
      [
        ("frames", frames), ("frames_c2s", c2s), ("frames_s2c", s2c), ("body_bytes", body),
        ("stream_bytes", ledger.decodedBytes + ledger.damagedBytes), ("retries", retries), ("dup_acks", dupAcks),
        ("reconnects", reconnects), ("connection_attempts", ledger.connectionAttempts),
        ("connection_success", ledger.connectionSuccesses), ("connection_refused", ledger.connectionsRefused),
        ("connection_timeout", ledger.connectionsTimedOut), ("crc_be", summary.checksums[0]),
        ("crc_le", summary.checksums[1]), ("crc_bad", summary.checksums[2]), ("crc_none", summary.checksums[3]),
      ] + counters
    out.literal("{\"counters\":{")
    for (i, (name, value)) in all.sorted(by: { $0.0 < $1.0 }).enumerated() {
      if i > 0 { out.literal(",") }
      out.jsonString(name)
      out.literal(":")
      out.number(value)
    }
    out.literal("},\"ledger\":{")
    let r = summary.reassembly
    let accounts: [(StaticString, UInt64)] = [
      ("packets", ledger.packets), ("segments", ledger.segments), ("payload_bytes", r.payloadBytes),
      ("decoded_bytes", ledger.decodedBytes), ("damaged_bytes", ledger.damagedBytes),
      ("skipped_bytes", ledger.skippedBytes), ("unread_bytes", ledger.unreadBytes),
      ("repeated_bytes", r.repeatedBytes), ("ignored_bytes", r.ignoredBytes),
    ]
    for (i, (name, value)) in accounts.enumerated() {
      if i > 0 { out.literal(",") }
      out.literal("\"")
      out.literal(name)
      out.literal("\":")
      out.number(value)
    }
    out.literal(",\"skipped_packets\":{")
    var isFirst = true
    for reason in SkipReason.allCases where ledger.skipped[Int(reason.rawValue)] > 0 {
      if !isFirst { out.literal(",") }
      isFirst = false
      out.jsonString(reason.name)
      out.literal(":")
      out.number(ledger.skipped[Int(reason.rawValue)])
    }
    out.literal("}}}\n")
  }
}
