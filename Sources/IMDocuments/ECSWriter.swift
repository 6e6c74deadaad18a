import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// Makes Elastic Common Schema documents, version 9.4.0, of what the engine and the metrics tell.
///
/// One file for each kind of document: `ECSWriter+Message.swift` and so on. Everything that is the same in all documents of
/// a run is made once. A field that is not known is left out.
final class ECSWriter {
  /// What a profile's documents say of it.
  final class Profile {
    let name: String
    /// The member of `network` that names it, in lower case.
    let networkMember: Piece
    /// Members of `imdump`.
    let members: Piece
    /// Names of the types, by `FrameKind.index`, and the members of a message that tell its type.
    let typeNames: [Piece], typeMembers: [Piece]
    /// The member of a message that tells the version which the header's fixed bits name; `nil` where there are none.
    let version: Piece?
    /// That version alone.
    let versionText: String?
    /// The member of a checksum that tells its name, where it has one.
    let algorithm: Piece?
    let checksumName: String?
    /// The checksum's name as a part of a text.
    let checksumText: String?
    let hasSession: Bool
    /// Digits of a TLV's tag.
    let tagDigits: Int

    init(_ plan: ProtocolPlan) {
      name = JSONLines.escaped(plan.name)
      networkMember = Piece("\"protocol\":\"\(JSONLines.escaped(plan.name.lowercased()))\"")
      members = Piece("\"profile\":{\"name\":\"\(name)\",\"version\":\"\(JSONLines.escaped(plan.version))\"}")
      let names = plan.typeNames.map(JSONLines.escaped)
      typeNames = names.map { Piece($0) }
      typeMembers = zip(names, plan.typeValues).map { name, value in
        Piece("\"type\":\"\(name)\",\"type_id\":\(min(value, UInt64(Int64.max)))")
      }
      let bits = plan.pointer.pointee.magicMask & ~plan.pointer.pointee.signatureMask
      versionText =
        bits == 0 ? nil : "\((plan.pointer.pointee.magic & bits) >> UInt64(bits.trailingZeroBitCount))"
      version = versionText.map { Piece("\"version\":\"\($0)\"") }
      checksumName = plan.checksumName
      checksumText = plan.checksumName.map(JSONLines.escaped)
      algorithm = plan.checksumName.map { Piece("\"algorithm\":\"\(JSONLines.escaped($0))\"") }
      hasSession = plan.hasSession
      tagDigits = max(1, (plan.pointer.pointee.tlv.tag.mask.nonzeroBitCount + 3) / 4)
    }
  }

  let context: ECSContext
  let options: ECSOptions
  /// The run's name, with which `imdump.conn.id` begins.
  let run: Piece
  /// The run's name and the interface, if there is one: the prefix of IDs of everything that belongs to no connection.
  let runPrefix: String
  @exclusivity(unchecked) private(set) var profiles: [Profile]
  /// Members of the document, of `event` and of `imdump` that never change, by dataset.
  let heads: [Piece]
  private let eventMembers: [Piece]
  let imdumpMembers: Piece
  /// What names statuses.
  let plans: [ProtocolPlan]
  /// Whether messages' documents leave out what repeats other fields.
  let isLean: Bool
  /// A message's document from behind its time to its id, by `Fate` and by whether it was answered late.
  let messageHeads: [Piece]
  /// The members of a message that tell its direction and its fate, by direction and `Fate`; its cause, by `Cause`; and how
  /// often it is sampled. All with a comma in front.
  let fateMembers: [Piece]
  let causeMembers: [Piece] = Cause.allCases.map { Piece(",\"cause\":\"\($0.name)\"") }
  let sampled: Piece
  /// The fates' names, as a sentence has them.
  let fateNames: [Piece] = Fate.allCases.map { Piece(" \($0.name)") }
  /// By profile, and behind them that of messages without one.
  @exclusivity(unchecked) private var forms: UnsafeMutablePointer<MessageForm>
  @exclusivity(unchecked) private var formCount: Int
  /// What was made of TLVs' tags.
  let paths = TLVPaths()
  /// The same for lean documents.
  private let leanHeads: [Piece], leanEventMembers: [Piece]
  private let leanMembers: Piece
  /// Where texts are put together that are kept.
  @exclusivity(unchecked) var scratch = JSONLines()

