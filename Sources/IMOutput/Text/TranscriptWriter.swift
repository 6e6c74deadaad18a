package import IMEngine
import IMWire

/// One message as a line of a conversation: who, to whom or to what topic, what, and what became of it. The time at its beginning is
/// not part of it.
///
///     44782 > server: 你好，到地铁站了吗？  [answered after 26.4 ms]
///     server > 47786 (chat/zhang): on my way  [lost: the client's TCP received it, no answer was sent]
package struct TranscriptWriter {
  private let style: TextStyle

  /// A writer.
  package init(style: TextStyle) { self.style = style }

  /// Appends one line.
  package func write(_ record: MessageRecord, _ exchange: Exchange, to out: inout ByteWriter) {
    begin(record, record.details?.destination, to: &out)
    if let text = record.details?.text {
      wire(text, limit: 4_096, to: &out)
    } else {
      out.text("(\(record.type), \(count(UInt64(record.bodyCount), "byte")))")
    }
    let isBad = [.unanswered, .damaged, .rejected].contains(exchange.fate)
    let isAmber = exchange.fate == .ackedAfterRetry || exchange.fate == .pending || exchange.fate == .unknown
    end(words(record, exchange), isBad: isBad, isAmber: isAmber, to: &out)
  }

  /// Appends the line of a large message that went in pieces.
  package func write(_ transfer: TransferSummary, to out: inout ByteWriter) {
    begin(transfer.first, transfer.destination, to: &out)
    out.text(
      "(\(transfer.first.type), \(count(UInt64(transfer.total), "byte")) in \(count(transfer.pieces, "piece")))")
    end(words(transfer), isBad: transfer.lost > 0, isAmber: !transfer.isWhole || transfer.retries > 0, to: &out)
  }

  /// Who says it, and to whom.
  private func begin(_ record: MessageRecord, _ destination: String?, to out: inout ByteWriter) {
    let isFromClient = record.direction == .clientToServer
    let client = record.session ?? "\(record.connection.client)"
    if isFromClient {
      wire(client, to: &out)
      out.literal(" > ")
      wire(destination ?? "server", to: &out)
    } else {
      out.literal("server > ")
      wire(client, to: &out)
      if let destination {
        out.literal(" (")
        wire(destination, to: &out)
        out.literal(")")
      }
    }
    out.literal(": ")
  }

  /// What became of it.
  private func end(_ text: String, isBad: Bool, isAmber: Bool, to out: inout ByteWriter) {
    if !text.isEmpty {
      out.literal("  ")
      if style.isColoured { out.text(isBad ? "\u{1b}[31m" : isAmber ? "\u{1b}[33m" : "\u{1b}[2m") }
      out.text("[\(text)]")
      if style.isColoured { out.literal("\u{1b}[0m") }
    }
    out.literal("\n")
  }

  /// What became of a large message: it is answered when all of its bytes are.
  private func words(_ transfer: TransferSummary) -> String {
    let retries =
      transfer.retries == 0 ? "" : ", \(transfer.retries) \(transfer.retries == 1 ? "retry" : "retries")"
    guard transfer.isWhole else {
      let progress = "\(transfer.answeredBytes * 100 / max(1, transfer.total)) % answered"
      return transfer.lost > 0 ? "\(count(transfer.lost, "piece")) lost, \(progress)\(retries)" : progress + retries
    }
    let latency = transfer.answeredAfter.map { " after \(Words.length($0.microseconds))" } ?? ""
    let receipts = transfer.receipts.map { ", \($0.name) after \(Words.length($0.after.microseconds))" }.joined()
    return "answered\(latency)\(retries)\(receipts)"
  }

  /// What became of it, in words; empty where it asks for no answer.
  private func words(_ record: MessageRecord, _ exchange: Exchange) -> String {
    let receiver = record.direction == .clientToServer ? "server" : "client"
    let retries =
      exchange.repeats == 0 ? "" : ", \(exchange.repeats) \(exchange.repeats == 1 ? "retry" : "retries")"
    let latency = exchange.latency.map { " after \(Words.length($0.microseconds))" } ?? ""
    switch exchange.fate {
    case .acked, .ackedAfterRetry:
      return "answered\(latency)\(retries)" + (exchange.flags.contains(.late) ? ", late" : "") + receipts(record)
    case .rejected:
      let status = record.status.map { status in
        ": \(status.number)" + (record.statusName.map { " \($0)" } ?? "")
      }
      return "rejected\(latency)\(status ?? "")"
    case .damaged: return "lost: no copy arrived undamaged"
    case .unanswered:
      let why =
        switch exchange.cause {
        case .peer?: "the \(receiver)'s TCP received it, no answer was sent"
        case .network?: "the \(receiver)'s TCP never acknowledged it"
        case let cause?: cause.name
        case nil: "no answer"
        }
      return "lost: \(why)\(retries)"
    case .pending: return "pending: no answer by the end"
    case .unknown: return "unknown: the answer may be in bytes missing from the capture"
    case .unacknowledged: return ""
    }
  }

  /// What receipts say of it: `, delivered after 30 ms, read after 2 s`.
  private func receipts(_ record: MessageRecord) -> String {
    record.receipts.map { ", \($0.name) after \(Words.length($0.after.microseconds))" }.joined()
  }

  private func wire(_ text: String, limit: Int = 64, to out: inout ByteWriter) {
    var text = text
    text.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), limit: limit) }
  }
}
