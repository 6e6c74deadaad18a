import IMEngine
package import IMOutput
import IMWire

/// Which messages a transcript has.
package struct TranscriptOptions: Sendable {
  /// Messages of these sessions; empty for all.
  package var sessions: [String] = []
  /// Messages to these topics or receivers, `+` and `#` as in MQTT; empty for all.
  package var topics: [String] = []
  /// Messages that this filter takes; `nil` for all.
  package var filter: String?

  /// All messages.
  package init() {}
}

/// Prints what was said, one line a message: `imdump transcript`.
package func runTranscript(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, style: TextStyle, options: TranscriptOptions
) throws(UsageError) -> ExitStatus {
  let run = try Run(input: input, decode: decode, report: report)
  let output = Output.standard()
  var writer = TranscriptWriter(style: style)
  var order = OrderedLines(isLive: run.isLive)
  let topics = options.topics.map { TopicPattern($0) }
  var transfers = TransferBook()
  func write(_ done: TransferBook.Done) {
    var out = ByteWriter(capacity: 256)
    writer.write(done.progress, to: &out)
    order.add(done.exchange, out)
    order.end(done.exchange)
  }
  let (driver, sink) = try run.messages(MessageChoice(), options.filter, showing: .text) { record, exchange in
    let isWanted =
      record.role == .message
      && (options.sessions.isEmpty || record.session.map(options.sessions.contains) ?? false)
      && (topics.isEmpty
        || record.details?.destination.map { topic in topics.contains { $0.takes(topic) } } ?? false)
    guard isWanted else { return }
    if let part = record.details?.part {
      for done in transfers.add(record, exchange, part) { write(done) }
      return
    }
    var out = ByteWriter(capacity: 256)
    writer.write(record, exchange, to: &out)
    order.add(exchange.id, out)
  }
  sink.over = { number in if !transfers.isOpen(number) { order.end(number) } }
  func flush(all: Bool = false) {
    var out = ByteWriter()
    order.take(all: all).withUnsafeBytes { out.raw($0) }
    output.drain(&out)
  }
  let errors = run.lead(
    driver, isOver: { output.error != nil },
    afterBatch: {
      if run.isLive { sink.tellDecided() }
      flush()
    })
  sink.end()
  for done in transfers.end() { write(done) }
  flush(all: true)
  return run.conclude(driver, errors, output)
}

/// Lines of messages in the order in which these began, however late their fates are known. Live, as they come.
struct OrderedLines {
  /// Lines that wait, at most; beyond, the first ones go out though an older message is still open.
  private static let limit = 65_536

  private let isLive: Bool
  private var out: [UInt8] = []
  /// By the numbers of their messages: lines, or nothing where a message has none.
  private var waiting: [UInt32: [UInt8]] = [:]
  /// The number of the next message.
  private var next: UInt32 = 0

  init(isLive: Bool) { self.isLive = isLive }

  /// Adds the line of a message.
  mutating func add(_ exchange: UInt32, _ line: borrowing ByteWriter) {
    let bytes = line.withBytes { Array($0) }
    if isLive || exchange < next { return append(bytes) }
    waiting[exchange] = bytes
  }

  /// Takes note that a message is over, with or without a line.
  mutating func end(_ exchange: UInt32) {
    guard !isLive, exchange >= next else { return }
    if waiting[exchange] == nil { waiting[exchange] = [] }
    while let line = waiting.removeValue(forKey: next) {
      append(line)
      next &+= 1
    }
    guard waiting.count > Self.limit else { return }
    for number in waiting.keys.sorted().prefix(Self.limit / 2) {
      append(waiting.removeValue(forKey: number) ?? [])
      next = number &+ 1
    }
  }

  /// Takes what can be printed; with `all`, what waits as well.
  mutating func take(all: Bool) -> [UInt8] {
    if all {
      for number in waiting.keys.sorted() { append(waiting[number] ?? []) }
      waiting = [:]
    }
    defer { out.removeAll(keepingCapacity: true) }
    return out
  }

  private mutating func append(_ line: [UInt8]) { out += line }
}

/// A topic, or a pattern of topics as MQTT has them: `+` is one level, `#` all that follow.
struct TopicPattern {
  private let levels: [Substring]

  init(_ text: String) { levels = text.split(separator: "/", omittingEmptySubsequences: false) }

  /// Whether a topic is meant.
  func takes(_ topic: String) -> Bool {
    let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
    for (i, level) in levels.enumerated() {
      if level == "#" { return true }
      guard i < parts.count, level == "+" || level == parts[i] else { return false }
    }
    return levels.count == parts.count
  }
}