  init(context: ECSContext, options: ECSOptions, plans: [ProtocolPlan]) {
    self.plans = plans
    self.context = context
    self.options = options
    let run = context.run.text
    self.run = Piece(run)
    runPrefix = run + (context.interface.map { "-" + $0 } ?? "")
    let interface = context.interface.map { ",\"name\":\"\(JSONLines.escaped($0))\"" }
    let sensor = JSONLines.escaped(context.sensor)
    var observer =
      "\"observer\":{\"vendor\":\"imdump\",\"product\":\"\(context.product)\",\"type\":\"sensor\",\"name\":\"\(sensor)\","
      + "\"version\":\"\(JSONLines.escaped(context.version))\""
    if let interface { observer += ",\"ingress\":{\"interface\":{\(interface.dropFirst())}}" }
    observer += "}"
    let bare = ECSDataset.allCases.map {
      "\"data_stream\":{\"type\":\"\($0.streamType)\",\"dataset\":\"\($0.name)\",\"namespace\":\"\(context.namespace)\"},"
        + "\"ecs\":{\"version\":\"9.4.0\"},"
    }
    heads = bare.map { Piece($0 + observer) }
    leanHeads = bare.map { Piece($0 + "\"observer\":{\"name\":\"\(sensor)\"}") }
    leanEventMembers = ECSDataset.allCases.map {
      Piece("\"kind\":\"\($0.eventKind)\",\"dataset\":\"\($0.name)\",\"category\":[\"network\"]")
    }
    leanMembers = Piece("\"run\":{\"id\":\"\(run)\"}")
    let types = ",\"type\":[\"protocol\",\"info\"]"
    let message = ECSDataset.message.rawValue
    eventMembers = ECSDataset.allCases.map {
      Piece(
        "\"kind\":\"\($0.eventKind)\",\"module\":\"imdump\",\"provider\":\"\(context.product)\",\"dataset\":\"\($0.name)\","
          + "\"category\":[\"network\"]")
    }
    imdumpMembers = Piece(
      "\"schema\":\"\(ECSFields.version)\",\"mode\":\"\(context.mode.rawValue)\",\"sensor\":{\"name\":\"\(sensor)\"},"
        + (interface.map { "\"interface\":{\($0.dropFirst())}," } ?? "") + "\"run\":{\"id\":\"\(run)\"}")
    profiles = plans.map { Profile($0) }
    let isLean = options.isLean
    self.isLean = isLean
    let head =
      isLean
      ? "\",\(leanHeads[message]),\"event\":{\(leanEventMembers[message])\(types)"
      : "\",\(heads[message]),\"event\":{\(eventMembers[message])\(types)"
    messageHeads = Fate.allCases.flatMap { fate in
      let outcome =
        switch fate {
        case .acked, .ackedAfterRetry: "success"
        case .rejected, .unanswered, .damaged: "failure"
        case .pending, .unacknowledged, .unknown: "unknown"
        }
      return ["", "_late"].map {
        Piece("\(head),\"action\":\"message_\(fate.name)\($0)\",\"outcome\":\"\(outcome)\",\"id\":\"")
      }
    }
    fateMembers = ["client_to_server", "server_to_client"].flatMap { way in
      Fate.allCases.map { Piece(",\"direction\":\"\(way)\",\"fate\":\"\($0.name)\"") }
    }
    if let part = options.messageLog.sampledPart {
      var text = JSONLines()
      text.resume()
      text.decimal("sampled", part)
      sampled = Piece(text.writer.text)
    } else {
      sampled = Piece("")
    }
    (forms, formCount) = Self.forms(profiles, own: isLean ? leanMembers : imdumpMembers, isLean: isLean)
  }

  deinit { forms.deallocate() }

  /// What was taken from the profiles is taken again.
  func reload(_ plans: [ProtocolPlan]) {
    profiles = plans.map { Profile($0) }
    forms.deallocate()
    (forms, formCount) = Self.forms(profiles, own: isLean ? leanMembers : imdumpMembers, isLean: isLean)
  }

  private static func forms(
    _ profiles: [Profile], own: Piece, isLean: Bool
  ) -> (UnsafeMutablePointer<MessageForm>, Int) {
    let forms = UnsafeMutablePointer<MessageForm>.allocate(capacity: profiles.count + 1)
    for (i, profile) in profiles.enumerated() {
      (forms + i).initialize(to: MessageForm(profile, own: own, isLean: isLean))
    }
    (forms + profiles.count).initialize(to: MessageForm(nil, own: own, isLean: isLean))
    return (forms, profiles.count)
  }

  /// What is the same in the documents of all messages of a plan.
  @inline(__always)
  func form(_ plan: UInt8) -> UnsafePointer<MessageForm> { UnsafePointer(forms + min(Int(plan), formCount)) }

