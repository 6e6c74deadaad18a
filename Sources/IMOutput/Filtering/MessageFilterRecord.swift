package import IMEngine
package import IMFilter
import IMWire

/// A message whose fate is final, as a `-Y` filter looks at it.
package struct MessageFilterRecord: FilterRecord {
  let record: MessageRecord
  let exchange: Exchange
  let plan: ProtocolPlan
  let names: NamedFilterFields?

  /// A record of one message; `names` are the named fields that the filter may ask for.
  package init(record: MessageRecord, exchange: Exchange, plan: ProtocolPlan, names: NamedFilterFields? = nil) {
    self.record = record
    self.exchange = exchange
    self.plan = plan
    self.names = names
  }

  /// The value of a field, the `index`th where it has several; `nil` where it has none.
  package func value(of field: Int, at index: Int) -> FilterValue? {
    guard let field = MessageField(rawValue: field) else {
      return names?.value(of: field, in: record.fields, Int(exchange.plan), at: index)
    }
    if let value = record.connection.value(of: field, record.direction, at: index) { return value }
    if field == .flags { return FrameFlagNames.place(of: index, in: record.flags).map { .word($0) } }
    guard index == 0 else { return nil }
    switch field {
    case .ts: return .time(exchange.firstAt)
    case .number: return .unsigned(record.number)
    case .type: return exchange.kind < plan.typeValues.count ? .unsigned(plan.typeValues[Int(exchange.kind)]) : nil
    case .seq: return record.sequence.map { .unsigned($0) }
    case .session: return record.sessionIsNumber ? record.session.flatMap { UInt64($0) }.map { .unsigned($0) } : nil
    case .len: return .integer(Int64(record.bodyCount))
    case .crc: return record.checksums.first.map { .word($0.filterWord) }
    case .copy: return .integer(Int64(record.copies.count))
    case .tlvCount: return .integer(Int64(record.tlvs.count))
    case .rttMicroseconds: return exchange.roundTrip.map { .integer($0.microseconds) }
    case .rttMilliseconds: return exchange.roundTrip.map { .real(Double($0.microseconds) / 1_000) }
    case .fate: return .word(Int(exchange.fate.rawValue))
    case .cause: return exchange.cause.map { .word(Int($0.rawValue)) }
    case .status: return record.status.map { .unsigned($0.number) }
    case .retries: return .integer(Int64(exchange.repeats))
    case .dup: return .integer(Int64(exchange.duplicates))
    case .late: return .flag(exchange.flags.contains(.late))
    case .retry: return .flag(exchange.repeats > 0)
    case .duplicate: return .flag(exchange.duplicates > 0)
    case .damaged:
      return .flag(record.checksums.contains(.bad) || FrameFlagNames.contains(record.flags, .malformed))
    case .ack: return .flag(false)
    case .role: return .word(Int(record.role.rawValue))
    case .heartbeat: return .flag(record.role == .heartbeat)
    case .gap: return .flag(FrameFlagNames.contains(record.flags, .afterGap))
    case .compressed: return .flag(record.compression?.description == "zlib")
    case .encrypted: return .flag(FrameFlagNames.contains(record.flags, .encrypted))
    default: return nil
    }
  }

  /// Whether `test` takes one of the field's texts.
  package func anyText(of field: Int, path: FilterPath, where test: (RawSpan) -> Bool) -> Bool {
    switch MessageField(rawValue: field) {
    case .type: return lend(record.type, test)
    case .profile: return lend(plan.name, test)
    case .session: return record.session.map { lend($0, test) } ?? false
    case .owner: return record.owner?.anyText(where: test) ?? false
    case .statusName: return record.statusName.map { lend($0, test) } ?? false
    case .tlv:
      return record.body.withUnsafeBytes { body in
        record.tlvs.withUnsafeBufferPointer { TLVValues(body: body, references: $0).any(path, test) }
      }
    case nil: return names?.anyText(of: field, in: record.fields, Int(exchange.plan), where: test) ?? false
    default: return false
    }
  }
}
