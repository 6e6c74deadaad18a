package import IMEngine
package import IMFields
package import IMFilter
package import IMOwners
package import IMWire

/// A frame as a `-Y` filter looks at it. Lives for one sink call: it points into the engine's buffers.
package struct FrameFilterRecord: FilterRecord {
  let frame: Frame
  let note: FrameNote
  let info: ConnectionInfo
  let direction: Direction
  let plan: ProtocolPlan
  let session: String?
  let tlvs: TLVValues
  let fields: [NamedField]
  let names: NamedFilterFields?
  let outcome: MessageOutcomes.Outcome?
  let owner: SocketOwner?

  /// A record of one frame. `body` and `references` are those of the sink call; `outcome` is that of its message, where
  /// it is known already, and `owner` that of its connection.
  package init(
    frame: Frame, note: FrameNote, info: ConnectionInfo, direction: Direction, plan: ProtocolPlan, session: String?,
    body: UnsafeRawBufferPointer, references: UnsafeBufferPointer<TLVRef>, fields: [NamedField] = [],
    names: NamedFilterFields? = nil, outcome: MessageOutcomes.Outcome? = nil,
    owner: SocketOwner? = nil
  ) {
    self.frame = frame
    self.note = note
    self.info = info
    self.direction = direction
    self.plan = plan
    self.session = session
    tlvs = TLVValues(body: body, references: references)
    self.fields = fields
    self.names = names
    self.outcome = outcome
    self.owner = owner
  }

  /// The value of a field, the `index`th where it has several; `nil` where it has none.
  package func value(of field: Int, at index: Int) -> FilterValue? {
    guard let field = MessageField(rawValue: field) else {
      return names?.value(of: field, in: fields, Int(info.plan), at: index)
    }
    if let value = info.value(of: field, direction, at: index) { return value }
    if field == .flags {
      return FrameFlagNames.place(of: index, in: FrameFlagNames.mask(frame, note)).map { .word($0) }
    }
    guard index == 0 else { return nil }
    switch field {
    case .ts: return .time(frame.timestamp)
    case .number: return .unsigned(PacketNumber.inFile(frame.number))
    case .type: return .unsigned(frame.type)
    case .seq: return frame.flags.contains(.sequence) ? .unsigned(frame.sequence) : nil
    case .session: return plan.hasSession ? .unsigned(frame.session) : nil
    case .len: return .integer(Int64(frame.bodyCount))
    case .crc: return .word(frame.checksumStatus.filterWord)
    case .copy: return note.copy > 0 ? .integer(Int64(note.copy)) : nil
    case .status: return frame.tellsStatus ? .unsigned(frame.status) : nil
    case .ackOf: return note.ackOf.map { .unsigned($0) }
    case .tlvCount: return .integer(Int64(frame.tlvCount))
    case .rttMicroseconds: return note.roundTrip.map { .integer($0.microseconds) }
    case .rttMilliseconds: return note.roundTrip.map { .real(Double($0.microseconds) / 1_000) }
    case .retry: return .flag(note.isRetry && !note.isDuplicate)
    case .duplicate: return .flag(note.isDuplicate)
    case .damaged: return .flag(frame.checksumStatus == .bad || frame.flags.contains(.malformed))
    case .ack: return .flag(note.isAck)
    case .role: return .word(Int(frame.kind.pointee.role.rawValue))
    case .heartbeat: return .flag(frame.kind.pointee.role == .heartbeat)
    case .gap: return .flag(frame.flags.contains(.afterGap))
    case .compressed: return .flag(!frame.flags.isDisjoint(with: [.inflated, .inflateLimit]))
    case .encrypted: return .flag(frame.flags.contains(.encrypted))
    case .fate: return outcome.map { .word(Int($0.fate.rawValue)) }
    case .cause: return outcome?.cause.map { .word(Int($0.rawValue)) }
    case .retries: return outcome.map { .integer(Int64($0.retries)) }
    case .dup: return outcome.map { .integer(Int64($0.duplicates)) }
    case .late: return outcome.map { .flag($0.isLate) }
    default: return nil
    }
  }

  /// Whether `test` takes one of the field's texts.
  package func anyText(of field: Int, path: FilterPath, where test: (RawSpan) -> Bool) -> Bool {
    switch MessageField(rawValue: field) {
    case .type:
      let index = Int(frame.kind.pointee.index)
      return index < plan.typeNames.count ? lend(plan.typeNames[index], test) : false
    case .profile: return lend(plan.name, test)
    case .session: return session.map { lend($0, test) } ?? false
    case .statusName: return frame.tellsStatus ? plan.statusName(frame).map { lend($0, test) } ?? false : false
    case .tlv: return tlvs.any(path, test)
    case .owner: return owner?.anyText(where: test) ?? false
    case nil: return names?.anyText(of: field, in: fields, Int(info.plan), where: test) ?? false
    default: return false
    }
  }
}

/// The TLV values of one body.
struct TLVValues {
  let body: UnsafeRawBufferPointer
  let references: UnsafeBufferPointer<TLVRef>

  /// Hands the values at `path` to `test` until one passes; all values for the empty path.
  func any(_ path: FilterPath, _ test: (RawSpan) -> Bool) -> Bool {
    // How many keys of the path the enclosing lists have matched, by depth.
    var matched = 0
    for tlv in references {
      let depth = Int(tlv.depth)
      matched = min(matched, depth)
      let isHere: Bool
      if path.isEmpty {
        isHere = true
      } else {
        isHere = matched == depth && depth == path.keys.count - 1 && path.keys[depth] == UInt64(tlv.tag)
        if tlv.isList, matched == depth, depth < path.keys.count, path.keys[depth] == UInt64(tlv.tag) {
          matched = depth + 1
        }
      }
      let end = Int(tlv.offset) + Int(tlv.count)
      if isHere, end <= body.count {
        let value = UnsafeRawBufferPointer(rebasing: body[Int(tlv.offset)..<end])
        if test(value.bytes) { return true }
      }
    }
    return false
  }
}

extension SocketOwner {
  /// Whether `test` takes the unit, the container's number or the pod's.
  func anyText(where test: (RawSpan) -> Bool) -> Bool {
    for text in [unit, container, pod] {
      if let text, lend(text, test) { return true }
    }
    return false
  }
}

/// Lends the bytes of a text for one call.
func lend(_ text: String, _ test: (RawSpan) -> Bool) -> Bool {
  var text = text
  return text.withUTF8 { test(UnsafeRawBufferPointer($0).bytes) }
}

extension ConnectionInfo {
  /// The fields that a connection's ends answer.
  func value(of field: MessageField, _ direction: Direction, at index: Int) -> FilterValue? {
    switch (field, index) {
    case (.conn, 0): .unsigned(UInt64(serial))
    case (.clientIP, 0), (.ip, 0): .address(client.address)
    case (.serverIP, 0), (.ip, 1): .address(server.address)
    case (.clientPort, 0), (.port, 0): .integer(Int64(client.port))
    case (.serverPort, 0), (.port, 1): .integer(Int64(server.port))
    case (.dir, 0): .word(Int(direction.rawValue))
    default: nil
    }
  }
}

extension ChecksumStatus {
  /// The place of the status in `MessageField.checksums`.
  var filterWord: Int {
    switch self {
    case .be: 0
    case .le: 1
    case .bad: 2
    case .none: 3
    case .unchecked: 4
    }
  }
}
