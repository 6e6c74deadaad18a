import IMEngine
import IMFields
import IMOutput
import IMWire

/// What a store says of a message, on its way to the writer.
struct StoredFacts: Sendable {
  /// What its first copy told.
  let first: FirstCopy
  /// What became of it.
  let exchange: Exchange
  /// The status that its answer gave; `nil` where there is none.
  let status: StatusCode?
  /// The name that the session's client gave; `nil` where it is not known, or sessions are numbers.
  let sessionName: String?
  /// What only few messages have; `nil` of the others.
  let details: Details?
  /// The remarks on any of its copies, as `FrameFlagNames.mask` has them.
  let flags: UInt32
  /// Whether the writer may have been told of it before.
  let isUpdate: Bool

  /// What only few messages have. It stands apart, for each message is moved about several times.
  final class Details: Sendable {
    /// The type's name where the profile does not know it.
    let unknownType: String?
    /// Copies, their checksums, and answers, as JSON arrays; `nil` for what other columns tell.
    let copies: String?, checksums: String?, answers: String?
    /// Its texts; `nil` without one.
    let texts: MessageDetails?

    init(_ record: MessageRecord, hasUnknownType: Bool, hasCopies: Bool, hasAnswers: Bool) {
      unknownType = hasUnknownType ? record.type : nil
      copies = hasCopies ? MessageLists.text(record.copies) { "\($0)" } : nil
      checksums = hasCopies ? MessageLists.text(record.checksums, MessageLists.quoted) : nil
      answers = hasAnswers ? MessageLists.text(record.answers) { "\($0)" } : nil
      texts = record.details
    }

    init(_ exchange: borrowing Exchange, _ begun: BegunMessage, hasAnswers: Bool) {
      let extras = begun.extras
      unknownType = extras?.unknownType
      let further = extras?.copies ?? []
      copies = further.isEmpty ? nil : MessageLists.text([exchange.firstAt.microseconds] + further) { "\($0)" }
      checksums =
        further.isEmpty
        ? nil : MessageLists.text([begun.first.checksum] + (extras?.checksums ?? []), MessageLists.quoted)
      answers =
        hasAnswers ? MessageLists.text([begun.firstAnswer] + (extras?.answers ?? [])) { "\($0)" } : nil
      texts = extras?.texts
    }
  }

  /// A message of a file.
  init(_ message: borrowing OpenMessage) {
    first = message.begun.first
    exchange = message.exchange
    status = message.status
    sessionName = message.begun.name
    flags = message.begun.flags
    isUpdate = false
    let hasAnswers = message.begun.firstAnswer != BegunMessage.none && !Self.isTold(message)
    details =
      message.begun.extras != nil || hasAnswers ? Details(exchange, message.begun, hasAnswers: hasAnswers) : nil
  }

  /// Whether time and round trip tell of all answers.
  private static func isTold(_ message: borrowing OpenMessage) -> Bool {
    guard message.begun.extras?.answers.isEmpty ?? true, let latency = message.exchange.latency else { return false }
    return message.exchange.firstAt.microseconds + latency.microseconds == message.begun.firstAnswer
  }

  init(_ record: MessageRecord, _ exchange: Exchange, isUpdate: Bool) {
    let facts = record.facts
    first = facts.first
    self.exchange = exchange
    status = facts.status
    sessionName = facts.sessionName
    flags = facts.flags
    self.isUpdate = isUpdate
    let hasUnknownType = exchange.kind >= FrameKind.unknownIndex
    let hasCopies = record.copyCount > 1
    let hasAnswers = !Self.isTold(record, exchange)
    let hasDetails = hasUnknownType || hasCopies || hasAnswers || facts.hasDetails
    details =
      hasDetails
      ? Details(record, hasUnknownType: hasUnknownType, hasCopies: hasCopies, hasAnswers: hasAnswers) : nil
  }

  /// Whether time and round trip tell of all answers.
  private static func isTold(_ record: MessageRecord, _ exchange: Exchange) -> Bool {
    guard let answer = record.firstAnswer else { return true }
    guard record.answerCount == 1, let latency = exchange.latency else { return false }
    return exchange.firstAt.microseconds + latency.microseconds == answer
  }

  /// The number of the message in the store.
  @inline(__always)
  var id: Int64 { exchange.row }

  /// The number of its session in the store.
  @inline(__always)
  var session: Int64 { exchange.sessionRow }

  /// The session's number on the wire, or the name that its client gave; `nil` where neither is known.
  var sessionText: String? { first.sessionIsNumber ? String(first.sessionNumber) : sessionName }
}

extension Exchange {
  /// The number of the message in a store: messages count from 1 in the order in which their first copies came.
  @inline(__always)
  var row: Int64 { Self.row(of: id) }

  /// The same by its `id`.
  static func row(of id: UInt32) -> Int64 { Int64(id) + 1 }

  /// The number of its session in a store, from 1.
  @inline(__always)
  var sessionRow: Int64 { Int64(session) + 1 }
}

extension MessageReceipt {
  /// The number of its message in a store.
  var row: Int64 { Exchange.row(of: exchange) }
}
