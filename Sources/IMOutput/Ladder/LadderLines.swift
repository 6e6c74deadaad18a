import IMEngine
package import IMWire

/// A ladder as lines to draw: with the silences between its rows, and with what is said of each.
package struct LadderLine: Equatable, Sendable {
  /// How a line is drawn.
  package enum Form: Sendable, Equatable {
    /// A frame on its way: sent once, sent again, or an answer.
    case message, copy, answer
    /// A silence of both sides.
    case silence
    /// Words across both sides.
    case note
  }

  /// How it is drawn.
  package var form: Form
  /// Seconds since the connection began, with three digits, or with six where it was short: `+3.120`; or the time of day,
  /// `08:53:29.210`. Empty for a silence.
  package var time: String
  /// `R1` for the first copy on purpose, `D1` for one behind the answer, `!` for trouble; else empty.
  package var mark: String
  /// What stands on the arrow, or across.
  package var label: String
  /// What is said beside it.
  package var remark: String
  /// Whether the client sent it.
  package var isFromClient = true
  /// Whether it is a problem.
  package var isTrouble = false
  /// The index of the row that it draws; `nil` for a silence and for what is left out.
  package var row: Int?
  /// The number in the run of the message that a frame belongs to; `nil` for none.
  package var exchange: UInt32?
  /// The number of the packet that completed a frame; `nil` where that is not known.
  package var packet: UInt64?
}

extension Ladder {
  /// Silences of so many microseconds have a line.
  private static let silence: Int64 = 5_000_000

  /// The lines, top to bottom, with times since the connection began.
  package var lines: [LadderLine] { lines(clock: nil) }

  /// The lines, top to bottom, with times of day by the clock of a zone; without one, since the connection began.
  package func lines(clock: LocalZone?) -> [LadderLine] {
    var lines: [LadderLine] = []
    if leftOutBefore > 0 { lines.append(across("\(count(leftOutBefore, "earlier frame")) left out")) }
    var last: Timestamp?
    for (i, row) in rows.enumerated() {
      if let last, let line = silence(from: last, to: row.at) { lines.append(line) }
      last = max(last ?? row.at, row.at)
      var line = line(row)
      if let clock {
        line.time = Self.timeOfDay(row.at, clock)
      } else if let start = row.start {
        line.time = time(row.at, since: start)
      }
      line.row = i
      lines.append(line)
    }
    if leftOutBehind > 0 { lines.append(across("\(count(leftOutBehind, "later frame")) left out")) }
    return lines
  }

  /// At most `count` lines about the message with the number `exchange`, by the clock of a zone: its own, the one in front of it, and
  /// those after it.
  package func excerpt(_ exchange: UInt32, count: Int, clock: LocalZone) -> [LadderLine] {
    let all = lines(clock: clock)
    guard let first = all.firstIndex(where: { $0.exchange == exchange }) else { return [] }
    // One line in front of the message, and its own: the last of these say how it ended.
    var chosen = Set(all.indices.filter { all[$0].exchange == exchange }.prefix(max(1, count - 2)))
    if first > 0 { chosen.insert(first - 1) }
    for i in all.indices.dropFirst(first) where chosen.count < count { chosen.insert(i) }
    return all.indices.filter(chosen.contains).prefix(count).map { all[$0] }
  }

  private static func timeOfDay(_ at: Timestamp, _ clock: LocalZone) -> String {
    var out = ByteWriter(capacity: 64)
    out.instant(at.advanced(by: Int64(clock.offset(at: at.seconds)) * 1_000_000_000))
    return String(out.text.dropFirst(11).prefix(12))
  }

  private func across(_ text: String) -> LadderLine {
    LadderLine(form: .silence, time: "", mark: "", label: text, remark: "")
  }

