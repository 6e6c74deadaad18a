import Glibc
import IMBrowser
import IMDescriptors
import IMEngine
import IMExport
import IMIndexing
import IMOutput
import IMReport
import IMRun
import IMStore
import IMSystem
import IMWire

extension RequestThread {
  /// A thread that writes files of messages of the store at `path`: their rows, or their packets, for which captures are read again with
  /// `plans`, as when the store was made.
  static func savingFiles(
    _ path: String, _ input: InputOptions, _ plans: [ProtocolPlan], _ decode: DecodeOptions, _ answers: AnswerMailbox
  ) throws(CaptureError) -> RequestThread {
    try RequestThread("imdump-files", isBehind: true, for: path, "write files") { mailbox in
      while let request = mailbox.take() {
        guard case .save(let wanted) = request else { continue }
        answers.put(.saved(wanted, Self.save(wanted, path, input, plans, decode, mailbox, answers)))
      }
    }
  }

  private static func save(
    _ wanted: SaveRequest, _ path: String, _ input: InputOptions, _ plans: [ProtocolPlan], _ decode: DecodeOptions,
    _ mailbox: RequestMailbox, _ answers: AnswerMailbox
  ) -> SaveOutcome {
    do throws(StoreError) {
      let saver = Saver(wanted, reader: try StoreReader(path), mailbox: mailbox, answers: answers)
      switch wanted.form {
      case .rows: return try saver.writeRows()
      case .packets: return try saver.writePackets(input, plans, decode)
      case .ladder: return try saver.writeLadder()
      }
    } catch {
      return .failed(error.description)
    }
  }
}

/// Writes one file.
private struct Saver {
  let wanted: SaveRequest
  let reader: StoreReader
  let mailbox: RequestMailbox
  let answers: AnswerMailbox
  private let finder: PageFinder

  init(_ wanted: SaveRequest, reader: StoreReader, mailbox: RequestMailbox, answers: AnswerMailbox) {
    (self.wanted, self.reader, self.mailbox, self.answers) = (wanted, reader, mailbox, answers)
    reader.stop { mailbox.isStale }
    finder = PageFinder(reader, zone: .local)
  }

  /// Tells `take` of all messages that are wanted, page by page; false where nobody wants them any more.
  private func forEachPage(_ take: ([StoredMessage]) throws(StoreError) -> Void) throws(StoreError) -> Bool {
    if !wanted.selected.isEmpty {
      var messages: [StoredMessage] = []
      for id in wanted.selected {
        if let message = try reader.message(id) { messages.append(message) }
        if messages.count == StoreReader.maximumPage {
          try take(messages)
          messages = []
        }
      }
      if !messages.isEmpty { try take(messages) }
      return !mailbox.isStale
    }
    var last: Int64 = 0
    while true {
      guard let page = try finder.listed(after: last, wanted.choice, isStale: { mailbox.isStale }) else { return false }
      if !page.messages.isEmpty { try take(page.messages) }
      guard !page.isEnd, let next = page.messages.last?.id else { return true }
      last = next
    }
  }

  private var isThere: Bool { access(wanted.name, F_OK) == 0 }

  /// What the system says of a file that cannot be made; most often it is in a folder that was given up.
  private func refusal(_ number: Int32) -> String {
    let hint = number == EACCES || number == EPERM ? ": files are written to the folder where imdump was started" : ""
    return "\(shown(wanted.name)): \(systemText(number))\(hint)"
  }

  /// Makes the file; below 0 where it cannot be made.
  private func make() -> Int32 {
    guard wanted.replaces else { return open(wanted.name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_EXCL, 0o640) }
    do throws(CaptureError) { return try OutputFile.open(wanted.name) } catch {
      errno = error.errno ?? EIO
      return -1
    }
  }

  // MARK: Ladders

  /// Rows of a ladder that are written, at most: as many as `imdump ladder --rows` takes.
  private static let ladderLimit = 100_000

