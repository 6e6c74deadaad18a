package import IMEngine
import IMFields
package import IMWire

/// A frame taken apart: its bytes, and which of them are what.
package struct FrameDissection: Equatable, Sendable {
  /// A part of a frame. Parts lie inside one another or apart, never across.
  package struct Part: Equatable, Sendable {
    /// What it is called.
    package var name: String
    /// Its value in words; empty where its own parts say it.
    package var value: String
    /// Its bytes, from the header's first one.
    package var range: Range<Int>
    /// In how many parts it lies.
    package var depth = 0

    /// A part with these bytes.
    package init(name: String, value: String, range: Range<Int>) {
      (self.name, self.value, self.range) = (name, value, range)
    }
  }

  /// The header as it came, and the body as it was read; of a longer frame its beginning.
  package private(set) var bytes: [UInt8] = []
  /// How many there are of the whole frame.
  package private(set) var byteCount = 0
  /// Bytes that are not to be shown.
  package private(set) var hidden: [Range<Int>] = []
  /// Its parts, each behind the one that it lies in.
  package private(set) var parts: [Part] = []

  /// A frame of bytes and parts in any order.
  package init(bytes: [UInt8], hidden: [Range<Int>] = [], parts: [Part]) {
    (self.bytes, byteCount, self.hidden) = (bytes, bytes.count, hidden)
    self.parts = Self.nested(parts, within: bytes.count)
  }

  /// Bytes and parts that are kept, at most.
  private static let byteLimit = 64 << 10, partLimit = 4_096

  /// The parts of a frame; without any, and without bytes, where none of it is to be shown. `book` has read the frames before it on its
  /// connection, where these tell what it means.
  package init(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, _ plan: ProtocolPlan, bytes all: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>, book: inout FieldReaderCache
  ) {
    let header = plan.headerBytes(frame, in: all)
    _ = book.fields(frame, info, direction, plan, bytes: all, body: body)
    byteCount = header.count + body.byteCount
    guard let hidden = plan.hiddenBytes(of: frame, body, tlvs, book.secrets, behind: header.count) else { return }
    self.hidden = hidden
    bytes = Array((header + body.withUnsafeBytes { Array($0.prefix(Self.byteLimit)) }).prefix(Self.byteLimit))
    var found = [Part(name: "header", value: "\(header.count) bytes", range: 0..<header.count)]
    found += Self.header(frame, plan, header.count)
    if let fields = plan.fields {
      for mark in book.marks(frame, info, direction, plan, bytes: all, body: body).prefix(Self.partLimit) {
        guard case .value(let field, let form) = mark.kind, fields.fields.indices.contains(field) else { continue }
        let isText = MessageText.isText(fields.fields[field]) && bytes.indices.contains(mark.range.upperBound - 1)
        let text = isText ? MessageText.text(bytes[mark.range]).map { String($0.prefix(1_024)) } : nil
        let value = fields.hides(field) ? "not shown" : text ?? Self.value(form, bytes, mark.range)
        found.append(Part(name: fields.fields[field].name, value: value, range: mark.range))
      }
    }
    if body.byteCount > 0 {
      found.append(Part(name: "body", value: "\(body.byteCount) bytes", range: header.count..<byteCount))
    }
    for i in tlvs.indices.prefix(Self.partLimit) {
      let tlv = tlvs[i]
      let start = header.count + Int(tlv.offset)
      let label = ElementLabel(tlv, in: body, plan)
      var text = ByteWriter(capacity: 128)
      text.literal("0x")
      text.hex(UInt64(tlv.tag), width: 4)
      if let name = label.name {
        text.literal(" ")
        text.text(name)
      }
      let name = text.text
      text.removeAll()
      let range = Int(tlv.offset)..<Int(tlv.offset) + Int(tlv.count)
      if label.isHidden {
        text.literal("not shown")
      } else if !tlv.isList, range.upperBound <= body.byteCount {
        body.withUnsafeBytes {
          let bytes = UnsafeRawBufferPointer(rebasing: $0[range])
          text.element(ElementValue(plan.tagTypes[tlv.tag], bytes), bytes)
        }
      } else {
        text.number(UInt64(tlv.count))
        text.literal(" bytes")
      }
      found.append(Part(name: name, value: text.text, range: start..<start + Int(tlv.count)))
    }
    parts = Self.nested(found, within: bytes.count)
  }

  /// What the profile says of every header.
  private static func header(_ frame: Frame, _ plan: ProtocolPlan, _ count: Int) -> [Part] {
    let places = plan.pointer.pointee
    var type = "\(frame.type)"
    if let i = plan.typeValues.firstIndex(of: frame.type), i < plan.typeNames.count { type += " \(plan.typeNames[i])" }
    var checksum = ByteWriter(capacity: 32)
    checksum.literal("0x")
    checksum.hex(frame.checksum, width: 8)
    let fields: [(String, Field, String)] = [
      ("length", places.length, "\(frame.bodyCount)"), ("type", places.type, type),
      ("sequence", places.sequence, frame.flags.contains(.sequence) ? "\(frame.sequence)" : ""),
      ("session", places.session, "\(frame.session)"), ("time", places.time, "\(frame.time)"),
      ("checksum", places.checksum, "\(checksum.text) \(frame.checksumStatus.name)"),
      ("compression", places.compression, ""), ("encryption", places.encryption, ""),
    ]
    return fields.compactMap { name, field, value in
      guard field.isPresent, let range = field.bytes, range.upperBound <= count else { return nil }
      return Part(name: name, value: value, range: range)
    }
  }

  /// A value of a named field in words.
  private static func value(_ form: FieldMark.Form, _ bytes: [UInt8], _ range: Range<Int>) -> String {
    guard range.lowerBound >= 0, range.upperBound <= bytes.count else { return "" }
    let part = bytes[range]
    switch form {
    case .structure where part.count <= 8, .number where part.count <= 8, .time where part.count <= 8:
      return "\(part.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })"
    case .littleEndian where part.count <= 8: return "\(part.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })"
    case .text: return String(decoding: part.prefix(1_024), as: UTF8.self)
    default:
      var out = ByteWriter(capacity: 128)
      for byte in part.prefix(40) { out.hex(UInt64(byte), width: 2) }
      return out.text
    }
  }

  /// Parts in the order of a tree: whoever lies in another one stands behind it. What lies across another part, or holds the same bytes, is
  /// left out.
  private static func nested(_ parts: [Part], within count: Int) -> [Part] {
    let sorted = parts.enumerated().filter { !$0.element.range.isEmpty && $0.element.range.lowerBound < count }.sorted {
      let (a, b) = ($0.element.range, $1.element.range)
      return (a.lowerBound, -a.upperBound, $0.offset) < (b.lowerBound, -b.upperBound, $1.offset)
    }
    var open: [Range<Int>] = []
    var tree: [Part] = []
    for var part in sorted.map(\.element) {
      while let last = open.last, last.upperBound <= part.range.lowerBound { open.removeLast() }
      if let last = open.last, part.range == last || part.range.upperBound > last.upperBound { continue }
      part.depth = open.count
      open.append(part.range)
      tree.append(part)
    }
    return tree
  }

  /// The innermost part that holds a byte; `nil` where none does.
  package func part(at byte: Int) -> Int? { parts.lastIndex { $0.range.contains(byte) } }
}

extension Field {
  /// The bytes of the header in which it is; `nil` for the absent field.
  fileprivate var bytes: Range<Int>? {
    guard isPresent else { return nil }
    let (low, high) = (Int(shift), Int(shift) + mask.bitWidth - mask.leadingZeroBitCount)
    guard high <= 64 else { return nil }
    let (first, last) = littleEndian ? (low / 8, (high - 1) / 8) : ((64 - high) / 8, (63 - low) / 8)
    return Int(offset) + first..<Int(offset) + last + 1
  }
}
