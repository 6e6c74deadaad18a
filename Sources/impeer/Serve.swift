import Glibc
import IMCommandLine
import IMDocuments
import IMEndpoint
import IMMailbox
import IMSystem
import IMWire

/// `impeer serve`.
struct Serve: Command {
  static var about: About {
    About(
      "serve", "Act as a server: acknowledge messages, echo them, or forward them between users.",
      usage: ["impeer serve [--port <port>] [--echo | --sink] [<options>]"],
      discussion: """
        A message to a user goes to that user's connections. While there are none it waits, even if the user has never \
        connected. --echo sends every message back to its sender instead.

        Faults: silent=N stops answering after N frames; slow=N acknowledges N milliseconds late; crc=N corrupts the \
        checksum of every Nth frame; version=N sends major version N; duplicate=N acknowledges N times; close=N closes \
        after N frames; nat=N drops connections that were silent for N seconds. Without =N, a default is used.
        """)
  }

  var server = ServerOptions()
  var isEcho = false
  var isSink = false
  var faults: [Fault] = []
  var policy = Policy.race
  var quirks = Quirks.none
  var mailbox = MailboxSize()
  var mailboxTotal = ByteCount(256 << 20)
  var users: String?
  var tokens: String?
  var store: String?
  var sync = StoreSync.full
  var report = ReportOptions()
  var metrics: String?
  var ledger: String?
  var isJSON = false
  var isQuiet = false

  static var table: [Option<Self>] {
    [
      .group(\.server),
      .flag("--echo", \.isEcho, "Send every message back to its sender."),
      .flag("--sink", \.isSink, "Only acknowledge."),
      .list("--fault <fault>", \.faults, "Inject this fault. Repeatable."),
      .value("--policy <policy>", \.policy, "Strategy on a bad network: racing, or plain TCP for comparison."),
      .value("--quirks <whose>", \.quirks, "Speak as the article's code does (seed)."),
      .value("--mailbox <n:size>", \.mailbox, "Maximum number and bytes of letters kept for an offline user."),
      .value("--mailbox-total <size>", \.mailboxTotal, "Maximum bytes of letters kept for all users."),
      .value("--users <file>", \.users, "Accept letters only for the users in this file, one name per line."),
      .value(
        "--token-file <file>", \.tokens,
        "Accept only clients with a token in this file: a user name and a token on each line."),
      .value("--store <folder>", \.store, "Keep letters in this folder, so that accepted ones survive a restart."),
      .value(
        "--store-sync <when>", \.sync,
        "When a letter is flushed to disk: full, before it is acknowledged; normal, some time later."),
      .group(\.report),
      .value("--metrics <file>", \.metrics, "Replace this file every 15 seconds with metrics for Prometheus."),
      .value("--ledger <file>", \.ledger, "Write every connection and every frame to this file, as JSON lines."),
      .flag("--json", \.isJSON, "Print the counters as one JSON object at the end."),
      .flag("-q, --quiet", \.isQuiet, "Do not print the listening address."),
    ]
  }

  func run() -> Int32 {
    handleSignals()
    raiseDescriptorLimit()
    do throws(Complaint) {
      try checkMetricsFile()
      let names = try readUsers()
      let tokens: TokenFile? = if let path = self.tokens { try TokenFile(path) } else { nil }
      let mailbox = try openStore()
      let ledger: Ledger? = if let path = self.ledger { try Ledger(path) } else { nil }
      let security = try server.security()
      let endpoint = try server.endpoint()
      let reporter = try Reporter(report, .server, server: endpoint, isQuiet: isQuiet)
      do throws(TransportError) {
        try serve(at: endpoint, security, ledger, reporter, names, tokens, mailbox)
      } catch {
        throw Complaint(error.description, .system)
      }
      let hasAlerted = try reporter?.finish(at: monotonicNow()) ?? false
      ledger?.file.flush()
      if let problem = ledger?.file.problem { throw Complaint(problem, .cannotCreate) }
      return hasAlerted ? 2 : 0
    } catch {
      logError(error.message)
      return error.status.rawValue
    }
  }