  func writeLadder() throws(StoreError) -> SaveOutcome {
    if isThere, !wanted.replaces { return .exists }
    let ladder = try LadderFinder(reader).whole(
      wanted.choice.page, limit: Self.ladderLimit, isStale: { mailbox.isStale },
      progress: { count in
        answers.put(.saved(wanted, .progress("\(shown(wanted.name)): \(grouped(UInt64(count))) messages…")))
      })
    guard let ladder else { return .failed("\(shown(wanted.name)) was not written") }
    let descriptor = make()
    guard descriptor >= 0 else { return .failed(refusal(errno)) }
    defer { close(descriptor) }
    let output = Output(descriptor: descriptor, name: wanted.name)
    var out = ByteWriter()
    drawLadder(ladder, wanted.name.hasSuffix(".svg") ? .svg : .text, isASCII: !localeIsUTF8(), to: &out)
    output.drain(&out)
    if let error = output.error { return .failed(error.description) }
    let rows = ladder.rows.count == 1 ? "1 row" : "\(grouped(UInt64(ladder.rows.count))) rows"
    let left = ladder.leftOutBehind > 0 ? ", \(grouped(ladder.leftOutBehind)) more left out" : ""
    return .done("\(shown(wanted.name)): \(rows)\(left)")
  }

  // MARK: Rows

  func writeRows() throws(StoreError) -> SaveOutcome {
    if isThere, !wanted.replaces { return .exists }
    let descriptor = make()
    guard descriptor >= 0 else { return .failed(refusal(errno)) }
    defer { close(descriptor) }
    let output = Output(descriptor: descriptor, name: wanted.name)
    var printer = RowPrinter(wanted.name.hasSuffix(".csv") ? .csv : .json, output)
    var (count, hasBegun) = (0, false)
    let isWhole = try forEachPage { messages throws(StoreError) in
      var rows = try reader.rows(ofMessages: messages.map(\.id))
      if !hasBegun { printer.begin(rows.columns) }
      hasBegun = true
      while output.error == nil, try rows.next() {
        printer.print(rows)
        count += 1
      }
      answers.put(.saved(wanted, .progress("\(shown(wanted.name)): \(grouped(UInt64(count))) messages…")))
    }
    printer.end(isWhole: isWhole)
    if let error = output.error { return .failed(error.description) }
    return isWhole
      ? .done("\(shown(wanted.name)): \(count == 1 ? "1 message" : "\(grouped(UInt64(count))) messages")")
      : .failed("\(shown(wanted.name)) is incomplete")
  }

  // MARK: Packets

  func writePackets(
    _ input: InputOptions, _ plans: [ProtocolPlan], _ decode: DecodeOptions
  ) throws(StoreError) -> SaveOutcome {
    if isThere, !wanted.replaces { return .exists }
    var input = input
    input.files = try reader.captures()
    if let odd = input.files.first(where: { fileByteCount($0) == nil }) {
      return .failed(
        odd.isEmpty ? "the oldest packets are no longer kept" : "\(odd): the packets are gone")
    }
    var places: Set<MessagePlace> = []
    let isWhole = try forEachPage { messages in
      for message in messages {
        places.insert(
          MessagePlace(
            capture: UInt32(clamping: message.capture - 1), number: UInt64(max(0, message.packet)),
            streamOffset: UInt64(max(0, message.streamOffset)), direction: message.direction))
      }
    }
    guard isWhole, !places.isEmpty else { return .failed("there are no messages to write") }
    var report = ReportOptions()
    (report.isQuiet, report.showsProgress) = (true, false)
    let run = Run(embedded: input, plans: plans, decode: decode, report: report)
    answers.put(
      .saved(
        wanted, .progress("\(shown(wanted.name)): reading \(input.files.count == 1 ? "the capture" : "captures")…")))
    let (status, lines) = exportMessages(run, places, to: wanted.name)
    let text = lines.joined(separator: "; ")
    return status == .success
      ? .done("\(shown(wanted.name)): \(text)") : .failed(text.isEmpty ? "\(shown(wanted.name)): not written" : text)
  }
}
