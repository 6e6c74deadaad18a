package import IMEngine
import IMFields
import IMOutput
import IMWire

/// The named fields of a profile that stand in the documents of its messages: those that it says are logged, and those that
/// the run was asked for.
///
/// A field stands at the name that the profile gives it in the Elastic Common Schema, where that is free, and otherwise below
/// `imdump.PROFILE`. Identities stand there as keyed hashes. Credentials, what the profile hides, and groups have no place:
/// the fields of a group are logged by their own names.
package struct LoggedFields {
  /// The objects of a document that members are added to.
  enum Place: Int, CaseIterable {
    /// `imdump`.
    case own
    case source, destination, client
    /// `client.geo`, which may have a network's name, too.
    case geo
    /// The document itself.
    case document
  }

  /// One field, or two that are a point on Earth.
  struct Member {
    let field: Int
    /// The longitude, where `field` is the latitude; negative where it is none.
    var longitude = -1
    let declared: ECSField
    let isHash: Bool
  }

  /// Dotted names as objects.
  private final class Node {
    let key: String
    var member: Member?
    var inner: [Node] = []

    init(_ key: String) { self.key = "\"\(JSONLines.escaped(key))\":" }

    func insert(_ member: Member, _ path: ArraySlice<String>) {
      guard let first = path.first else { return self.member = member }
      let node = Node(first)
      if let known = inner.first(where: { $0.key == node.key }) {
        known.insert(member, path.dropFirst())
      } else {
        inner.append(node)
        node.insert(member, path.dropFirst())
      }
    }
  }

  /// What is there of a message: the members of each place, without a comma in front; empty where there are none.
  final class Text {
    let parts: [String]
    private let budget: Budget

    fileprivate init(_ parts: [String], _ budget: Budget) {
      self.parts = parts
      self.budget = budget
      budget.used += Self.cost(parts)
    }

    deinit { budget.used -= Self.cost(parts) }

    static func cost(_ parts: [String]) -> Int { parts.reduce(160) { $0 + 16 + $1.utf8.count } }

    subscript(place: Place) -> String { parts[place.rawValue] }
  }

  /// What is held of messages whose fate is open. Without room a document has fewer fields.
  final class Budget {
    static let limit = 32 << 20
    var used = 0
  }

  /// Values of a field in one document, and bytes of all of them, at most.
  private static let maximumValues = 64, maximumBytes = 16 << 10

  /// Where each field stands, and as what.
  package let declared: [ECSField]
  private let roots: [Node]
  private let plan: FieldPlan

  /// The logged fields of `plan`, and those that `names` names, with the profile's name in front or without; `nil` where
  /// there are none.
  package init?(_ plan: ProtocolPlan, names: [String]) {
    guard let fields = plan.fields else { return nil }
    let chosen = fields.fields.indices.filter { id in
      let info = fields.fields[id]
      guard info.isShown, !fields.hides(id), info.type != .object, !info.messages.isEmpty else { return false }
      return info.isLogged || names.contains(info.name) || names.contains("\(plan.name).\(info.name)")
    }
    guard !chosen.isEmpty else { return nil }
    self.plan = fields
    let members = Self.members(chosen, fields, plan.name)
    declared = members.map(\.declared)
    roots = Place.allCases.map { _ in Node("") }
    for member in members {
      let path = member.declared.name.split(separator: ".").map(String.init)
      let place = Self.place(path)
      let depth: Int =
        switch place {
        case .document: 0
        case .geo: 2
        default: 1
        }
      roots[place.rawValue].insert(member, path[depth...])
    }
  }

  private static func place(_ path: [String]) -> Place {
    switch (path[0], path.count > 1 ? path[1] : "") {
    case ("imdump", _): .own
    case ("source", _): .source
    case ("destination", _): .destination
    case ("client", "geo"): .geo
    case ("client", _): .client
    default: .document
    }
  }

  // MARK: Declarations

  /// All fields of documents where these stand in those of messages, by name.
  package static func declared(_ logged: [LoggedFields]) -> [ECSField] {
    var all = ECSFields.all
    for field in logged.flatMap(\.declared) {
      if let place = all.firstIndex(where: { $0.name == field.name }) {
        if !all[place].datasets.contains(.message) { all[place].datasets.insert(.message, at: 0) }
      } else {
        all.append(field)
      }
    }
    return all.sorted { $0.name < $1.name }
  }

  private static func members(_ chosen: [Int], _ plan: FieldPlan, _ profile: String) -> [Member] {
    var members: [Member] = []
    for id in chosen {
      let info = plan.fields[id]
      // Latitude and longitude of one name are a point.
      if info.name.hasSuffix("longitude"), !info.ecs.isEmpty,
        let place = members.firstIndex(where: { $0.declared.name == info.ecs && $0.declared.kind == .point })
      {
        members[place].longitude = id
        continue
      }
      let isPoint =
        info.name.hasSuffix("latitude") && !info.ecs.isEmpty
        && chosen.contains { plan.fields[$0].ecs == info.ecs && plan.fields[$0].name.hasSuffix("longitude") }
      let isHash = info.sensitivity == .identity
      let name = isFree(info.ecs) ? info.ecs : "imdump.\(space(profile)).\(info.name)"
      // A field keeps the type that it has in other documents.
      let known = ECSFields.all.first { $0.name == name }
      var declared = ECSField(
        name, known?.kind ?? (isPoint ? .point : kind(info, isHash: isHash)), [.message],
        "field \(info.name) of \(profile)" + (isHash ? ", as a keyed hash" : ""),
        isArray: !isPoint && (info.isRepeated || info.isNested || info.type == .list))
      declared.unit = unit(info, declared.kind)
      guard !members.contains(where: { $0.declared.name == name }) else { continue }
      members.append(Member(field: id, declared: declared, isHash: isHash))
    }
    return members
  }

  /// Whether documents of messages have nothing at a name or below it, and an object around it that can be added to.
  private static func isFree(_ name: String) -> Bool {
    let path = name.split(separator: ".").map(String.init)
    guard path.count > 1, path[0] != "imdump" else { return false }
    let taken = ECSFields.all.filter { $0.datasets.contains(.message) }.map(\.name)
    if taken.contains(where: { $0 == name || $0.hasPrefix(name + ".") || name.hasPrefix($0 + ".") }) { return false }
    let around = path.dropLast().joined(separator: ".") + "."
    let isOpen = ["client.", "source.", "destination.", "client.geo."].contains(around)
    return isOpen || !taken.contains { $0.hasPrefix(path[0] + ".") }
  }

  /// The object below `imdump` that has a profile's fields.
  private static func space(_ profile: String) -> String {
    let isTaken = ECSFields.all.contains { $0.name == "imdump.\(profile)" || $0.name.hasPrefix("imdump.\(profile).") }
    return isTaken ? profile + "_fields" : profile
  }

  private static func kind(_ info: FieldInfo, isHash: Bool) -> ECSField.Kind {
    if isHash { return .keyword }
    return switch info.type {
    case .integer: .long
    case .number: .double
    case .boolean: .boolean
    case .time: .date
    case .text, .bytes, .address, .list, .object: .keyword
    }
  }

  private static func unit(_ info: FieldInfo, _ kind: ECSField.Kind) -> ECSField.Unit? {
    guard kind == .long || kind == .double else { return nil }
    return switch info.unit {
    case "byte": .bytes
    case "ms": .milliseconds
    case "s": .seconds
    default: nil
    }
  }

  // MARK: Values

  /// What stands in the document of a message with these fields; `nil` where nothing does, or there is no room for it.
  func text(_ fields: [NamedField], _ identities: IdentityHash, _ budget: Budget) -> Text? {
    var out = ByteWriter(capacity: 256)
    var parts: [String] = []
    for root in roots {
      out.removeAll()
      write(root.inner, fields, identities, &out)
      parts.append(out.count > Self.maximumBytes ? "" : out.text)
    }
    guard parts.contains(where: { !$0.isEmpty }), budget.used + Text.cost(parts) <= Budget.limit else { return nil }
    return Text(parts, budget)
  }

  private func write(
    _ nodes: [Node], _ fields: [NamedField], _ identities: IdentityHash, _ out: inout ByteWriter
  ) {
    let start = out.count
    for node in nodes {
      let mark = out.count
      if mark > start { out.literal(",") }
      out.text(node.key)
      let value = out.count
      if let member = node.member {
        write(member, fields, identities, &out)
      } else {
        out.literal("{")
        let inner = out.count
        write(node.inner, fields, identities, &out)
        if out.count > inner { out.literal("}") } else { out.truncate(to: value) }
      }
      if out.count == value { out.truncate(to: mark) }
    }
  }

  /// The value of a member; nothing where the message has none.
  private func write(
    _ member: Member, _ fields: [NamedField], _ identities: IdentityHash, _ out: inout ByteWriter
  ) {
    let start = out.count
    let values = fields.values(of: member.field)
    if member.longitude >= 0 {
      guard let latitude = values.first, let longitude = fields.values(of: member.longitude).first else { return }
      out.literal("{\"lat\":")
      let middle = out.count
      write(latitude, as: .double, &out)
      let hasLatitude = out.count > middle
      out.literal(",\"lon\":")
      let end = out.count
      write(longitude, as: .double, &out)
      guard hasLatitude, out.count > end else { return out.truncate(to: start) }
      return out.literal("}")
    }
    guard member.declared.isArray else {
      if let value = values.first { write(value, member, identities, &out) }
      return
    }
    guard !values.isEmpty else { return }
    out.literal("[")
    let first = out.count
    for value in values.prefix(Self.maximumValues) {
      let mark = out.count
      if mark > first { out.literal(",") }
      let before = out.count
      write(value, member, identities, &out)
      if out.count == before { out.truncate(to: mark) }
    }
    if out.count > first { out.literal("]") } else { out.truncate(to: start) }
  }

  private func write(
    _ value: NamedField, _ member: Member, _ identities: IdentityHash, _ out: inout ByteWriter
  ) {
    guard member.isHash else { return write(value, as: member.declared.kind, &out) }
    // As the name of a client is hashed.
    switch value.value {
    case .text(let text): out.jsonString(identities.text(text.utf8))
    case .bytes(let bytes): out.jsonString(identities.text(bytes))
    case .unsigned(let number): out.jsonString(identities.text("\(number)".utf8))
    case .signed(let number): out.jsonString(identities.text("\(number)".utf8))
    case .decimal, .flag, .list, .object, .hidden: return
    }
  }

  /// A value as a field of this kind; nothing where it does not fit.
  private func write(_ named: NamedField, as kind: ECSField.Kind, _ out: inout ByteWriter) {
    let isText = [.keyword, .sentence, .date].contains(kind)
    switch named.value {
    case .text(let text):
      if isText { out.jsonString(JSONLines.cut(text)) }
    case .bytes(let bytes):
      guard isText else { return }
      out.literal("\"")
      for byte in bytes.prefix(JSONLines.maximumText / 2) { out.hex(UInt64(byte), width: 2) }
      out.literal("\"")
    case .unsigned(let number):
      guard number <= UInt64(Int64.max), kind != .boolean, kind != .date else { return }
      quoted(isText, &out) { $0.number(number) }
    case .signed(let number):
      guard kind != .boolean, kind != .date else { return }
      quoted(isText, &out) { $0.number(number) }
    case .decimal(let units, let places):
      guard kind != .boolean, kind != .long, kind != .date else { return }
      quoted(isText, &out) { $0.decimal(units, places: places) }
    case .flag(let isTrue):
      guard isText || kind == .boolean, kind != .date else { return }
      quoted(isText, &out) { $0.text(isTrue ? "true" : "false") }
    case .list, .object, .hidden: return
    }
  }

  private func quoted(_ isQuoted: Bool, _ out: inout ByteWriter, _ body: (inout ByteWriter) -> Void) {
    if isQuoted { out.literal("\"") }
    body(&out)
    if isQuoted { out.literal("\"") }
  }
}
