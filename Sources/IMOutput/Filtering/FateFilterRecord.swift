package import IMEngine
package import IMFilter
import IMWire

/// What became of a message, as a filter asks for it: the fields that its first frame does not have.
package struct FateFilterRecord: FilterRecord {
  /// The fields that are known when the fate is decided, and not when a message is sent.
  package static let fields: Set<MessageField> = [
    .fate, .cause, .retries, .dup, .rttMilliseconds, .rttMicroseconds, .retry, .duplicate, .status, .statusName,
  ]

  let exchange: Exchange
  let status: StatusCode?
  let statusName: String?

  /// A record of a message whose fate was decided; `status` is that of its answer, and `statusName` what the profile calls it.
  package init(_ exchange: Exchange, status: StatusCode?, statusName: String?) {
    self.exchange = exchange
    self.status = status
    self.statusName = statusName
  }

  /// The value of a field; `nil` where it has none.
  package func value(of field: Int, at index: Int) -> FilterValue? {
    guard index == 0 else { return nil }
    switch MessageField(rawValue: field) {
    case .fate: return .word(Int(exchange.fate.rawValue))
    case .cause: return exchange.cause.map { .word(Int($0.rawValue)) }
    case .retries: return .integer(Int64(exchange.repeats))
    case .dup: return .integer(Int64(exchange.duplicates))
    case .rttMicroseconds: return exchange.roundTrip.map { .integer($0.microseconds) }
    case .rttMilliseconds: return exchange.roundTrip.map { .real(Double($0.microseconds) / 1_000) }
    case .retry: return .flag(exchange.repeats > 0)
    case .duplicate: return .flag(exchange.duplicates > 0)
    case .status: return status.map { .unsigned($0.number) }
    default: return nil
    }
  }

  /// Whether `test` takes the status's name.
  package func anyText(of field: Int, path: FilterPath, where test: (RawSpan) -> Bool) -> Bool {
    guard MessageField(rawValue: field) == .statusName, let statusName else { return false }
    return lend(statusName, test)
  }
}
