import IMCapture
import IMEngine
import IMMetrics
import IMOutput
import IMProfile
package import IMReport
import IMSystem
import IMTLS
import IMWire

/// What of a capture was not read, and what to do about it: lines after the summary.
extension Run {
  /// Packets that are no TCP are always named; what to do about them is said from this share of all packets on.
  private static let notableShare: UInt64 = 20

  /// Says what there is of a capture beside what was decoded.
  package func hint(_ driver: Driver) {
    for part in unread(driver) { logFolded(part.text) }
    if let path = input.writePath, decode.secrets?.hasBlocks == true, !decode.writesSecrets {
      logError(
        "\(path): written without the TLS secrets of the capture, which stay in \(input.files.joined(separator: ", ")); --write-secrets writes them"
      )
    }
  }

  /// What there is of a capture beside what was decoded, and what to do about it.
  package func unread(_ driver: Driver) -> [ReportModel.Unread] {
    [
      unknownTypes(driver), doubtful(driver), encrypted(driver), partlyEncrypted(driver), translated(driver),
      multipath(driver), undecoded(driver), datagrams(driver),
    ].compactMap { $0 } + filtered(driver) + [cut(driver)].compactMap { $0 }
  }

  /// Whether so many bytes are much of what TCP carried.
  private func isNotable(_ bytes: UInt64, _ driver: Driver) -> Bool {
    bytes > 0 && bytes >= driver.engine.reassembly.payloadBytes / Self.notableShare
  }

  /// Frames whose types no profile names, where half of all are such: the profile is likely that of another protocol or version.
  private func unknownTypes(_ driver: Driver) -> ReportModel.Unread? {
    guard let found = mistakenProfile(driver) else { return nil }
    let advice = found.other.map { "try --profile \($0)" } ?? "'imdump profile list' has the built-in profiles"
    return .init(
      text:
        "\(grouped(found.unknown)) of \(count(found.frames, "frame")) have types that profile \(found.plan) does not name; it may be another version: \(advice)",
      isNotable: true)
  }

  /// A few frames of a profile that was named by hand, on ports that it does not name.
  private func doubtful(_ driver: Driver) -> ReportModel.Unread? {
    guard decode.profiles.count == 1, plans.count == 1, decode.ports.isEmpty else { return nil }
    let summary = summary(driver)
    let frames = zip(summary.plans, summary.kinds).reduce(UInt64(0)) { $0 + ProfileSnapshot($1.0, $1.1).frames }
    let servers = driver.engine.endpoints().map(\.endpoint.port)
    guard (1...Self.fewFrames).contains(frames), let port = servers.first,
      servers.allSatisfy({ !plans[0].ports.contains($0) })
    else { return nil }
    return .init(
      text:
        "\(count(frames, "frame")) decoded as \(plans[0].name) on port \(port), which the profile does not name; so few may be chance",
      isNotable: false)
  }

  /// The number of frames up to which they may be chance.
  private static var fewFrames: UInt64 { 3 }

  /// The profile that names the types of less than half of all frames, and the built-in one that may be meant; `nil` where there is none.
  package func mistakenProfile(_ driver: Driver) -> (plan: String, other: String?, unknown: UInt64, frames: UInt64)? {
    let unknown = driver.engine.totals.issues[Int(IssueKind.unknownType.rawValue)]
    guard unknown > 0 else { return nil }
    let summary = summary(driver)
    let spoken = zip(summary.plans, summary.kinds).map { (plan: $0, frames: ProfileSnapshot($0, $1).frames) }
    let frames = spoken.reduce(0) { $0 + $1.frames }
    guard unknown >= frames / 2, let plan = spoken.max(by: { $0.frames < $1.frames })?.plan else { return nil }
    return (plan.name, plan.ports.lazy.compactMap { builtInProfile(forPort: $0) }.first, unknown, frames)
  }

  /// A built-in profile that is not in use, and is for this port.
  package func builtInProfile(forPort port: UInt16) -> String? {
    let used = Set(plans.map(\.name))
    return BuiltInProfiles.names.first { name in
      !used.contains(name) && (try? BuiltInProfiles.plan(name))?.ports.contains(port) == true
    }
  }

  private func encrypted(_ driver: Driver) -> ReportModel.Unread? {
    let totals = driver.engine.totals
    guard totals.tlsConnections > 0 else { return nil }
    var hellos: [String] = []
    for hello in driver.engine.tls.sorted(by: { $0.key < $1.key }) where hellos.count < 3 {
      let names = [hello.value.serverName, hello.value.protocols.first].compactMap { $0 }
      let text = hello.value.versionName + (names.isEmpty ? "" : " to " + names.joined(separator: ", "))
      if !hellos.contains(text) { hellos.append(text) }
    }
    let tls = totals.tlsConnections
    let share = "\(tls) of \(count(totals.connections, "TCP connection")) \(tls == 1 ? "is" : "are") TLS"
    let names = hellos.isEmpty ? "" : " (\(hellos.joined(separator: "; ")))"
    let reasons = driver.engine.tlsReasons
    let why =
      reasons.isEmpty
      ? "--keylog FILE decrypts those whose secrets it has"
      : reasons.map(\.text).joined(separator: "; ") + (reasons[0].reason.advice.map { ". \($0)" } ?? "")
    return .init(
      text: "\(share)\(names), not decrypted: \(why)", isNotable: isNotable(totals.tlsBytes, driver))
  }

