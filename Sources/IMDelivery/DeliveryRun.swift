import CSandbox
import Glibc
import IMAlerts
import IMOutput
import IMShip
import IMSystem
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
  /// What cannot be delivered waits here; nil without such a folder.
  private var spool: DeliverySpool?
  /// The names of the lanes in the spool, and for each when what is there is tried again, and how long the last pause was.
  private var ways: [String] = []
  private var retryAt: [Double] = [], pauses: [Double] = []
  /// Seconds between tries of what is in the spool, at first and at most.
  private static let firstPause = 5.0, longestPause = 60.0
  /// The alerts that fire, oldest first, by fingerprint.
  private var active: [(fingerprint: String, text: String)] = []
  private var refreshedAt = 0.0
  /// When the first alert of an earlier run arrived that was not sent to the Alertmanagers yet, and the seconds within which all of them
  /// arrive.
  private var resumedAt: Double?
  private static let resuming = 0.2
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
      let now = MonotonicClock.seconds()
      for index in lanes.indices {
        lanes[index].tend(now: now, over: { self.over(index, $0, $1, now) }, tell: { tell($0, $1, now) })
      }
      if endsAt == nil || resumedAt != nil { refreshActive(now) }
      if now < endsAt ?? .infinity { for index in lanes.indices { takeUp(index, now) } }
      let waits = lanes.indices.contains { isBehind($0) && retryAt[$0] < endsAt ?? .infinity }
      if let endsAt {
        if lanes.allSatisfy({ $0.isIdle }), !waits { break }
        if now >= endsAt {
          for index in lanes.indices { lanes[index].giveUp(now: now) { self.over(index, $0, $1, now) } }
        }
        if now >= endsAt + 2 * Child.grace { break }
      }
      var poller = pollfd(fd: endsAt == nil ? socket : -1, events: Int16(POLLIN), revents: 0)
      // What runs is looked at fifty times a second; else only time goes by.
      let isBusy = lanes.contains { !$0.isIdle } || endsAt != nil
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
    // Privileges that the file gives the program are for capturing. Programs that bring their own may be what a hook is for.
    if geteuid() != 0 { _ = imdump_drop_capabilities() }
    _ = chdir("/")
    isQuiet = !message.text(2).isEmpty
    hook = message.list(3)
    let posts = message.list(4)
    addresses = posts + message.list(5)
    webhooks = 0..<posts.count
    lanes.append(DeliveryLane(name: "hook", width: 2))
    for address in addresses { lanes.append(DeliveryLane(name: Self.shown(address), width: 1)) }
    ways = [DeliverySpool.way(["hook"] + hook)]
    for (place, address) in addresses.enumerated() {
      ways.append(DeliverySpool.way([place < posts.count ? "webhook" : "alertmanager", address]))
    }
    retryAt = ways.map { _ in 0 }
    pauses = ways.map { _ in Self.firstPause }
    var place = environ
    while let entry = place.pointee {
      environment.append(String(cString: entry))
      place += 1
    }
    refreshedAt = MonotonicClock.seconds()
    openSpool(message.text(6), Int64(message.text(7)) ?? DeliverySpool.usualBytes)
    return true
  }

  private func openSpool(_ path: String, _ size: Int64) {
    guard !path.isEmpty else { return }
    do throws(DeliverySpool.SpoolError) {
      let spool = try DeliverySpool(path, maximumBytes: size)
      self.spool = spool
      let found = ways.reduce(0) { $0 + spool.count(of: $1) }
      guard spool.count > 0, !isQuiet else { return }
      let others = spool.count - found
      let words = others > 0 ? "; \(others) more for other hooks and addresses stay there" : ""
      logError("--alert-spool \(path): \(IMOutput.count(UInt64(found), "alert")) to deliver\(words)")
    } catch {
      logError("--alert-spool \(path): \(error.words); alerts that cannot be delivered will be lost")
    }
  }

  /// An address without the name and the password that may stand in it, and without its path, which may be a secret.
  static func shown(_ address: String) -> String {
    let scheme = address.hasPrefix("https://") ? "https://" : "http://"
    let rest = address.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    return scheme + (rest.lastIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest)
  }

  private func take(_ message: DeliveryMessage, _ now: Double) {
    if message.text(0) == DeliveryMessage.refresh {
      if active.count < Self.maximumActive { active.append((message.text(2), message.text(3))) }
      resumedAt = resumedAt ?? now
      return
    }
    guard message.text(0) == DeliveryMessage.alert else {
      endsAt = now + Self.closing
      return
    }
    let state = message.text(1), fingerprint = message.text(2),
      json = message.parts.indices.contains(3) ? message.parts[3] : []
    if !hook.isEmpty { add(0, hookJob(.init(key: fingerprint, body: json, environment: message.list(4))), now) }
    for index in webhooks { add(index + 1, postJob(index, .init(key: fingerprint, body: json)), now) }
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
    let body = AlertmanagerText.body(
      [text], endsAt: isOver ? .wallClock : Timestamp.wallClock.advanced(by: Self.validity))
    for index in webhooks.upperBound..<addresses.count {
      add(index + 1, postJob(index, .init(key: fingerprint, body: Array(body.utf8))), now)
    }
  }

  /// Tells the Alertmanagers of every alert that still fires, once a minute: what is not refreshed, they forget.
  private func refreshActive(_ now: Double) {
    let isResumed = resumedAt.map { endsAt != nil || now - $0 >= Self.resuming } ?? false
    guard isResumed || now - refreshedAt >= Self.refresh else { return }
    resumedAt = nil
    refreshedAt = now
    let end = Timestamp.wallClock.advanced(by: Self.validity)
    for start in stride(from: 0, to: active.count, by: Self.maximumPosted) {
      let alerts = active[start..<min(active.count, start + Self.maximumPosted)].map(\.text)
      let body = Array(AlertmanagerText.body(alerts, endsAt: end).utf8)
      for index in webhooks.upperBound..<addresses.count where !isBehind(index + 1) {
        var job = postJob(index, .init(key: "", body: body))
        job.entry = nil
        lanes[index + 1].add(job) { self.over(index + 1, $0, $1, now) }
      }
    }
  }

  // MARK: What waits on the disk

  /// Whether older payloads of a lane wait on the disk, so that newer ones have to go behind them.
  private func isBehind(_ lane: Int) -> Bool { spool.map { $0.count(of: ways[lane]) > 0 } ?? false }

  /// Gives a job to its lane, or to the spool, where older ones wait.
  private func add(_ lane: Int, _ job: DeliveryLane.Job, _ now: Double) {
    // Where there is no room, the newest goes to the disk: the others come first.
    guard isBehind(lane) || spool != nil && lanes[lane].isFull, let entry = job.entry, keep(lane, entry) else {
      lanes[lane].add(job) { self.over(lane, $0, $1, now) }
      return
    }
    lanes[lane].noteSpooled()
  }

  private func keep(_ lane: Int, _ entry: DeliverySpool.Entry) -> Bool {
    guard let spool else { return false }
    if spool.append(entry, way: ways[lane]) { return true }
    let words = "--alert-spool: a payload could not be written; it is lost"
    tell(words, words, MonotonicClock.seconds())
    return false
  }

  /// What becomes of a job that is over: whether it is kept.
  private func over(_ lane: Int, _ job: DeliveryLane.Job, _ outcome: DeliveryLane.Outcome, _ now: Double) -> Bool {
    switch outcome {
    case .done:
      if let file = job.file { spool?.remove(name: file) }
      (retryAt[lane], pauses[lane]) = (now, Self.firstPause)
      // What fires is told at once when the other end has heard of what was before.
      if job.file != nil, !isBehind(lane) { refreshedAt = -.infinity }
      return false
    case .failed:
      if let file = job.file { spool?.remove(name: file) }
      return false
    case .unreachable(let retryAfter):
      retryAt[lane] = now + max(pauses[lane] * .random(in: 0.75...1.25), min(retryAfter ?? 0, DeliveryLane.longestWait))
      pauses[lane] = min(pauses[lane] * 2, Self.longestPause)
      fallthrough
    case .notTried:
      if job.file != nil { return true }
      guard let entry = job.entry else { return false }
      return keep(lane, entry)
    }
  }

  /// Tries the oldest payload of a lane that waits on the disk, when it is time.
  private func takeUp(_ lane: Int, _ now: Double) {
    guard let spool, now >= retryAt[lane], lanes[lane].isIdle, let (name, entry) = spool.first(of: ways[lane]) else {
      return
    }
    guard lane > 0 || !hook.isEmpty else { return }
    var job = lane == 0 ? hookJob(entry) : postJob(lane - 1, entry)
    job.file = name
    lanes[lane].add(job)
  }

  // MARK: What goes

  private func hookJob(_ entry: DeliverySpool.Entry) -> DeliveryLane.Job {
    DeliveryLane.Job(
      words: hook, environment: environment + entry.environment, input: entry.body, isPost: false, key: entry.key,
      entry: entry)
  }

  private func postJob(_ index: Int, _ entry: DeliverySpool.Entry) -> DeliveryLane.Job {
    let isManager = index >= webhooks.upperBound
    var address = addresses[index]
    if isManager {
      while address.hasSuffix("/") { address.removeLast() }
      if !address.hasSuffix("/api/v2/alerts") { address += "/api/v2/alerts" }
    }
    return DeliveryLane.Job(
      words: [Deliverer.find("curl") ?? "curl", "-q", "--config", "-"], environment: environment,
      input: Array(Self.curl(address, String(decoding: entry.body, as: UTF8.self)).utf8), isPost: true, key: entry.key,
      entry: entry)
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
      write-out = "%{http_code} %header{retry-after}"

      """
  }

  // MARK: What is said

  /// Says what went wrong, each kind of thing at most once in ten seconds.
  private func tell(_ text: String, _ kind: String, _ now: Double) {
    guard !isQuiet, now - (told[kind] ?? -.infinity) >= 10 else { return }
    if told.count > 100 { told.removeAll() }
    told[kind] = now
    logError(text)
  }

  private func report() {
    var parts: [String] = []
    var isLost = false
    for lane in lanes {
      let counts = lane.counts
      guard counts != DeliveryLane.Counts() else { continue }
      var words = ["\(counts.done) delivered"]
      if counts.failed > 0 { words.append("\(counts.failed) failed") }
      if counts.timedOut > 0 { words.append("\(counts.timedOut) timed out") }
      if counts.dropped > 0 { words.append("\(counts.dropped) dropped") }
      if counts.spooled > 0 { words.append("\(counts.spooled) spooled") }
      isLost = isLost || counts.failed + counts.timedOut + counts.dropped > 0
      parts.append("\(lane.name): \(words.joined(separator: ", "))")
    }
    if let spool {
      let waiting = ways.reduce(0) { $0 + spool.count(of: $1) }
      if waiting > 0 { parts.append("\(waiting) wait in the spool for the next run") }
      if spool.dropped > 0 {
        parts.append("\(spool.dropped) deleted from the spool, which was full")
        isLost = true
      }
    }
    guard !parts.isEmpty else { return }
    let text = "alerts, " + parts.joined(separator: "; ")
    let bytes = DeliveryMessage(DeliveryMessage.report, text, isLost ? DeliveryMessage.lost : "").bytes
    _ = write(socket, bytes, bytes.count)
  }
}

/// Delivers alerts when this process was started for that; false where it was not.
package func deliverAlerts(_ words: [String]) -> Bool {
  guard HelperProcess.isStarted(words, with: Deliverer.word) else { return false }
  DeliveryRun(socket: HelperProcess.descriptor).run()
  return true
}