  /// What the server's core is to do.
  var configuration: ServerConfiguration {
    var configuration = ServerConfiguration()
    configuration.service = isEcho ? .echo : isSink ? .deliver : .forward
    if quirks == .seed { configuration.speech = .seed }
    faults.apply(to: &configuration)
    configuration.mailboxes = MailboxLimits(
      letters: mailbox.letters, bytes: mailbox.bytes.bytes, total: mailboxTotal.bytes,
      sender: max(32 << 20, mailbox.bytes.bytes))
    // Large bodies are on a disk: what a mailbox takes is the limit.
    configuration.largestBody = Int(UInt32.max)
    configuration.tellsMessages = ledger != nil || !isSink
    configuration.reports = report.isWanted ? .all : []
    return configuration
  }

  /// The users that `--users` names; nil without it.
  private func readUsers() throws(Complaint) -> Set<String>? {
    guard let users else { return nil }
    return Set(try readText(users).split(whereSeparator: \.isNewline).map(String.init))
  }

  private func checkMetricsFile() throws(Complaint) {
    guard let metrics else { return }
    do throws(UsageError) { try requireReplaceable(metrics, option: "--metrics") } catch {
      throw Complaint(error.message, .usage)
    }
  }

  private func openStore() throws(Complaint) -> LetterStore? {
    guard let store else { return nil }
    do throws(MailboxError) { return try LetterStore(folder: store, sync: sync == .full ? .full : .normal) } catch {
      throw Complaint(error.description, .cannotCreate)
    }
  }

  private func serve(
    at endpoint: Endpoint, _ security: TLSContext?, _ ledger: Ledger?, _ reporter: Reporter?, _ names: Set<String>?,
    _ tokens: TokenFile?, _ store: LetterStore?
  ) throws(TransportError) {
    let loop = try EventLoop()
    var configuration = configuration
    configuration.users = names
    configuration.isDurable = store != nil
    let transport = LinuxTransport(
      ForgetfulCore(ServerCore(configuration), memory: faults.memory), loop: loop, tls: security)
    transport.tunesSockets = policy == .race && quirks == .none
    if let tokens { transport.update { core, _ in core.inner.authenticates = { tokens.admits($0) } } }
    let watcher = ServerWatcher(ledger, reporter)
    if let store {
      transport.update { store.restore(&$0.inner, $1) }
    } else {
      do throws(StoreError) {
        let bodies = try FileBodies(folder: nil, keepsRecords: false)
        transport.update { core, _ in core.inner.bodies = bodies }
      } catch {
        throw TransportError("store", reason: error.description)
      }
    }
    transport.onTurn = { core, now in
      store?.keep(&core.inner, now)
      watcher.turn(&core.inner, now)
    }
    transport.tap = Taps.joined(ledger.map { LedgerTap($0) }, reporter?.tap(client: nil))
    reporter?.metrics = { [unowned transport] in transport.core.inner.metrics }
    let bound = try transport.listen(at: endpoint)
    let snapshot = { [unowned transport, unowned loop] in
      transport.core.inner.snapshot(at: Instant(nanoseconds: loop.now))
    }
    let status = StatusSocket(loop, port: bound.port, snapshot)
    if status == nil {
      logError("no status socket, so impeer status will not work: \(String(cString: strerror(errno)))")
    }
    let metrics = self.metrics.map { MetricsText($0) }
    if !isQuiet { say("impeer: listening on \(bound)\n", to: 2) }
    while !isInterrupted, store?.problem == nil {
      try loop.turn(longest: 200_000_000)
      reporter?.advance(to: loop.now)
      metrics?.advance(to: loop.now, snapshot) { transport.core.inner.metrics }
    }
    reporter?.metrics = { [metrics = transport.core.inner.metrics] in metrics }
    if let store { transport.update { store.keep(&$0.inner, $1) } }
    status?.stop()
    metrics?.write(snapshot(), transport.core.inner.metrics)
    transport.shutDown()
    if let problem = store?.problem { throw TransportError("store", reason: problem.description) }
    if isJSON { say(watcher.summary(transport.core.inner) + "\n") }
  }
}
