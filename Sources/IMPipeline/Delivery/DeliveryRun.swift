import CSandbox
import Glibc
import IMAlerts
import IMOutput
import IMShip
import IMWire

/// The process that delivers alerts: reads them from the run, starts hooks and posts, and waits for none of them.
///
/// Its configuration comes from the command line of the run, through the socket; what comes later can only fill in what is
/// told, so a run that a packet has fooled gains nothing here. Programs get no right that the run's user does not have.
final class DeliveryRun {
  /// Seconds from one refresh of an Alertmanager to the next, and until it forgets an alert that is refreshed no more.
  static let refresh = 60.0
  static let validity: Int64 = 240_000_000_000
  /// Alerts that an Alertmanager is kept up to date of, and alerts in one request.
  static let maximumActive = 1_000
  static let maximumPosted = 40
  /// Seconds that what is left has, once no more alerts come.
  static let closing = 10.0

  private let socket: Int32
  private var isQuiet = false
  private var hook: [String] = []
  private var addresses: [String] = []
  private var webhooks: Range<Int> = 0..<0
  private var lanes: [DeliveryLane] = []
  /// The alerts that fire, oldest first, by fingerprint.
  private var active: [(fingerprint: String, text: String)] = []
  private var refreshedAt = 0.0
  private var endsAt: Double?
  private var told: [String: Double] = [:]
  private var environment: [String] = []

  init(socket: Int32) { self.socket = socket }

