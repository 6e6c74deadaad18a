import IMTestSupport
import IMWire

@testable import IMEngine

/// A drawn conversation: one sign a column, a packet each, and what comes out of it.
///
///     d  a message (number 1)                    a  its ACK by the server
///     r  the same, written anew: another clock   b  the ACK of a stranger (number 99)
///     i  the same, byte for byte                 h  a heartbeat, each with the next number
///     x  the same, its body damaged on the way   k  the ACK of the last heartbeat
///     F  FIN by the client, and by the server    R  RST by the server
///     s  nothing but a bare ACK by the server   m  the ACK of the message, which the capture lacks
///     .  nothing but time: a bare ACK
struct Timeline {
  let run: Run

  init(_ drawing: String, column milliseconds: Int64 = 1_000) {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(8_080))
    talk.acknowledges = false
    talk.spacing = 1_000
    let start: Int64 = 1_700_000_000_000
    talk.open(at: Timestamp(milliseconds: start - 10))
    var message = TJPFrameBuilder(text: "once", sequence: 1)
    var beat: UInt32 = 0x0100_0000
    for (column, sign) in drawing.enumerated() {
      let now = Timestamp(milliseconds: start + Int64(column) * milliseconds)
      switch sign {
      case "d", "i": talk.send(message.bytes, .clientToServer, at: now)
      case "r":
        message.timestamp += 1
        talk.send(message.bytes, .clientToServer, at: now)
      case "x":
        var damaged = message.bytes
        damaged[damaged.count - 1] ^= 1
        talk.send(damaged, .clientToServer, at: now)
      case "a": talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: now)
      case "b": talk.send(TJPFrameBuilder.echoACK(of: 99).bytes, .serverToClient, at: now)
      case "h":
        beat += 1
        talk.send(TJPFrameBuilder.heartbeat(sequence: beat).bytes, .clientToServer, at: now)
      case "k": talk.send(TJPFrameBuilder.echoACK(of: beat).bytes, .serverToClient, at: now)
      case "s": talk.acknowledge(.serverToClient, at: now)
      case "m":
        for lost in talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: now) { talk.drop(lost) }
      case "F": talk.close(.fin(by: .clientToServer), at: now)
      case "R": talk.close(.reset(by: .serverToClient), at: now)
      default: talk.acknowledge(.clientToServer, at: now)
      }
    }
    run = Run(talk.packets)
  }

  /// The fate, the counters and the times of everything that was drawn, in one line.
  var outcome: String {
    var words: [String] = []
    for exchange in run.heard.finished {
      words.append(exchange.fate.name)
      if exchange.copies > 1 { words.append("copies=\(exchange.copies)") }
      if exchange.repeats > 0 { words.append("repeats=\(exchange.repeats)") }
      if exchange.duplicates > 0 { words.append("dup_after_ack=\(exchange.duplicates)") }
      if exchange.acks > 1 { words.append("acks=\(exchange.acks)") }
      if exchange.flags.contains(.late) { words.append("late") }
      if let latency = exchange.latency { words.append("latency=\(latency.milliseconds)") }
      if let roundTrip = exchange.roundTrip { words.append("rtt=\(roundTrip.milliseconds)") }
    }
    if let figures = run.heard.reports.first?.rare {
      if figures.deliberateCopies > 0 { words.append("retries=\(figures.deliberateCopies)") }
      if figures.immediateDuplicates > 0 { words.append("immediate=\(figures.immediateDuplicates)") }
      if figures.dupAcks > 0 { words.append("dup_acks=\(figures.dupAcks)") }
      if figures.orphanAcks > 0 { words.append("orphans=\(figures.orphanAcks)") }
    }
    return words.joined(separator: " ")
  }
}