  /// What was not read of TLS although there is a key log, by reason.
  private func partlyEncrypted(_ driver: Driver) -> ReportModel.Unread? {
    let unread = driver.engine.totals.tlsUnread
    guard unread.total > 0 else { return nil }
    let parts = TLSUnread.allCases.filter { unread[$0] > 0 }.sorted { unread[$0] > unread[$1] }
    let list = parts.map { "\(grouped(unread[$0])) \($0.name)" }.joined(separator: ", ")
    // What none was read of is explained already.
    let isExplained = driver.engine.totals.tlsConnections > 0
    let advice = isExplained ? nil : parts.first?.advice
    return .init(
      text: "\(count(unread.total, "byte")) of TLS not decrypted: \(list)\(advice.map { ". \($0)" } ?? "")",
      isNotable: isNotable(unread.total, driver))
  }

  /// Connections that are others as they look on the other side of a NAT.
  private func translated(_ driver: Driver) -> ReportModel.Unread? {
    let all = driver.engine.totals.translatedConnections
    guard all > 0 else { return nil }
    let known = driver.engine.translated.prefix(3).map { "\($0.client) to \($0.server) is #\($0.serial)" }
    return .init(
      text: """
        \(count(all, "connection")) captured twice, before and after address translation (NAT), and counted once: \
        \(known.joined(separator: "; "))\(all > UInt64(known.count) ? "; ..." : "")
        """, isNotable: false)
  }

  /// Connections over which the bytes of one stream are spread.
  private func multipath(_ driver: Driver) -> ReportModel.Unread? {
    let totals = driver.engine.totals
    guard totals.multipathConnections + totals.multipathJoins > 0 else { return nil }
    return .init(
      text: """
        \(count(totals.multipathConnections, "connection")) of Multipath TCP (MPTCP), with \(count(totals.multipathJoins, "further subflow")): \
        the bytes of one stream are spread over them. imdump decodes each by itself, so messages there may be cut, stray or unanswered \
        although nothing was lost
        """, isNotable: true)
  }

  /// Connections that no profile decodes: where they are all, or a twentieth of the payload.
  private func undecoded(_ driver: Driver) -> ReportModel.Unread? {
    let totals = driver.engine.totals
    let unread = totals.unreadBytes - min(totals.unreadBytes, totals.tlsBytes)
    guard unread > 0, totals.decodedConnections == 0 || isNotable(unread, driver) else { return nil }
    let payload = driver.engine.reassembly.payloadBytes
    let busiest = driver.engine.busiestUndecodedPorts(3).filter { $0.bytes > 0 }
    let ports = busiest.map {
      "\($0.port) (\($0.look.map { "\($0.text), " } ?? "")\(count($0.bytes, "byte")))"
    }
    let names = plans.map(\.name).joined(separator: ", ")
    let list =
      ports.isEmpty
      ? "" : "; the busiest \(ports.count == 1 ? "port is" : "ports are") \(ports.joined(separator: ", "))"
    let what =
      totals.decodedConnections == 0
      ? "no connection speaks \(names)\(list)"
      : "\(count(unread, "byte")) (\(percent(unread, max(unread, payload)))) of connections that speak none of \(names) are not read\(list)"
    guard let port = busiest.first(where: { $0.look == nil })?.port else {
      return .init(text: "\(what). Try --profile FILE.yaml, or --port N", isNotable: true)
    }
    if let name = builtInProfile(forPort: port) {
      return .init(text: "\(what). Try --profile \(name), which is built in for port \(port)", isNotable: true)
    }
    let file = isLive ? "FILE" : input.files.first.map { shown($0) } ?? "FILE"
    if !decode.profiles.isEmpty, let profile = decode.profiles.first(where: isProfileFile) {
      return .init(
        text:
          "\(what). 'imdump profile test \(shown(profile)) \(file)' shows where the profile does not fit; a short capture may not be evidence enough",
        isNotable: true)
    }
    return .init(
      text:
        "\(what). Try --profile FILE.yaml, or --port N; 'imdump profile new \(file) --port \(port)' drafts a profile from that traffic",
      isNotable: true)
  }