  private func silence(from: Timestamp, to: Timestamp) -> LadderLine? {
    let length = to.nanoseconds(since: from) / 1_000
    guard length >= Self.silence else { return nil }
    var text = "\(Words.length(length)) without a frame"
    var isTrouble = false
    if let heartbeat, heartbeat.interval > 0, length > heartbeat.interval + heartbeat.interval / 2 {
      let missed = UInt64(max(1, (length - heartbeat.interval / 2) / heartbeat.interval))
      text += ": \(count(missed, "heartbeat")) missing"
      text += ", \(heartbeat.isPromised ? "due" : "usual") every \(Words.length(heartbeat.interval))"
      isTrouble = true
    }
    return LadderLine(
      form: .silence, time: "", mark: isTrouble ? "!" : "", label: text, remark: "", isTrouble: isTrouble)
  }

  private func line(_ row: Row) -> LadderLine {
    switch row.event {
    case .note(let text, let isTrouble):
      LadderLine(
        form: .note, time: time(row.at), mark: isTrouble ? "!" : "", label: text, remark: "", isTrouble: isTrouble)
    case .step(let step): line(step, row.at)
    }
  }

  /// Whether all of it happened within a second: times need more digits then.
  private var isShort: Bool { (lastSeen ?? rows.last?.at ?? firstSeen).nanoseconds(since: firstSeen) < 1_000_000_000 }

  private func time(_ at: Timestamp, since start: Timestamp? = nil) -> String {
    let length = at.nanoseconds(since: start ?? firstSeen)
    let scale: UInt64 = isShort ? 1_000_000 : 1_000
    let parts = length.magnitude / (1_000_000_000 / scale)
    let part = String(parts % scale)
    return (length < 0 ? "-" : "+") + "\(parts / scale)."
      + String(repeating: "0", count: (isShort ? 6 : 3) - part.utf8.count) + part
  }

  private func line(_ step: Step, _ at: Timestamp) -> LadderLine {
    var line = LadderLine(form: .message, time: time(at), mark: "", label: step.label, remark: "")
    line.isFromClient = step.isFromClient
    (line.exchange, line.packet) = (step.exchange, step.packet)
    var remarks: [String] = []
    if step.facts.contains(.answer) {
      line.form = .answer
      if step.facts.contains(.orphan) {
        remarks.append("message not in the capture")
        line.mark = "?"
      } else if step.facts.contains(.repeatedAnswer) {
        remarks.append("answered before")
        line.mark = "D"
      } else if let roundTrip = step.roundTrip {
        remarks.append("RTT \(Words.length(roundTrip.microseconds))")
      } else if let latency = step.latency {
        remarks.append("\(Words.length(latency.microseconds)) after the first copy (ambiguous, not in RTT)")
      }
    } else if step.copy > 1 {
      line.form = .copy
      let isDuplicate = step.facts.contains(.duplicate)
      line.mark = (isDuplicate ? "D" : "R") + String(step.copy - 1)
      line.isTrouble = !isDuplicate
      line.label += isDuplicate ? " copy" : step.facts.contains(.retry) ? " retry" : " sent twice"
      if let since = step.sinceCopy { line.label += " Δ\(Words.length(since))" }
      if isDuplicate { remarks.append("answered before") }
    } else if let text = outcome(step) {
      remarks.append(text.words)
      line.isTrouble = text.isTrouble
      if text.isTrouble { line.mark = "!" }
    }
    if step.facts.contains(.damaged) {
      if step.fate != .damaged { remarks.append("checksum wrong") }
      line.mark = line.mark.isEmpty ? "!" : line.mark
      line.isTrouble = true
    }
    line.remark = remarks.joined(separator: ", ")
    return line
  }

  /// What became of a message; nothing of what was answered in time.
  private func outcome(_ step: Step) -> (words: String, isTrouble: Bool)? {
    let cause = step.cause.map { " (\($0.name))" } ?? ""
    switch step.fate {
    case .unanswered: return ("no answer\(cause)", true)
    case .damaged: return ("damaged, no answer", true)
    case .rejected: return ("rejected", true)
    case .unknown: return ("answer not in the capture", true)
    case .pending: return ("pending at the end of the capture", false)
    case .acked, .ackedAfterRetry: return step.facts.contains(.late) ? ("answered late", true) : nil
    case .unacknowledged, nil: return nil
    }
  }
}