  /// The profile with an index; `nil` for connections that nothing decodes.
  func profile(_ plan: UInt8) -> Profile? { Int(plan) < profiles.count ? profiles[Int(plan)] : nil }

  // MARK: What documents share

  /// Begins a document: its time and what never changes.
  func begin(_ dataset: ECSDataset, at time: Timestamp, isLean: Bool = false, _ lines: inout JSONLines) {
    lines.begin()
    lines.instant("@timestamp", time)
    lines.members((isLean ? leanHeads : heads)[dataset.rawValue])
  }

  /// Begins `event`, with the types of the document.
  func event(_ dataset: ECSDataset, types: StaticString, isLean: Bool = false, _ lines: inout JSONLines) {
    lines.open("event")
    lines.members((isLean ? leanEventMembers : eventMembers)[dataset.rawValue])
    lines.key("type")
    lines.writer.literal(types)
  }

  /// `event.start`, `event.end` and `event.duration`, to the microsecond.
  func span(_ start: Timestamp, _ end: Timestamp, _ lines: inout JSONLines) {
    let end = max(start, end)
    lines.instant("start", start)
    lines.instant("end", end)
    // Times of a hostile capture lie up to 585 years apart.
    let (duration, isTooLong) = (end.microseconds - start.microseconds).multipliedReportingOverflow(by: 1_000)
    lines.signed("duration", isTooLong ? .max : duration)
  }

  /// Begins a member with address and port.
  @inline(__always)
  func open(_ key: StaticString, _ endpoint: Endpoint, _ lines: inout JSONLines) {
    lines.open(key)
    lines.address("ip", endpoint.address)
    lines.number("port", endpoint.port)
  }

  /// `server` and `network` of a document that is about a server as a whole.
  func openServer(_ server: Endpoint, _ profile: Profile?, _ lines: inout JSONLines) {
    open("server", server, &lines)
    lines.close()
    lines.open("network")
    lines.members("\"transport\":\"tcp\",\"type\":\"\(server.address.isIPv6 ? "ipv6" : "ipv4")\"")
    if let profile { lines.members(profile.networkMember) }
    lines.close()
  }

  /// Begins `client`: the client as it is named, and the load balancer that stands for it, if there is one.
  func openClient(_ info: ConnectionInfo, _ lines: inout JSONLines) {
    open("client", info.client, &lines)
    nat(info, &lines)
  }

  /// The load balancer that stands for a client, if there is one.
  func nat(_ info: ConnectionInfo, _ lines: inout JSONLines) {
    guard info.peer != info.client else { return }
    open("nat", info.peer, &lines)
    lines.close()
  }

  /// The members of `network` of a connection that do not change.
  func network(_ record: ConnectionRegistry.Record, _ profile: Profile?, _ lines: inout JSONLines) {
    if record.pointee.info.peer.address.isIPv6 {
      lines.literal("\"transport\":\"tcp\",\"type\":\"ipv6\"")
    } else {
      lines.literal("\"transport\":\"tcp\",\"type\":\"ipv4\"")
    }
    if let profile { lines.members(profile.networkMember) }
    guard let id = record.pointee.communityID() else { return }
    lines.writer.literal(",\"community_id\":\"")
    lines.writer.bytes(id)
    lines.writer.byte(UInt8(ascii: "\""))
  }

  /// Begins `imdump`, with what never changes and the profile.
  func openOwn(_ plan: UInt8, isLean: Bool = false, _ lines: inout JSONLines) {
    lines.open("imdump")
    lines.members(isLean ? leanMembers : imdumpMembers)
    if let profile = profile(plan) { lines.members(profile.members) }
  }

  /// `imdump.endpoint`.
  func server(_ endpoint: Endpoint, _ lines: inout JSONLines) {
    lines.open("endpoint")
    lines.literal("\"role\":\"server\",\"key\":\"")
    lines.writer.endpoint(endpoint)
    lines.writer.byte(UInt8(ascii: "\""))
    lines.close()
  }

  /// `imdump.app_session`, when the session has a name.
  func session(_ label: ConnectionRecord.SessionLabel, _ lines: inout JSONLines) {
    switch label {
    case .none: return
    case .number(let number):
      lines.open("app_session")
      lines.key("id")
      lines.writer.byte(UInt8(ascii: "\""))
      lines.writer.number(number)
      lines.writer.byte(UInt8(ascii: "\""))
    case .name(let name):
      lines.open("app_session")
      lines.text("id", name)
    }
    lines.close()
  }
}
