import IMAlerts
import IMEngine
import IMFields
import IMFilter
import IMOutput
import IMOwners
import IMRun
import IMSystem
import IMWire

/// The filters of rules: which messages they choose, by their first frames and, where they ask, by what became of them.
final class RuleFilters: MessageSelector {
  /// What is known of a frame that is not the first one of a message, or of a message when its fate is known for good.
  private static let never: [MessageField] = [.copy, .ack, .ackOf, .late]
  /// Tests of first frames whose answers are kept until the fate is known, of all filters together.
  private static let maximumAnswers = 64

  private struct Entry {
    let text: String
    let filter: Filter
    let names: NamedFilterFields?
    /// For each test the bit of its answer in `FilterChoice.answers`; `nil` where the fate answers it.
    var answers: [Int?] = []
    var asksFate: Bool { answers.contains(nil) }
  }

  private let plans: [ProtocolPlan]
  private var entries: [Entry]
  private var readsFields: Bool
  private let owners: ConnectionOwners?
  private var book = FieldReaderCache()
  private var names: [UInt32: String] = [:]

  /// Looks at a filter over the messages of `plans`.
  static func examine(_ text: String, _ plans: [ProtocolPlan]) -> FilterVerdict {
    do throws(FilterError) {
      let fields = try FilterCompiler(plans: plans).compile(text).filter.testFields.compactMap {
        MessageField(rawValue: $0)
      }
      if let field = never.first(where: fields.contains) {
        return .mistake(
          "'\(field.field.name)' is about single frames, or known too late: use the metric for what is counted")
      }
      guard fields.contains(where: FateFilterRecord.fields.contains) else { return .asksFrame }
      let own = fields.count { !FateFilterRecord.fields.contains($0) }
      return own > maximumAnswers
        ? .mistake("a filter on the fate of a message has at most \(maximumAnswers) other tests") : .asksFate
    } catch {
      return .mistake("column \(error.column) of the filter: \(error.message)")
    }
  }

  /// The filters of `texts`, which have no mistakes. Throws where those that ask for fates have too many tests together.
  init(_ texts: [String], _ plans: [ProtocolPlan], _ owners: ConnectionOwners?) throws(UsageError) {
    self.plans = plans
    self.owners = owners
    entries = try Self.compile(texts, plans)
    readsFields = entries.contains { $0.names != nil }
  }

  /// Puts other filters in the place of these. The bits of those that stay move with them.
  func replace(_ texts: [String]) throws(UsageError) -> FilterMoves {
    let before = entries
    entries = try Self.compile(texts, plans)
    readsFields = entries.contains { $0.names != nil }
    var answers = [Int?](repeating: nil, count: Self.maximumAnswers)
    let filters = before.map { old in
      let place = entries.firstIndex { $0.text == old.text }
      guard let place, entries[place].answers.count == old.answers.count else { return place }
      for (from, to) in zip(old.answers, entries[place].answers) { if let from { answers[from] = to } }
      return place
    }
    return FilterMoves(filters: filters, answers: answers)
  }

  private static func compile(_ texts: [String], _ plans: [ProtocolPlan]) throws(UsageError) -> [Entry] {
    let compiler = FilterCompiler(plans: plans)
    var used = 0
    var entries: [Entry] = []
    for text in texts {
      let compiled: (filter: Filter, names: NamedFilterFields?)
      do throws(FilterError) { compiled = try compiler.compile(text) } catch {
        throw UsageError(message: "column \(error.column) of the filter: \(error.message)")
      }
      var entry = Entry(text: text, filter: compiled.filter, names: compiled.names)
      entry.answers = entry.filter.testFields.map { field in
        MessageField(rawValue: field).map(FateFilterRecord.fields.contains) == true ? nil : 0
      }
      if entry.asksFate {
        for place in entry.answers.indices where entry.answers[place] != nil {
          entry.answers[place] = used
          used += 1
        }
      }
      entries.append(entry)
    }
    guard used <= maximumAnswers else {
      throw UsageError(
        message: "filters on the fate of messages have at most \(maximumAnswers) other tests in all")
    }
    return entries
  }

  func selection(
    of frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) -> FilterChoice {
    var chosen = FilterChoice()
    guard !entries.isEmpty else { return chosen }
    let plan = plans[Int(connection.plan)]
    let session = plan.hasSession ? nil : names[note.session]
    let fields = readsFields ? book.fields(frame, connection, direction, plan, bytes: bytes, body: body) : nil
    let owner = owners?.owner(of: connection.serial, client: connection.peer, server: connection.server)
    body.withUnsafeBytes { body in
      tlvs.withUnsafeBufferPointer { references in
        for (place, entry) in entries.enumerated() {
          let record = FrameFilterRecord(
            frame: frame, note: note, info: connection, direction: direction, plan: plan, session: session, body: body,
            references: references, fields: fields ?? [], names: entry.names, owner: owner)
          let isTaken = entry.asksFate ? answer(entry, record, &chosen) : entry.filter.matches(record)
          if isTaken { chosen.filters |= 1 << UInt64(place) }
        }
      }
    }
    return chosen
  }

  /// Notes what the frame answers of a filter that asks for the fate, too; whether the filter may still take the message.
  private func answer(_ entry: Entry, _ record: FrameFilterRecord, _ chosen: inout FilterChoice) -> Bool {
    var answers: UInt64 = 0
    for (test, bit) in entry.answers.enumerated() {
      if let bit, entry.filter.holds(test, for: record) { answers |= 1 << UInt64(bit) }
    }
    guard entry.filter.mayMatch({ test in entry.answers[test].map { answers & 1 << UInt64($0) != 0 } }) else {
      return false
    }
    chosen.answers |= answers
    return true
  }

  func decided(_ exchange: Exchange, _ choice: FilterChoice, status: StatusCode?) -> UInt64 {
    var filters = choice.filters
    for (place, entry) in entries.enumerated() where entry.asksFate && filters & 1 << UInt64(place) != 0 {
      let name = status.flatMap { plans[Int($0.plan)].name(of: $0) }
      let record = FateFilterRecord(exchange, status: status, statusName: name)
      let isTaken = entry.filter.outcome { test in
        entry.answers[test].map { choice.answers & 1 << UInt64($0) != 0 } ?? entry.filter.holds(test, for: record)
      }
      if !isTaken { filters &= ~(1 << UInt64(place)) }
    }
    return filters
  }

  func named(_ session: UInt32, _ name: String) { names[session] = name }
  func forgotten(_ session: UInt32) { names[session] = nil }
  func ended(_ connection: UInt32) { book.forget(connection) }
}
