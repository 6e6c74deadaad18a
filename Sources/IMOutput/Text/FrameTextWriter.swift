package import IMEngine
package import IMFields
package import IMOwners
package import IMWire

/// How much a line of text tells.
package struct TextStyle: Sendable {
  /// Colours by escape sequences; for terminals only.
  package var isColoured = false
  /// 1 shows the TLVs, 2 also the stream's offset and the packet's number.
  package var verbosity = 0
  /// Body bytes: not at all, as text, as hexadecimal.
  package var showsText = false, showsHex = false
  /// Whether frames have their named fields, where their profile names some: in lines of JSON, and in text with `verbosity`.
  package var showsFields = true
  /// How times are shown.
  package var time = TimeStyle.timeOfDay
  /// The zone of the clock that they are shown by.
  package var zone = LocalZone.utc

  /// Plain lines.
  package init() {}
}

/// One frame as a line to read, in tcpdump's manner.
///
///     12:00:31.204000 #2 10.0.0.7:51234 > 192.0.2.9:8080: tjp data, seq 77, session 6854, len 96, crc be, tlv 3
package struct FrameTextWriter {
  let plans: [ProtocolPlan]
  let style: TextStyle
  var times: TimeText

  /// The names of the files that packets come from, where there are several.
  private let files: [String]

  /// A writer for frames of `plans`; where packets come from several files, `files` are their names.
  package init(plans: [ProtocolPlan], style: TextStyle, files: [String] = []) {
    self.plans = plans
    self.files = files.count < 2 ? [] : files
    self.style = style
    times = TimeText(style)
  }

  /// Appends the frame's line, and what the style asks for beneath it.
  package mutating func write(
    _ frame: Frame, _ note: FrameNote, _ info: ConnectionInfo, _ direction: Direction, session: String?,
    bytes: RawSpan, body: RawSpan, tlvs: Span<TLVRef>, fields: [NamedField] = [],
    secrets: [Range<Int>] = [], owner: SocketOwner? = nil, to out: inout ByteWriter
  ) {
    let plan = plans[Int(info.plan)]
    ends(frame.timestamp, info, direction, to: &out)
    out.text(plan.name)
    out.literal(" ")
    let isTrouble = frame.checksumStatus == .bad || note.isRetry || note.isDuplicate || note.isOrphan
    colour(frame.checksumStatus == .bad ? 31 : isTrouble ? 33 : note.isAck ? 2 : 1, to: &out)
    let index = Int(frame.kind.pointee.index)
    if index < plan.typeNames.count {
      out.text(plan.typeNames[index])
    } else {
      out.literal("type_")
      out.number(frame.type)
    }
    colour(0, to: &out)
    if frame.subjectCount > 0 { quoted(bytes, frame.start + frame.subjectOffset, frame.subjectCount, to: &out) }
    if frame.identityCount > 0 {
      if !plan.hidesIdentity {
        quoted(bytes, frame.start + frame.identityOffset, frame.identityCount, to: &out)
      } else if let session {
        out.literal(" \"")
        wire(session, to: &out)
        out.literal("\"")
      }
    }
    if frame.flags.contains(.sequence) {
      out.literal(", seq ")
      out.number(frame.sequence)
    }
    if let ackOf = note.ackOf, ackOf != frame.sequence || !frame.flags.contains(.sequence) {
      out.literal(", acks ")
      out.number(ackOf)
    }
    if frame.tellsStatus {
      out.literal(", status ")
      out.number(frame.status)
      if let name = plan.statusName(frame) {
        out.literal(" ")
        out.text(name)
      }
    }
    if plan.hasSession {
      out.literal(", session ")
      out.number(frame.session)
    } else if let session, frame.identityCount == 0 {
      out.literal(", session ")
      wire(session, to: &out)
    }
    out.literal(", len ")
    out.number(UInt64(truncatingIfNeeded: frame.bodyCount))
    if frame.checksumStatus != .unchecked {
      out.literal(", crc ")
      out.text(frame.checksumStatus.name)
    }
    if frame.tlvCount > 0 {
      out.literal(", tlv ")
      out.number(UInt64(truncatingIfNeeded: frame.tlvCount))
    }
    remarks(frame, note, to: &out)
    out.literal("\n")
    var shown = ShownProperties()
    (shown.hasStatus, shown.hasSubject, shown.ackOf) = (frame.tellsStatus, frame.subjectCount > 0, note.ackOf)
    beneath(
      frame, info, shown, bytes: bytes, body: body, tlvs: tlvs, fields: fields, secrets: secrets, owner: owner, to: &out
    )
  }

  /// Appends the lines that the style requests below a frame's line: fields and elements, text, bytes. They repeat nothing that the frame's line
  /// shows, and no element that a named field shows, except with `verbosity` 2.
  package func beneath(
    _ frame: Frame, _ info: ConnectionInfo, _ shown: ShownProperties, bytes: RawSpan, body: RawSpan, tlvs: Span<TLVRef>,
    fields: [NamedField],
    secrets: [Range<Int>], owner: SocketOwner?, to out: inout ByteWriter
  ) {
    let plan = plans[Int(info.plan)]
    if style.verbosity > 0 {
      if let owner { self.owner(owner, to: &out) }
      let names = style.showsFields ? plan.fields : nil
      let named = names.map { ShownProperties.named(tlvs, in: body, fields, plan, $0) } ?? []
      details(frame, plan, tlvs, body, named: named, to: &out)
      if let names {
        let repeated = style.verbosity > 1 ? [] : shown.repeated(fields, frame, plan, names, bytes: bytes)
        for (i, field) in fields.enumerated() where !repeated.contains(i) { out.lines(of: field, names, depth: 0) }
      }
    }
    // With -v, the elements have their texts.
    let showsBody = style.showsText && style.verbosity == 0 && body.byteCount > 0
    guard style.showsHex || showsBody else { return }
    // The text, without the lengths and addresses around it.
    let said = showsBody ? MessageText.text(of: fields, plan) : nil
    if var said {
      out.literal("\t")
      said.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), limit: 4_096) }
      out.literal("\n")
      guard style.showsHex else { return }
    }
    let header = plan.headerBytes(frame, in: bytes)
    guard let hidden = plan.hiddenBytes(of: frame, body, tlvs, secrets, behind: header.count) else {
      out.literal("\tnot shown: it contains the client's name\n")
      return
    }
    if showsBody, said == nil {
      let inBody = hidden.filter { $0.lowerBound >= header.count }
      text(body, hiding: inBody.map { $0.lowerBound - header.count..<$0.upperBound - header.count }, to: &out)
    }
    // The header as it came, and the body as it was read.
    if style.showsHex { out.hexLines(header + body.withUnsafeBytes { Array($0) }, hiding: hidden, limit: 4_096) }
  }

  /// Appends what every line begins with: time, connection, sender and receiver.
  mutating func ends(_ at: Timestamp, _ info: ConnectionInfo, _ direction: Direction, to out: inout ByteWriter) {
    times.write(at, to: &out)
    out.connection(info)
    out.endpoint(direction == .clientToServer ? info.client : info.server)
    out.literal(" > ")
    out.endpoint(direction == .clientToServer ? info.server : info.client)
    out.literal(": ")
  }

  /// Whose the connection's end of this host is.
  private func owner(_ owner: SocketOwner, to out: inout ByteWriter) {
    out.literal("\towner: ")
    if let name = owner.name {
      wire(name, to: &out)
      out.literal(", ")
    }
    if let pod = owner.pod {
      out.literal("pod ")
      wire(pod, to: &out)
      out.literal(", ")
    }
    out.literal("user ")
    out.number(UInt64(owner.user))
    out.literal("\n")
  }

  /// What a receipt says: `, read after 12.5 ms`, `, 24 delivered after at most 12.5 ms`.
  private func receipt(_ note: FrameNote, to out: inout ByteWriter) {
    for (level, name) in [(MessageReceipt.Level.delivered, "delivered" as StaticString), (.read, "read")] {
      guard let latency = note.receiptLatency(level)?.microseconds else { continue }
      let count = note.receipts(level)
      out.literal(", ")
      if count > 1 {
        out.number(UInt64(count))
        out.literal(" ")
      }
      out.literal(name)
      out.literal(count > 1 ? " after at most " : " after ")
      out.milliseconds(latency)
      out.literal(" ms")
    }
  }

  private func remarks(_ frame: Frame, _ note: FrameNote, to out: inout ByteWriter) {
    if note.isReceipt { receipt(note, to: &out) }
    if let roundTrip = note.roundTrip?.microseconds {
      out.literal(", rtt ")
      out.milliseconds(roundTrip)
      out.literal(" ms")
    } else if let latency = note.latency?.microseconds {
      out.literal(", after ")
      out.milliseconds(latency)
      out.literal(" ms (retried: no round trip)")
    }
    if note.copy > 1 {
      out.literal(", copy ")
      out.number(note.copy)
    }
    let mask = FrameFlagNames.mask(frame, note)
    if mask != 0 {
      out.literal(" [")
      var isFirst = true
      for (i, name) in FrameFlagNames.all.enumerated() where mask >> UInt32(i) & 1 == 1 {
        if !isFirst { out.literal(", ") }
        isFirst = false
        out.literal(name)
      }
      out.literal("]")
    }
  }

  private func details(
    _ frame: Frame, _ plan: ProtocolPlan, _ tlvs: Span<TLVRef>, _ body: RawSpan, named: [Bool],
    to out: inout ByteWriter
  ) {
    if style.verbosity > 1 {
      out.literal("\tpacket ")
      out.number(PacketNumber.inFile(frame.number))
      if !files.isEmpty {
        out.literal(" of ")
        out.text(files[Int(PacketNumber.file(frame.number))])
      }
      out.literal(", stream offset ")
      out.number(frame.streamOffset)
      out.literal("\n")
    }
    for i in tlvs.indices {
      let tlv = tlvs[i]
      let label = ElementLabel(tlv, in: body, plan)
      let isNamed = named.isEmpty ? false : named[i]
      if isNamed, style.verbosity < 2 { continue }
      out.literal("\t")
      for _ in 0..<min(16, Int(tlv.depth)) { out.literal("  ") }
      out.literal("0x")
      out.hex(UInt64(tlv.tag), width: 4)
      if let name = label.name {
        out.literal(" ")
        out.text(name)
      }
      out.literal(", ")
      out.number(tlv.count)
      out.literal(tlv.count == 1 ? " byte" : " bytes")
      let end = Int(tlv.offset) + Int(tlv.count)
      if style.showsText, label.isHidden {
        out.literal(", not shown")
      } else if style.showsText, !isNamed, !tlv.isList, end <= body.byteCount {
        out.literal(": ")
        body.withUnsafeBytes {
          let bytes = UnsafeRawBufferPointer(rebasing: $0[Int(tlv.offset)..<end])
          out.element(ElementValue(plan.tagTypes[tlv.tag], bytes), bytes)
        }
      }
      out.literal("\n")
    }
  }

  /// The body as text: one line, what cannot be printed as `\xNN`, what is not to be shown as dashes.
  private func text(_ body: RawSpan, hiding hidden: [Range<Int>], to out: inout ByteWriter) {
    out.literal("\t")
    body.withUnsafeBytes { bytes in
      let end = min(bytes.count, 4_096)
      var i = 0
      while i < end {
        if let range = hidden.first(where: { $0.contains(i) }) {
          for _ in i..<min(range.upperBound, end) { out.literal("-") }
          i = min(range.upperBound, end)
          continue
        }
        let next = hidden.map(\.lowerBound).filter { $0 > i }.min().map { min($0, end) } ?? end
        out.terminal(UnsafeRawBufferPointer(rebasing: bytes[i..<next]))
        i = next
      }
      if bytes.count > end { out.literal("... (4096 bytes shown)") }
    }
    out.literal("\n")
  }

  private func quoted(_ bytes: RawSpan, _ offset: Int, _ count: Int, to out: inout ByteWriter) {
    guard offset + count <= bytes.byteCount else { return }
    out.literal(" \"")
    bytes.withUnsafeBytes { out.terminal(UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]), limit: 64) }
    out.literal("\"")
  }

  private func wire(_ text: String, to out: inout ByteWriter) {
    var text = text
    text.withUTF8 { out.terminal(UnsafeRawBufferPointer($0), limit: 64) }
  }

  func colour(_ code: UInt8, to out: inout ByteWriter) {
    guard style.isColoured else { return }
    out.literal("\u{1b}[")
    out.number(code)
    out.literal("m")
  }
}

extension ProtocolPlan {
  /// The ranges of a frame that are not to be shown, from its header's first byte: `secrets`, which its fields say, and what the
  /// profile calls sensitive in the body behind a header of `headerCount` bytes; `nil` where none of it is to be shown, since it
  /// holds the name of a client that is hidden.
  package func hiddenBytes(
    of frame: Frame, _ body: RawSpan, _ tlvs: Span<TLVRef>, _ secrets: [Range<Int>], behind headerCount: Int
  ) -> [Range<Int>]? {
    guard !hidesIdentity || frame.identityCount == 0 else { return nil }
    var hidden = secrets
    if !sensitiveTags.isEmpty {
      for i in tlvs.indices where ElementLabel(tlvs[i], in: body, self).isHidden {
        let start = headerCount + Int(tlvs[i].offset)
        hidden.append(start..<start + Int(tlvs[i].count))
      }
    }
    return hidden
  }
}
