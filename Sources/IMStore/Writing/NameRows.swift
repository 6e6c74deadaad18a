import IMEngine
import IMMetrics
import IMOutput

/// Tables of names, which are written when a name is met first.
struct NameRows: ~Copyable {
  private struct TypeKey: Hashable {
    let plan: UInt8
    let name: String
  }

  private var typeIDs: [TypeKey: Int64] = [:]
  /// The same by plan and `Exchange.kind`, for the types that profiles know; 0 for those that were not met.
  private var knownTypes: [Int64]
  private var statusIDs: [UInt16: Int64] = [:]
  private var addType: Statement
  private var addStatus: Statement
  private let plans: [ProtocolPlan]
  private let roles: RoleTable

  /// Writes the names that are known from the start.
  init(_ database: Connection, _ plans: [ProtocolPlan], _ options: StoreOptions) throws(StoreError) {
    let attempt = "write names"
    func fill(_ table: String, _ rows: [(Int64, String)]) throws(StoreError) {
      var add = try database.prepare("INSERT INTO \(table) VALUES (?1, ?2)", attempt)
      for (id, name) in rows {
        add.bind(1, id)
        add.bind(2, name)
        try add.run()
      }
    }
    try fill("fate", Fate.allCases.map { (Int64($0.rawValue), $0.name) })
    try fill("cause", Cause.allCases.map { (Int64($0.rawValue), $0.name) })
    try fill("checksum", ChecksumStatus.allCases.map { (Int64($0.rawValue), $0.name) })
    try fill("flag", FrameFlagNames.all.enumerated().map { (Int64(1) << Int64($0), "\($1)") })
    var capture = try database.prepare("INSERT INTO capture VALUES (?1, ?2, ?3)", attempt)
    for (i, one) in options.captures.enumerated() {
      capture.bind(1, Int64(i + 1))
      capture.bind(2, one.path)
      capture.bind(3, one.byteCount.map { Int64(clamping: $0) })
      try capture.run()
    }
    var kind = try database.prepare("INSERT INTO problem_kind VALUES (?1, ?2, ?3)", attempt)
    func addKind(_ id: Int64, _ bit: Int64?, _ name: String) throws(StoreError) {
      kind.bind(1, id)
      kind.bind(2, bit)
      kind.bind(3, name)
      try kind.run()
    }
    for (bit, name) in ProblemKinds.names.enumerated() {
      try addKind(ProblemKinds.id(ofBit: bit), Int64(1) << Int64(bit), name)
    }
    for issue in IssueKind.allCases {
      if let id = ProblemKinds.id(of: issue) { try addKind(id, nil, issue.name) }
    }
    var info = try database.prepare("INSERT INTO info VALUES (?1, ?2)", attempt)
    info.bind(1, "writer")
    info.bind(2, options.writer)
    try info.run()
    info.bind(1, "payload")
    info.bind(2, options.keepsPayload ? 1 : 0)
    try info.run()
    info.bind(1, "whole")
    info.bind(2, 0)
    try info.run()
    let addType = try database.prepare("INSERT INTO type VALUES (?1, ?2, ?3, ?4, ?5)", attempt)
    let addStatus = try database.prepare("INSERT INTO status VALUES (?1, ?2, ?3)", attempt)
    self.plans = plans
    roles = RoleTable(plans: plans)
    knownTypes = [Int64](repeating: 0, count: plans.count * 64)
    self.addType = addType
    self.addStatus = addStatus
  }

  /// A profile's name by its plan's index.
  func profile(_ plan: UInt8) -> String { Int(plan) < plans.count ? plans[Int(plan)].name : "" }

  /// What the type of an exchange is for.
  func role(of exchange: borrowing Exchange) -> FrameRole { roles[exchange.plan, exchange.kind] }

  /// Whether sessions are numbers on the wire, where the plan with this index decodes them.
  func hasNumbers(_ plan: UInt8) -> Bool { Int(plan) < plans.count && plans[Int(plan)].hasSession }

  /// The number of a message's type.
  mutating func type(_ message: borrowing StoredFacts) throws(StoreError) -> Int64 {
    let exchange = message.exchange
    let place = Int(exchange.plan) * 64 + Int(exchange.kind)
    let isKnown = exchange.kind < FrameKind.unknownIndex && place < knownTypes.count
    if isKnown, knownTypes[place] != 0 { return knownTypes[place] }
    let name = message.details?.unknownType ?? plans[Int(exchange.plan)].typeNames[Int(exchange.kind)]
    let key = TypeKey(plan: exchange.plan, name: name)
    if let id = typeIDs[key] { return id }
    let id = Int64(typeIDs.count + 1)
    addType.bind(1, id)
    addType.bind(2, profile(exchange.plan))
    addType.bind(3, name)
    addType.bind(4, message.first.role.name)
    let answers = plans[Int(exchange.plan)].answerTypes(of: Int(exchange.kind))
    addType.bind(5, answers.isEmpty ? nil : answers.map { $0.joined(separator: ",") }.joined(separator: ";"))
    try addType.run()
    typeIDs[key] = id
    if isKnown { knownTypes[place] = id }
    return id
  }

  /// The number of the status that a message's answer gave; `nil` where it gave none.
  mutating func status(_ message: borrowing StoredFacts) throws(StoreError) -> Int64? {
    try status(message.status, message.exchange.status)
  }

  /// The same of a status that exchanges know by `place`.
  mutating func status(_ status: StatusCode?, _ place: UInt16) throws(StoreError) -> Int64? {
    guard let status else { return nil }
    if let id = statusIDs[place] { return id }
    let id = Int64(statusIDs.count + 1)
    addStatus.bind(1, id)
    if let number = Int64(exactly: status.number) {
      addStatus.bind(2, number)
    } else {
      // SQLite has no larger number; the column keeps text as it is.
      addStatus.bind(2, "\(status.number)")
    }
    addStatus.bind(3, plans[Int(status.plan)].name(of: status))
    try addStatus.run()
    statusIDs[place] = id
    return id
  }
}
