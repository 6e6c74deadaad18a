import Glibc
package import IMAlerts
import IMDescriptors
import IMEngine
import IMOutput
package import IMSystem
import IMWire

/// Hands alerts to the process that delivers them, and never waits for it.
///
/// A capture may run no program and open no connection (`Sandbox`), so another process does: this same program again,
/// started before privileges are dropped, with the privileges of the user that the run switches to. Between them is a socket that holds some hundred
/// alerts. If it is full, or the helper does not read it, an alert is dropped and counted.
package final class Deliverer {
  /// How this program is called to deliver.
  static let word = "--deliver-alerts"
  /// Seconds that the run waits at its end for what is under way; see `DeliveryRun.closing`.
  private static let patience = 13.0

  private let socket: Int32
  private let json: AlertJSONWriter
  private let sensor: String?
  private let isQuiet: Bool
  private var lines = JSONLines()
  private var dropped: UInt64 = 0
  /// Alerts that the other process took.
  private var handed = 0
  private var isGone = false

  /// Starts the process. Throws for what cannot be delivered to: a hook that is no program, an address that is none.
  package init(_ options: AlertOptions, isQuiet: Bool, user: Sandbox.User?, sensor: String?) throws(UsageError) {
    let hook = try Self.resolve(options.hook)
    for address in options.webhooks + options.alertmanagers { try Self.check(address) }
    if !(options.webhooks + options.alertmanagers).isEmpty, Self.find("curl") == nil {
      throw UsageError(message: "--webhook and --alertmanager need curl (apt-get install curl)")
    }
    let spool = try options.spool.map { path throws(UsageError) in try Self.makeSpool(path, user) }
    self.sensor = sensor
    self.isQuiet = isQuiet
    json = AlertJSONWriter(sensor: sensor)
    socket = try HelperProcess.start(Self.word, purpose: "delivery of alerts")
    // As much as the kernel allows: a rule may tell a hundred alerts at once.
    var room: Int32 = 1 << 20
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    let user = user.map { "\($0.uid) \($0.gid)" } ?? ""
    send(
      DeliveryMessage(
        DeliveryMessage.configuration, user, isQuiet ? "quiet" : "", DeliveryMessage.list(hook),
        DeliveryMessage.list(options.webhooks), DeliveryMessage.list(options.alertmanagers), spool ?? "",
        "\(options.spoolLimit)"))
  }

  /// The whole path of the spool's folder, which is made where there is none, for the user that the run becomes.
  private static func makeSpool(_ path: String, _ user: Sandbox.User?) throws(UsageError) -> String {
    let isMade = mkdir(path, 0o700) == 0
    var status = stat()
    if !isMade, errno != EEXIST { throw UsageError(message: "--alert-spool \(path): \(systemText(errno))") }
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, let real = realpath(path, nil) else {
      throw UsageError(message: "--alert-spool \(path): \(systemText(ENOTDIR))")
    }
    defer { free(real) }
    if isMade, let user { user.own(folder: path) }
    return String(cString: real)
  }

  deinit { close(socket) }

  /// Hands an alert on.
  package func send(_ event: AlertEvent) {
    json.write(event, to: &lines)
    let text = lines.writer.text
    lines.writer.removeAll()
    let isTaken = send(
      DeliveryMessage(
        DeliveryMessage.alert, event.state.rawValue, event.fingerprint, text,
        DeliveryMessage.list(Self.environment(event, sensor)), AlertmanagerText.alert(event, sensor: sensor)))
    if isTaken { handed += 1 }
  }

  /// Sends an alert of an earlier run that still fires to the Alertmanagers again: they forget what is not refreshed.
  package func refresh(_ event: AlertEvent) {
    send(
      DeliveryMessage(
        DeliveryMessage.refresh, event.state.rawValue, event.fingerprint,
        AlertmanagerText.alert(event, sensor: sensor)))
  }

  /// Tells that no more alerts come, waits until those on their way are delivered or given up, and says what became of them;
  /// also with `-q`, where some were lost. Whether all were delivered.
  package func end() -> Bool {
    let begun = MonotonicClock.seconds()
    // Here there is time to wait for room.
    let last = DeliveryMessage(DeliveryMessage.end).bytes
    while !isGone, write(socket, last, last.count) < 0, errno == EAGAIN || errno == EINTR,
      MonotonicClock.seconds() - begun < Self.patience
    {
      var poller = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
      _ = poll(&poller, 1, 100)
    }
    var isTold = isQuiet
    var isLost = false, isReported = false
    var bytes = [UInt8](repeating: 0, count: DeliveryMessage.maximumBytes)
    while !isGone {
      let left = Self.patience - (MonotonicClock.seconds() - begun)
      guard left > 0 else {
        logError("delivery of alerts: not finished after \(Int(Self.patience)) s")
        return false
      }
      var poller = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      guard poll(&poller, 1, isTold ? Int32(left * 1_000) + 1 : 1_000) > 0 else {
        if !isTold { logError("alerts are still being delivered, for at most \(Int(DeliveryRun.closing)) s more") }
        isTold = true
        continue
      }
      let count = read(socket, &bytes, bytes.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count > 0 else { break }
      guard let report = DeliveryMessage(decoding: bytes[..<count]), report.text(0) == DeliveryMessage.report
      else { continue }
      isReported = true
      isLost = report.text(2) == DeliveryMessage.lost
      if isLost || !isQuiet { logError(report.text(1)) }
    }
    if dropped > 0 { logError("\(IMOutput.count(dropped, "alert")) not delivered: no receiver accepted them") }
    if handed > 0, !isReported { logError("delivery of alerts: the outcome is not known") }
    return dropped == 0 && !isLost && (handed == 0 || isReported)
  }

  /// Whether the other process took the message; one that it did not is counted.
  @discardableResult
  private func send(_ message: DeliveryMessage) -> Bool {
    let bytes = message.bytes
    guard !isGone, bytes.count <= DeliveryMessage.maximumBytes else {
      dropped += 1
      return false
    }
    while true {
      if write(socket, bytes, bytes.count) == bytes.count { return true }
      if errno == EINTR { continue }
      dropped += 1
      guard errno != EAGAIN else { return false }
      isGone = true
      logError("delivery of alerts: \(systemText(errno)); alerts are printed, but not delivered")
      return false
    }
  }

  // MARK: What is delivered where

  /// The hook with the path of its program, which must be one.
  static func resolve(_ hook: [String]) throws(UsageError) -> [String] {
    guard let program = hook.first else { return [] }
    guard let path = find(program) else { throw UsageError(message: "--hook \(program): no such program") }
    return [path] + hook.dropFirst()
  }

  /// The absolute path of a program, which is looked for in PATH when its name has no slash; nil where there is none.
  package static func find(_ program: String) -> String? {
    var candidates = [program]
    if !program.contains("/") {
      let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
      candidates = path.split(separator: ":").map { "\($0)/\(program)" }
    }
    for candidate in candidates {
      var status = stat()
      guard stat(candidate, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(candidate, X_OK) == 0 else {
        continue
      }
      guard let real = realpath(candidate, nil) else { return nil }
      defer { free(real) }
      // The name by which it was called stays: some programs are several.
      let last = candidate.split(separator: "/").last.map(String.init) ?? candidate
      guard candidate.hasPrefix("/") else {
        let folder = realpath(
          String(candidate.dropLast(last.utf8.count)).isEmpty ? "." : String(candidate.dropLast(last.count)), nil)
        defer { free(folder) }
        return folder.map { String(cString: $0) + "/" + last }
      }
      return candidate
    }
    return nil
  }

  private static func check(_ address: String) throws(UsageError) {
    let isPlain = address.utf8.allSatisfy { $0 > 32 && $0 < 127 }
    guard isPlain, address.hasPrefix("http://") || address.hasPrefix("https://"), address.utf8.count <= 2_048 else {
      throw UsageError(message: "'\(address)' is not an http:// or https:// address")
    }
  }

  /// What a hook finds in its environment: numbers, addresses, words of the rules file and names of
  /// this host's units; nothing that came off the wire.
  static func environment(_ event: AlertEvent, _ sensor: String?) -> [String] {
    var out = ByteWriter(capacity: 64)
    func text(_ body: (inout ByteWriter) -> Void) -> String {
      out.removeAll()
      body(&out)
      return out.text
    }
    var plain = event
    // What a client called itself is not for an environment.
    if event.group?.isNamedByClient == true { plain.group = nil }
    var pairs = [
      ("NAME", event.rule.name), ("STATE", event.state.rawValue), ("ID", event.id), ("FINGERPRINT", event.fingerprint),
      ("SEVERITY", event.rule.severity.rawValue), ("SUMMARY", event.rule.summary), ("REASON", plain.reason),
      ("METRIC", event.rule.metric.rawValue), ("OPERATOR", event.rule.comparison.rawValue),
      ("AT", text { $0.instant(event.at) }), ("SINCE", text { $0.instant(event.since) }),
    ]
    if let value = event.value { pairs.append(("VALUE", text { $0.decimal(value, 6) })) }
    if event.rule.comparison != .absent { pairs.append(("THRESHOLD", text { $0.decimal(event.rule.threshold, 6) })) }
    if let profile = event.profile { pairs.append(("PROFILE", profile)) }
    if let server = event.server { pairs.append(("SERVER", text { $0.endpoint(server) })) }
    if let client = event.connection?.client { pairs.append(("CLIENT", text { $0.endpoint(client) })) }
    if let direction = event.direction { pairs.append(("DIRECTION", direction.shortName)) }
    if let owner = event.owner { pairs.append(("OWNER", owner)) }
    if let group = event.group, let grouping = event.rule.grouping {
      pairs.append(("BY", grouping.name))
      if !group.isNamedByClient { pairs.append(("GROUP", group.name)) }
    }
    if let evidence = event.evidence { pairs.append(("EVIDENCE", evidence)) }
    if let runbook = event.rule.runbook { pairs.append(("RUNBOOK", runbook)) }
    if let run = event.run { pairs.append(("RUN", run)) }
    if let sensor { pairs.append(("SENSOR", sensor)) }
    return pairs.map { "IMDUMP_ALERT_\($0.0)=\($0.1)" }
  }
}