  /// Runs until the run has ended and nothing is left, or its time is over.
  func run() {
    signal(SIGPIPE, SIG_IGN)
    guard configure() else { return }
    var bytes = [UInt8](repeating: 0, count: DeliveryMessage.maximumBytes)
    while true {
      let now = LiveWatch.clock()
      for index in lanes.indices { lanes[index].tend(now: now) { tell($0, now) } }
      if endsAt == nil { refreshActive(now) }
      if let endsAt {
        if lanes.allSatisfy({ $0.isIdle }) { break }
        if now >= endsAt { for index in lanes.indices { lanes[index].giveUp(now: now) } }
        if now >= endsAt + 2 * Child.grace { break }
      }
      var poller = pollfd(fd: endsAt == nil ? socket : -1, events: Int16(POLLIN), revents: 0)
      // What runs is looked at fifty times a second; else only time goes by.
      let isBusy = lanes.contains { !$0.isIdle }
      guard poll(&poller, 1, isBusy ? 20 : 1_000) > 0 else { continue }
      let count = read(socket, &bytes, bytes.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count > 0, let message = DeliveryMessage(decoding: bytes[..<count]) else {
        endsAt = now + Self.closing
        continue
      }
      take(message, now)
    }
    report()
  }

  // MARK: What comes

  /// Reads the first message, and becomes who the run will be.
  private func configure() -> Bool {
    var bytes = [UInt8](repeating: 0, count: DeliveryMessage.maximumBytes)
    let count = read(socket, &bytes, bytes.count)
    guard count > 0, let message = DeliveryMessage(decoding: bytes[..<count]),
      message.text(0) == DeliveryMessage.configuration
    else { return false }
    let user = message.text(1).split(separator: " ").compactMap { UInt32($0) }
    if user.count == 2, imdump_become(user[0], user[1]) < 0 {
      logError("delivery of alerts: cannot become user \(user[0]); nothing is delivered")
      return false
    }
    // Rights that the file gives the program are for capturing. Programs that bring their own may be what a hook is for.
    if geteuid() != 0 { _ = imdump_drop_capabilities() }
    _ = chdir("/")
    isQuiet = !message.text(2).isEmpty
    hook = message.list(3)
    let posts = message.list(4)
    addresses = posts + message.list(5)
    webhooks = 0..<posts.count
    lanes.append(DeliveryLane(name: "hook", width: 2))
    for address in addresses { lanes.append(DeliveryLane(name: Self.shown(address), width: 1)) }
    var place = environ
    while let entry = place.pointee {
      environment.append(String(cString: entry))
      place += 1
    }
    refreshedAt = LiveWatch.clock()
    return true
  }

  /// An address without the name and the password that may stand in it, and without its path, which may be a secret.
  static func shown(_ address: String) -> String {
    let scheme = address.hasPrefix("https://") ? "https://" : "http://"
    let rest = address.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    return scheme + (rest.lastIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest)
  }

  private func take(_ message: DeliveryMessage, _ now: Double) {
    guard message.text(0) == DeliveryMessage.alert else {
      endsAt = now + Self.closing
      return
    }
    let state = message.text(1), fingerprint = message.text(2),
      json = message.parts.indices.contains(3) ? message.parts[3] : []
    if !hook.isEmpty {
      lanes[0].add(
        DeliveryLane.Job(words: hook, environment: environment + message.list(4), input: json, isPost: false))
    }
    for index in webhooks { post(index, String(decoding: json, as: UTF8.self)) }
    // A note that something cannot be known is no alert.
    let notes: [AlertEvent.State] = [.held, .released]
    guard !notes.contains(where: { $0.rawValue == state }) else { return }
    let text = message.text(5)
    active.removeAll { $0.fingerprint == fingerprint }
    let isOver = state == AlertEvent.State.resolved.rawValue
    if !isOver {
      if active.count >= Self.maximumActive { active.removeFirst() }
      active.append((fingerprint, text))
    }
    tellManagers([text], endsAt: isOver ? .wallClock : Timestamp.wallClock.advanced(by: Self.validity))
  }

  /// Tells the Alertmanagers of every alert that still fires, once a minute: what is not refreshed, they forget.
  private func refreshActive(_ now: Double) {
    guard now - refreshedAt >= Self.refresh else { return }
    refreshedAt = now
    let end = Timestamp.wallClock.advanced(by: Self.validity)
    for start in stride(from: 0, to: active.count, by: Self.maximumPosted) {
      tellManagers(active[start..<min(active.count, start + Self.maximumPosted)].map(\.text), endsAt: end)
    }
  }

  private func tellManagers(_ alerts: [String], endsAt: Timestamp) {
    for index in webhooks.upperBound..<addresses.count { post(index, AlertmanagerText.body(alerts, endsAt: endsAt)) }
  }

  // MARK: What goes

  private func post(_ index: Int, _ body: String) {
    let isManager = index >= webhooks.upperBound
    var address = addresses[index]
    if isManager {
      while address.hasSuffix("/") { address.removeLast() }
      if !address.hasSuffix("/api/v2/alerts") { address += "/api/v2/alerts" }
    }
    lanes[index + 1].add(
      DeliveryLane.Job(
        words: [Deliverer.find("curl") ?? "curl", "-q", "--config", "-"], environment: environment,
        input: Array(Self.curl(address, body).utf8), isPost: true))
  }

  /// What curl reads from its standard input, so that neither address nor alert stand in the list of processes.
  static func curl(_ address: String, _ body: String) -> String {
    return """
      url = \(CurlRequest.quoted(address))
      request = "POST"
      header = "Content-Type: application/json"
      header = "Expect:"
      user-agent = "imdump/\(imdumpVersion)"
      data-raw = \(CurlRequest.quoted(body))
      proto = "=http,https"
      max-time = 5
      silent
      globoff
      output = "/dev/null"
      write-out = "%{http_code}"

      """
  }

  // MARK: What is said

  /// Says what went wrong, each thing at most once in ten seconds.
  private func tell(_ text: String, _ now: Double) {
    guard !isQuiet, now - (told[text] ?? -.infinity) >= 10 else { return }
    if told.count > 100 { told.removeAll() }
    told[text] = now
    logError(text)
  }

  private func report() {
    var parts: [String] = []
    var isLost = false
    for lane in lanes {
      let figures = lane.figures
      guard figures != DeliveryLane.Figures() else { continue }
      var words = ["\(figures.done) delivered"]
      if figures.failed > 0 { words.append("\(figures.failed) failed") }
      if figures.timedOut > 0 { words.append("\(figures.timedOut) ended because its time was over") }
      if figures.dropped > 0 { words.append("\(figures.dropped) dropped") }
      isLost = isLost || figures.failed + figures.timedOut + figures.dropped > 0
      parts.append("\(lane.name): \(words.joined(separator: ", "))")
    }
    guard !parts.isEmpty else { return }
    let text = "alerts, " + parts.joined(separator: "; ")
    let bytes = DeliveryMessage(DeliveryMessage.report, text, isLost ? DeliveryMessage.lost : "").bytes
    _ = write(socket, bytes, bytes.count)
  }
}

/// Delivers alerts when this process was started for that; false where it was not.
package func deliverAlerts(_ words: [String]) -> Bool {
  guard words == [Deliverer.word] else { return false }
  var kind: Int32 = 0
  var size = socklen_t(MemoryLayout<Int32>.size)
  guard getsockopt(Deliverer.descriptor, SOL_SOCKET, SO_TYPE, &kind, &size) == 0,
    kind == Int32(SOCK_SEQPACKET.rawValue)
  else { return false }
  _ = fcntl(Deliverer.descriptor, F_SETFD, FD_CLOEXEC)
  DeliveryRun(socket: Deliverer.descriptor).run()
  return true
}