  /// Packets that are no TCP.
  private func datagrams(_ driver: Driver) -> ReportModel.Unread? {
    let totals = driver.engine.totals
    let kinds = UnreadKind.allCases.map { (kind: $0, count: driver.engine.unread($0)) }.filter { $0.count > 0 }
    let all = kinds.reduce(0) { $0 + $1.count }
    let notable = kinds.filter { !$0.kind.isHousekeeping }.reduce(0) { $0 + $1.count }
    guard notable > 0 else { return nil }
    let parts = kinds.sorted { $0.count > $1.count }.map { kind, packets -> String in
      if kind == .otherIP { return otherProtocols(packets, driver) }
      guard kind == .udp else { return "\(kind.text) \(grouped(packets))" }
      let ports = driver.engine.busiestDatagramPorts(3).map { port in
        "port \(port.port)\(Self.datagramName(port.port).map { " \($0)" } ?? "") \(grouped(port.packets))"
      }
      return "\(kind.text) \(grouped(packets)) (\(ports.joined(separator: ", ")))"
    }
    let line = "\(grouped(all)) of \(count(totals.packets, "packet")) not read: \(parts.joined(separator: ", "))"
    guard totals.decodedConnections == 0 || notable >= totals.packets / Self.notableShare else {
      return .init(text: line, isNotable: false)
    }
    return .init(text: line + ". imdump reads only TCP, plain or in tunnels; tshark reads others", isNotable: true)
  }

  /// Packets of IP protocols that are neither TCP nor counted by themselves, with the names or numbers of the busiest.
  private func otherProtocols(_ packets: UInt64, _ driver: Driver) -> String {
    let busiest = driver.engine.busiestOtherProtocols(3).map { found in
      "\(Self.protocolName(found.ipProtocol) ?? "protocol \(found.ipProtocol)") \(grouped(found.packets))"
    }
    let list = busiest.isEmpty ? "" : " (\(busiest.joined(separator: ", ")))"
    return "\(UnreadKind.otherIP.text) \(grouped(packets))\(list)"
  }

  /// Names of IP protocols (IANA, Assigned Internet Protocol Numbers).
  private static func protocolName(_ number: UInt8) -> String? {
    switch number {
    case 4, 41, 94: "IP in IP"
    case 33: "DCCP"
    case 46: "RSVP"
    case 47: "GRE"
    case 51: "AH"
    case 88: "EIGRP"
    case 89: "OSPF"
    case 103: "PIM"
    case 108: "IPComp"
    case 112: "VRRP"
    case 115: "L2TPv3"
    case 124: "IS-IS over IPv4"
    case 135: "Mobility Header"
    case 136: "UDP-Lite"
    case 137: "MPLS in IP"
    default: nil
    }
  }

  /// Names of UDP's ports that a capture of messages is likely to have.
  private static func datagramName(_ port: UInt16) -> String? {
    switch port {
    case 53: "DNS"
    case 67, 68: "DHCP"
    case 123: "NTP"
    case 137, 138: "NetBIOS"
    case 161, 162: "SNMP"
    case 443: "HTTPS"
    case 500, 4_500: "IPsec"
    case 514: "syslog"
    case 1_194: "OpenVPN"
    case 1_701: "L2TP"
    case 1_883, 1_884, 10_000: nil
    case 1_900: "SSDP"
    case 2_152: "GTP-U"
    case 3_478: "STUN"
    case 3_544: "Teredo"
    case 3_784, 4_784: "BFD"
    case 4_341: "LISP"
    case 4_789, 8_472: "VXLAN"
    case 4_790: "VXLAN-GPE"
    case 5_060, 5_061: "SIP"
    case 5_247: "CAPWAP"
    case 5_353: "mDNS"
    case 5_355: "LLMNR"
    case 5_683, 5_684: "CoAP"
    case 6_081: "Geneve"
    case 37_008: "TZSP"
    case 51_820: "WireGuard"
    default: nil
    }
  }

  /// Packets that the capture filter left out because it does not look behind tags and tunnels.
  private func filtered(_ driver: Driver) -> [ReportModel.Unread] {
    guard let filter = input.captureFilter else { return [] }
    let hidden = driver.statistics.hidden
    return HiddenKind.allCases.filter { hidden[$0] > 0 }.map { kind in
      .init(
        text:
          "\(count(hidden[kind], "packet")) left out by the filter \(hidden[kind] == 1 ? "matches" : "match") it after \(kind.text): \(kind.advice(filter))",
        isNotable: true)
    }
  }

  /// Packets that are shorter than they were on the wire.
  private func cut(_ driver: Driver) -> ReportModel.Unread? {
    let totals = driver.engine.totals
    guard totals.cutPackets > 0 else { return nil }
    return .init(
      text:
        "\(count(totals.cutPackets, "packet")) of \(grouped(totals.packets)) \(totals.cutPackets == 1 ? "was" : "were") cut when captured and cannot be read to the end; capture whole packets (-s 0)",
      isNotable: true)
  }
}

extension TLSUnread {
  /// What to do so that such bytes can be read; `nil` where nothing helps. Without a period.
  fileprivate var advice: String? {
    switch self {
    case .noKey:
      "Look for the digits in the key log: it may begin later than the connection, or be that of another process"
    case .keyLate: "Read the file again, with the whole key log"
    case .noHello: "Capture from the beginning of the connection, or give the key log of one of its ends"
    case .noServerHello: "Capture from the beginning of the connection"
    case .suite: nil
    case .tag: "The secrets may be those of another connection"
    case .limit: "Capture from the beginning of the connection, or give a shorter key log"
    case .cut, .noRecord: "Capture whole packets, and without loss"
    case .earlyRejected, .beforeTLS: nil
    }
  }
}
