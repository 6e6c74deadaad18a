package import IMOTLP

/// Documents that are sent together, and what became of each so far.
///
/// The lines stay as they are in their files. A batch is done when every document is stored, known or refused; until then
/// `firstPending` tells how far its files count as sent.
package struct ShipBatch: Sendable {
  /// What became of a document so far.
  private enum Outcome: Equatable {
    case pending, stored, known
    case refused(status: Int, type: String, reason: String)

    var isPending: Bool { self == .pending }
  }

  private struct Entry {
    /// The file, as the caller numbers it, and where the line begins and ends there, its line feed included.
    var file: Int, start: UInt64, end: UInt64
    /// The line in `bytes`, without its line feed.
    var line: Range<Int>
    /// `nil` for what is no document.
    var head: DocumentHead?
    /// Records in the line: 1 for a document.
    var records = 1
    var outcome = Outcome.pending
    /// Whether it gets no id in the next body, and had none in the last one.
    var hasNoID = false, wasSentWithoutID = false
  }

  /// Bytes that a line may have; a longer one is refused here.
  package static let maximumLine = 8 << 20
  /// Documents that a batch may have.
  private static let maximumCount = 20_000

  private let form: LogForm
  private var bytes: [UInt8] = []
  private var entries: [Entry] = []
  /// The entries of the last body.
  private var sent: [Int] = []

  /// An empty batch of documents, or of lines of OTLP JSON.
  package init(form: LogForm = .ecs) {
    self.form = form
    bytes.reserveCapacity(1 << 20)
  }

  /// Whether it has no document.
  package var isEmpty: Bool { entries.isEmpty }
  /// Documents.
  package var count: Int { entries.count }
  /// Bytes of the documents.
  package var byteCount: Int { bytes.count }
  /// Documents of which nothing is known yet.
  package var pendingCount: Int { entries.count { $0.outcome.isPending } }
  /// Whether every document is stored, known or refused.
  package var isDone: Bool { !entries.contains { $0.outcome.isPending } }

  /// Whether a line of so many bytes has room, where the batch may have `limit` bytes; an empty batch has room for any.
  package func hasRoom(for count: Int, limit: Int) -> Bool {
    entries.isEmpty || entries.count < Self.maximumCount && bytes.count + count <= limit
  }

  /// Adds a line without its line feed, which is at `start` of the file `file` and ends, with its line feed, at `end`.
  package mutating func add(_ line: ArraySlice<UInt8>, file: Int, start: UInt64, end: UInt64) {
    let place = bytes.count..<bytes.count + line.count
    bytes.append(contentsOf: line)
    var entry = Entry(file: file, start: start, end: end, line: place)
    if form == .ecs { entry.head = DocumentHead(bytes, place) }
    if form == .ecs, entry.head == nil {
      entry.outcome = .refused(
        status: 0, type: "imdump", reason: "not a JSON object with data_stream.type, dataset and namespace")
    }
    entries.append(entry)
  }

  /// Adds a line that is too long to be kept.
  package mutating func addTooLong(file: Int, start: UInt64, end: UInt64) {
    var entry = Entry(file: file, start: start, end: end, line: bytes.count..<bytes.count)
    entry.outcome = .refused(status: 0, type: "imdump", reason: "a line of more than \(Self.maximumLine) bytes")
    entries.append(entry)
  }

  /// Empties it.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    sent.removeAll(keepingCapacity: true)
  }

  // MARK: Requests and answers

  /// The body of a `_bulk` request with the first pending documents, as many as `limit` bytes hold and one at least.
  package mutating func body(limit: Int, count: Int = .max) -> [UInt8] {
    var body: [UInt8] = []
    body.reserveCapacity(min(limit, bytes.count + entries.count * 128) + 256)
    sent.removeAll(keepingCapacity: true)
    for index in entries.indices where entries[index].outcome.isPending {
      guard let head = entries[index].head else { continue }
      let entry = entries[index]
      guard sent.isEmpty || sent.count < count && body.count + entry.line.count + 256 <= limit else { break }
      body.append(contentsOf: "{\"create\":{\"_index\":\"".utf8)
      body.append(contentsOf: bytes[head.type])
      body.append(UInt8(ascii: "-"))
      body.append(contentsOf: bytes[head.dataset])
      body.append(UInt8(ascii: "-"))
      body.append(contentsOf: bytes[head.namespace])
      if let id = head.id, !entry.hasNoID {
        body.append(contentsOf: "\",\"_id\":\"".utf8)
        body.append(contentsOf: bytes[id])
      }
      body.append(contentsOf: "\"}}\n".utf8)
      body.append(contentsOf: bytes[entry.line])
      body.append(10)
      entries[index].wasSentWithoutID = entry.hasNoID
      sent.append(index)
    }
    return body
  }

  /// The most records of a request to a receiver of OTLP, unless one line has more.
  package static let maximumRecords = 512

  /// The body of a request to a receiver of OTLP: the first pending line, and those of its signal after it, as many as `limit`
  /// bytes of JSON, `count` lines and 512 records hold; `nil` where no line is pending. Lines that are no request are refused.
  package mutating func request(limit: Int, count: Int = .max) -> (signal: OTLPSignal, body: [UInt8], records: Int)? {
    sent.removeAll(keepingCapacity: true)
    var result: (signal: OTLPSignal, body: [UInt8], records: Int)?
    var size = 0
    for index in entries.indices where entries[index].outcome.isPending {
      let line = entries[index].line
      guard result == nil || sent.count < count && size + line.count <= limit else { break }
      guard let request = OTLPRequest(bytes, line) else {
        refuse(
          index, status: 0, type: "imdump", reason: "not an OpenTelemetry request with logs, metrics or traces in JSON")
        continue
      }
      entries[index].records = request.recordCount
      if let known = result {
        guard known.signal == request.signal else { continue }
        guard known.records + request.recordCount <= Self.maximumRecords else { break }
        result?.body += request.body
        result?.records += request.recordCount
      } else {
        result = (request.signal, request.body, request.recordCount)
      }
      size += line.count
      sent.append(index)
    }
    return result
  }

  /// The receiver has taken the lines of the last request.
  package mutating func storeSent() {
    for index in sent { entries[index].outcome = .stored }
  }

  /// Documents in the last body.
  package var sentCount: Int { sent.count }

  /// What an answer changed.
  package struct Change: Equatable, Sendable {
    /// Documents by outcome.
    package var stored = 0, known = 0, refused = 0, later = 0
    /// Why the engine did not let this user write a document.
    package var denial: String?
    /// Whether something can be sent again at once, in another form.
    package var hasOtherForm = false

    /// Whether any document is done.
    package var hasProgress: Bool { stored + known + refused > 0 }
  }

  /// Takes the answer to the last body; `nil`, and nothing is changed, where it is of another number of documents.
  package mutating func apply(_ answer: BulkAnswer) -> Change? {
    guard answer.items.count == sent.count else { return nil }
    var change = Change()
    for (index, item) in zip(sent, answer.items) {
      switch item {
      case .stored:
        entries[index].outcome = .stored
        change.stored += 1
      case .known:
        entries[index].outcome = .known
        change.known += 1
      case .later: change.later += 1
      case .denied(let reason):
        change.later += 1
        change.denial = change.denial ?? reason
      case .needsNoID where !entries[index].wasSentWithoutID:
        omitIDs(like: index)
        change.hasOtherForm = true
      case .needsNoID:
        refuse(index, status: 400, type: "", reason: "its stream does not accept an id")
        change.refused += 1
      case .refused(let status, let type, let reason):
        refuse(index, status: status, type: type, reason: reason)
        change.refused += 1
      }
    }
    return change
  }

  /// Refuses the only document of the last body; false where it had several.
  package mutating func refuseSent(status: Int, type: String, reason: String) -> Bool {
    guard sent.count == 1 else { return false }
    refuse(sent[0], status: status, type: type, reason: reason)
    return true
  }

  private mutating func refuse(_ index: Int, status: Int, type: String, reason: String) {
    entries[index].outcome = .refused(status: status, type: type, reason: reason)
  }

  /// Sends the documents of one stream without ids from now on.
  private mutating func omitIDs(like index: Int) {
    guard let head = entries[index].head else { return }
    for other in entries.indices {
      guard let own = entries[other].head, bytes[own.type].elementsEqual(bytes[head.type]),
        bytes[own.dataset].elementsEqual(bytes[head.dataset]), bytes[own.namespace].elementsEqual(bytes[head.namespace])
      else { continue }
      entries[other].hasNoID = true
    }
  }

  // MARK: Progress

  /// How far a file is sent.
  package struct Progress: Equatable, Sendable {
    /// Where its first pending document begins, or where its last document ends.
    package var sentTo: UInt64 = 0
    /// Lines of the batch before `sentTo`, and from there on.
    package var sent: UInt64 = 0, held: UInt64 = 0

    /// Nothing.
    package init() {}
  }

  /// How far each file is sent.
  package var progress: [Int: Progress] {
    var result: [Int: Progress] = [:]
    for entry in entries {
      var progress = result[entry.file] ?? Progress()
      if entry.outcome.isPending || progress.held > 0 {
        if progress.held == 0 { progress.sentTo = entry.start }
        progress.held += 1
      } else {
        progress.sentTo = entry.end
        progress.sent += 1
      }
      result[entry.file] = progress
    }
    return result
  }

  /// How far each file counts as sent: where its first pending document begins, or where its last document ends.
  package var sentTo: [Int: UInt64] { progress.mapValues(\.sentTo) }

  /// A document that is refused for good.
  package struct Refused: Equatable, Sendable {
    /// The file, as the caller numbers it.
    package var file: Int
    /// Where its line begins and ends.
    package var start: UInt64, end: UInt64
    /// The status that the engine gave it; 0 where it was not sent.
    package var status: Int
    /// The engine's type of error, and its reason.
    package var type: String, reason: String
    /// Records in the line: 1 for a document.
    package var records = 1

    /// One line for people.
    package var text: String { (status > 0 ? "\(status) " : "") + (type.isEmpty ? "" : "\(type): ") + reason }
  }

  /// The documents that are refused before the first pending one of their file, each with its own line of JSON: the file's
  /// name, where the line begins, the reason, and the document as it was.
  package func refused(after: (Int) -> UInt64) -> [(Refused, Line)] {
    let sentTo = sentTo
    return entries.compactMap { entry in
      guard case .refused(let status, let type, let reason) = entry.outcome, entry.end <= sentTo[entry.file] ?? 0,
        entry.start >= after(entry.file)
      else { return nil }
      let refused = Refused(
        file: entry.file, start: entry.start, end: entry.end, status: status, type: type, reason: reason,
        records: entry.records)
      return (
        refused, Line(bytes: bytes[entry.line], isObject: entry.head != nil || DocumentHead.isObject(bytes, entry.line))
      )
    }
  }

  /// The bytes of a refused line.
  package struct Line: Sendable {
    /// The line without its line feed.
    package var bytes: ArraySlice<UInt8>
    /// Whether it is a JSON object.
    package var isObject: Bool
  }

  /// The time of the first pending document, or of the last one, as it was written; `nil` for none.
  package var time: String? {
    guard let entry = entries.first(where: { $0.outcome.isPending }) ?? entries.last, let time = entry.head?.time else {
      return nil
    }
    return String(decoding: bytes[time], as: UTF8.self)
  }
}

/// A line of the file of refused documents.
package enum RefusedLine {
  /// The line: the file's name, where the document begins there, the engine's reason, and the document as it was, or as a text
  /// where it is no JSON object.
  package static func bytes(_ refused: ShipBatch.Refused, _ line: ShipBatch.Line, file: String) -> [UInt8] {
    var bytes = Array(
      "{\"file\":\(quotedJSON(file)),\"offset\":\(refused.start),\"status\":\(refused.status),\"type\":\(quotedJSON(refused.type)),\"reason\":\(quotedJSON(refused.reason)),\"document\":"
        .utf8)
    if line.isObject {
      bytes += line.bytes
    } else {
      bytes += Array(quotedJSON(String(decoding: line.bytes, as: UTF8.self)).utf8)
    }
    bytes += Array("}\n".utf8)
    return bytes
  }
}
