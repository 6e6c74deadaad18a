import IMAlerts
import IMEngine
import IMFields
import IMFilter
import IMOutput
import IMOwners
import IMWire

/// The filters of rules: which messages they choose, by their first frames.
final class RuleFilters: MessageSelector {
  /// What is known of a message only when an answer or another copy has come.
  private static let later: [MessageField] = [
    .fate, .cause, .retries, .dup, .late, .rttMilliseconds, .rttMicroseconds, .retry, .duplicate, .copy, .ack, .ackOf,
    .status, .statusName,
  ]

  private let plans: [ProtocolPlan]
  private let filters: [(filter: Filter, names: NamedFilterFields?)]
  private let readsFields: Bool
  private let owners: ConnectionOwners?
  private var book = FieldBook()
  private var names: [UInt32: String] = [:]

  /// What is wrong with a filter over the messages of `plans`; `nil` where nothing is.
  static func mistake(in text: String, _ plans: [ProtocolPlan]) -> String? {
    do throws(FilterError) {
      let filter = try FilterCompiler(plans: plans).compile(text).filter
      guard let field = later.first(where: { filter.fieldsUsed.contains($0.rawValue) }) else { return nil }
      return "'\(field.field.name)' is not known yet when a message is sent: the metric says what is counted of it"
    } catch {
      return "column \(error.column) of the filter: \(error.message)"
    }
  }

  /// The filters of `texts`, which have no mistakes; `nil` where there are none.
  init?(_ texts: [String], _ plans: [ProtocolPlan], _ owners: ConnectionOwners?) {
    guard !texts.isEmpty else { return nil }
    self.plans = plans
    self.owners = owners
    let compiler = FilterCompiler(plans: plans)
    filters = texts.compactMap { try? compiler.compile($0) }
    readsFields = filters.contains { $0.names != nil }
  }

  func selection(
    of frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) -> UInt64 {
    let plan = plans[Int(connection.plan)]
    let session = plan.hasSession ? nil : names[note.session]
    let fields = readsFields ? book.fields(frame, connection, direction, plan, bytes: bytes, body: body) : nil
    let owner = owners?.owner(of: connection.serial, client: connection.peer, server: connection.server)
    var chosen: UInt64 = 0
    body.withUnsafeBytes { body in
      tlvs.withUnsafeBufferPointer { references in
        for (place, filter) in filters.enumerated() {
          let record = FrameFilterRecord(
            frame: frame, note: note, info: connection, direction: direction, plan: plan, session: session, body: body,
            references: references, fields: fields ?? [], names: filter.names, owner: owner)
          if filter.filter.matches(record) { chosen |= 1 << UInt64(place) }
        }
      }
    }
    return chosen
  }

  func named(_ session: UInt32, _ name: String) { names[session] = name }
  func forgotten(_ session: UInt32) { names[session] = nil }
  func ended(_ connection: UInt32) { book.forget(connection) }
}
