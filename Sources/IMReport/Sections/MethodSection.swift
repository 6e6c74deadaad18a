import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// How the figures came about, and what could not be seen.
enum MethodSection {
  static func write(_ model: ReportModel, _ page: inout Markup) {
    PageSection.begin(.method, &page)
    page.raw("<dl>\n")
    for (name, text) in rows(model) {
      page.raw("<dt>")
      page.text(name)
      page.raw("</dt><dd>")
      page.text(text, limit: 4_000)
      page.raw("</dd>\n")
    }
    page.raw("</dl>\n")
    PageSection.end(&page)
  }

  static func rows(_ model: ReportModel) -> [(name: String, text: String)] {
    let summary = model.summary
    var rows: [(String, String)] = [
      ("Made by", "imdump \(model.version)"),
      model.live.map { ("Interface", $0.interface) }
        ?? ("Captures", model.captures.map(Words.baseName).joined(separator: ", ")),
    ]
    if let madeAt = model.madeAt {
      rows.append(("Made at", Words.moment(madeAt, near: nil, model.zone) + " " + model.zoneText))
    }
    if let live = model.live {
      rows.append(
        (
          "Covers",
          "The last \(Words.length(live.windowSeconds * 1_000_000)) of packet time, in whole steps, and the current step. "
            + "Messages count once their fate is decided; one with a late answer counts again. A connection's row counts what "
            + "happened on it since it was first seen. At most 1,024 connections are kept; beyond that, those without problems that have been idle longest are left out."
        ))
    }
    if let filter = model.filter { rows.append(("Capture filter", filter)) }
    for profile in model.profiles {
      rows.append(
        (
          "Profile", "\(profile.name), version \(profile.version)" + (profile.hash.map { ", SHA-256 \($0)" } ?? "")
        ))
    }
    rows.append(
      (
        "Fate",
        "A message is lost if it was not answered in time, or if every copy of it had a bad checksum. Ratios are of messages whose fate "
          + "is known: those pending at the end and those whose answer may be missing from the capture are left out."
      ))
    rows.append(
      (
        "Round trip",
        "From a message's first copy to its first answer. By Karn's rule, a message that was retried before its answer gives no round "
          + "trip, because it is not known which copy was answered: \(count(model.ambiguous, "message")) "
          + "\(model.ambiguous == 1 ? "is" : "are") left out. Heartbeats are not included."
      ))
    rows.append(
      (
        "Percentiles",
        "Within 0.1 %. Minimum, maximum and counts are exact."
      ))
    let more = model.zoneText == "UTC" ? "" : " imdump report --utc shows UTC."
    rows.append(("Time", "All times are \(model.zoneText), by the clock of the capture.\(more)"))
    rows += limits(summary)
    for line in model.countedLines { rows.append((model.live == nil ? "Counted" : "Counted since the start", line)) }
    for error in model.errors { rows.append(("Not read", error)) }
    return rows
  }

  /// What could not be seen.
  private static func limits(_ summary: Summary) -> [(String, String)] {
    var rows: [(String, String)] = []
    if let dropped = summary.capture.droppedByKernel {
      rows.append(("Capture drops", "\(count(dropped, "packet")) dropped by the kernel, according to the capture"))
    } else {
      rows.append(("Capture drops", "The capture does not record how many packets were dropped."))
    }
    let cut = summary.ledger.cutPackets
    rows.append(
      ("Snaplen", cut == 0 ? "No packet was cut." : "\(count(cut, "packet")) \(cut == 1 ? "was" : "were") cut."))
    var gaps: [String] = []
    for reason in GapReason.allCases where summary.reassembly.gaps[Int(reason.rawValue)] > 0 {
      let place = Int(reason.rawValue)
      gaps.append(
        "\(count(summary.reassembly.gaps[place], "gap")) of \(count(summary.reassembly.gapBytes[place], "byte")) (\(reason.name))"
      )
    }
    rows.append(("Gaps", gaps.isEmpty ? "No byte of a stream is missing." : gaps.joined(separator: ", ")))
    if summary.ledger.midstreamConnections > 0 {
      rows.append(
        (
          "Already open",
          "\(count(summary.ledger.midstreamConnections, "connection")) began before the capture; what happened earlier is not known."
        ))
    }
    if summary.ledger.tlsConnections > 0 {
      rows.append(
        ("Encrypted", "\(count(summary.ledger.tlsConnections, "TLS connection")), not decrypted"))
    }
    return rows
  }
}
