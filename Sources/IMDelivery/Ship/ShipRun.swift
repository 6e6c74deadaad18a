import Glibc
import IMDescriptors
import IMOTLP
import IMOutput
import IMShip
package import IMSystem
import IMWire

/// Sends log files to an engine: `imdump ship`.
package func runShip(_ options: ShipOptions) throws(UsageError) -> ExitStatus {
  var options = options
  options.readScheme()
  if options.form == .otlp, options.setsUp || options.engine != nil {
    throw UsageError(message: "--setup and --engine are for Elasticsearch and OpenSearch, not for --to otlp+...")
  }
  if let path = options.metricsFile { try requireReplaceable(path, option: "--metrics-file") }
  let access = try ShipSecrets.access(options)
  let folder: String
  if let named = options.stateFolder { folder = named } else { folder = try ShipFiles.folder(of: options.paths) }
  let curl = try CurlCall(access)
  if access.isInsecure {
    logError("--insecure: anyone on the network path can pretend to be the engine, and read keys and documents")
  }
  do throws(ShipError) {
    if options.isDry { return try ShipDryRun(options).run() }
    return try ShipRun(options, curl, ShipStore(folder: folder)).run()
  } catch {
    logError(error.message)
    return error.status
  }
}

/// One run of `imdump ship`.
final class ShipRun {
  /// Bytes of documents in a request, unless the engine wants less.
  private static let batchBytes = 4 << 20
  /// Seconds from one look for new lines to the next, and from one line about a refusal to the next.
  private static let pause = 0.5, reminder = 60.0
  /// How often what shows dashboards is asked while it is away.
  private static let dashboardTries = 5

  private let options: ShipOptions
  private let curl: CurlCall
  private let store: ShipStore
  private let files: ShipFiles
  private let stopping = SignalHandlers()
  private var counters = ShipCounters()
  private var schedule = RetrySchedule()
  private var batch: ShipBatch
  private var limit = batchBytes
  private var toldAt: [String: Double] = [:]
  private var watchedAt = 0.0
  private let progress: ShipProgress
  private let gzip = Gzip()
  /// When the last of what a run has left has to be sent, once that run has ended.
  private var endsAt: Double?
  private let base: String
  /// How the process ends because dashboards could not be put; `nil` where they were.
  private var dashboardsStatus: ExitStatus?

  init(_ options: ShipOptions, _ curl: CurlCall, _ store: ShipStore) {
    self.options = options
    self.curl = curl
    self.store = store
    files = ShipFiles(options.paths, form: options.form)
    batch = ShipBatch(form: options.form)
    progress = ShipProgress(isActive: options.showsProgress && !options.isQuiet)
    base = Self.base(options.address)
  }

  /// An address without slashes at its end.
  private static func base(_ address: String) -> String { String(address.reversed().drop { $0 == "/" }.reversed()) }

  /// Ships until all is sent, or with `--follow` until the end is asked for.
  func run() throws(ShipError) -> ExitStatus {
    defer { progress.end() }
    counters.totals = store.state.totals
    let refusedBefore = counters.totals.refused, lostBefore = counters.totals.lostFiles
    // Files of the other form are refused before anything is asked or put.
    // What an earlier process held is in no memory any more, and counts as unsent.
    try scan()
    try saveFiles()
    if options.form == .ecs, try !meetEngine() {
      note()
      return counters.totals.lostFiles > lostBefore ? .ioError : options.follows ? .success : .interrupted
    }
    while !isStopped {
      // Asked first: what was written before the run ended is there then.
      let isLast = hasRunEnded
      try scan()
      batch.removeAll()
      files.fill(&batch, limit: limit)
      if batch.isEmpty {
        note()
        if let age = options.deletesAfter { _ = files.removeSent(before: Timestamp.wallClock.seconds - age) }
        guard options.follows, !isLast else { break }
        wait(Self.pause)
        continue
      }
      // What is in memory is sent even if its file is removed meanwhile. The capture that removes it counts the other lines as lost.
      try saveFiles()
      if options.form == .ecs { try send() } else { try sendTelemetry() }
    }
    note()
    progress.end()
    let isWhole = files.pendingBytes == 0
    if !options.follows, !isStopped {
      for path in files.unfinished { logError("\(shown(path)) ends in the middle of a line, which was not sent") }
    }
    if !options.isQuiet {
      let totals = counters.totals
      logError(
        "\(IMOutput.count(totals.stored, options.form == .ecs ? "document" : "record")) stored, \(grouped(totals.known)) already known, "
          + "\(grouped(totals.refused)) refused, in all runs")
    }
    if counters.totals.refused > refusedBefore || counters.totals.lostFiles > lostBefore { return .ioError }
    if isStopped && !options.follows && !isWhole { return .interrupted }
    return dashboardsStatus ?? .success
  }

  /// Whether the end is asked for, or the time for the last files of a run that has ended is over.
  private var isStopped: Bool {
    stopping.stop.isStopped || hasRunEnded && MonotonicClock.seconds() >= endsAt ?? .infinity
  }

  /// Whether the run has ended whose files these are: no more come.
  private var hasRunEnded: Bool {
    if endsAt == nil, let run = options.runSocket {
      var poller = pollfd(fd: run, events: Int16(POLLIN), revents: 0)
      if poll(&poller, 1, 0) > 0 { endsAt = MonotonicClock.seconds() + Shipper.closing }
    }
    return endsAt != nil
  }

  /// Waits so many seconds, or until the end is asked for.
  private func wait(_ seconds: Double) {
    let end = MonotonicClock.seconds() + seconds
    // The end of a run is not waited past: its last documents go at once.
    let hadRunEnded = hasRunEnded
    while !isStopped, hasRunEnded == hadRunEnded {
      let left = end - MonotonicClock.seconds()
      guard left > 0 else { return }
      _ = poll(nil, 0, Int32(min(left, 0.2) * 1_000) + 1)
      watch()
      progress.show(counters)
    }
  }

  /// Looks for files during a wait: some may come and go before it is over. The next scan reports what is wrong with them.
  private func watch() {
    let now = MonotonicClock.seconds()
    guard now - watchedAt >= Self.pause else { return }
    do throws(ShipError) { try scan(isSending: true) } catch { return }
    note()
  }

  /// Looks for files, and counts those that are gone.
  private func scan(isSending: Bool = false) throws(ShipError) {
    watchedAt = MonotonicClock.seconds()
    let before = files.lost
    try files.scan(store.state, isSending: isSending)
    guard files.lost != before else { return }
    counters.totals.lostFiles &+= files.lost.files - before.files
    counters.totals.lost &+= files.lost.lines - before.lines
    store.state.totals = counters.totals
    if !isSending { try saveFiles() }
  }

  /// Writes how far files are sent.
  private func saveFiles() throws(ShipError) {
    store.state.files = files.state
    try store.write(refused: [])
  }

  /// Says what went wrong, each thing at most once a minute.
  private func tell(_ text: String, of address: String? = nil) {
    let now = MonotonicClock.seconds()
    guard now - (toldAt[text] ?? -.infinity) >= Self.reminder else { return }
    if toldAt.count > 100 { toldAt.removeAll() }
    toldAt[text] = now
    progress.end()
    logError("\(DeliveryRun.shown(address ?? options.address)): \(text)")
  }

  // MARK: The engine

  /// Finds the engine, and puts what belongs to it where that was asked for; false where the end was asked for first.
  private func meetEngine() throws(ShipError) -> Bool {
    guard let engine = try findEngine() else { return false }
    if !engine.cluster.isEmpty {
      if !store.state.cluster.isEmpty, store.state.cluster != engine.cluster {
        logError("this is a different cluster: files are sent from the beginning")
        store.state.files = []
        files.restart()
      }
      store.state.cluster = engine.cluster
    }
    if options.setsUp { try setUp(engine) }
    if let address = options.dashboards { setUpDashboards(engine, Self.base(address)) }
    return true
  }

  /// Asks what answers; nil where the end was asked for first.
  private func findEngine() throws(ShipError) -> EngineInfo? {
    while !isStopped {
      let response = curl.make(CurlRequest("GET", base + "/"))
      switch response.verdict {
      case .done:
        if let info = EngineInfo(response.body) { return info.named(options.engine?.rawValue) }
        if let engine = options.engine { return EngineInfo(engine: engine.rawValue) }
        throw ShipError(
          .usage,
          "\(DeliveryRun.shown(options.address)): this is neither Elasticsearch nor OpenSearch; name it with --engine")
      case .denied(let text): try denied(text)
      case .later(let text): again(text, response.retryAfter)
      case .tooLarge: again("413", response.retryAfter)
      case .wrong(_, let reason): again("400: \(reason)", response.retryAfter)
      }
    }
    return nil
  }

  /// Waits a minute with `--follow`; else shipping ends.
  private func denied(_ text: String) throws(ShipError) {
    counters.denied += 1
    guard options.follows else { throw ShipError(.noPermission, "\(DeliveryRun.shown(options.address)): \(text)") }
    tell(text)
    note()
    wait(Self.reminder)
  }

  private func again(_ text: String, _ retryAfter: Double?, share: Double = 1, of address: String? = nil) {
    counters.again += 1
    if !options.isQuiet || schedule.isLong { tell("\(text); trying again", of: address) }
    note()
    wait(schedule.fail(retryAfter: retryAfter, share: share, random: .random(in: 0..<1)))
  }

  /// Puts what belongs to the engine, and reports it.
  private func setUp(_ engine: EngineInfo) throws(ShipError) {
    let setup = EngineSetup(engine, isTimeSeries: options.isTimeSeries, retention: options.retention)
    for step in setup.steps {
      while !isStopped {
        var request = CurlRequest(step.method, base + step.path)
        request.contentType = "application/json"
        let response = curl.make(request, body: Array(step.body.utf8))
        switch response.verdict {
        case .done:
          if !options.isQuiet { logError("installed \(step.path)") }
        case .denied(let text):
          try denied(text)
          continue
        case .wrong(let type, let reason) where !step.mayFail:
          throw ShipError(.ioError, "\(step.path): refused: \(type): \(reason)")
        case .later(_) where step.mayFail && (400..<500).contains(response.status), .wrong:
          if step.isReported { logError("\(step.path): not installed (\(response.status)): \(step.without)") }
        case .later(let text):
          again(text, response.retryAfter)
          continue
        case .tooLarge:
          throw ShipError(
            .ioError, "\(step.path): the engine does not accept a request of \(step.body.utf8.count) bytes")
        }
        break
      }
    }
    schedule.succeed()
  }

  /// Imports data views and dashboards into what answers at `address`, and reports it. Documents are shipped without them, too: what fails is
  /// said, and makes the status of the end.
  private func setUpDashboards(_ engine: EngineInfo, _ address: String) {
    do throws(ShipError) {
      try importDashboards(engine, address)
    } catch {
      progress.end()
      logError("\(DeliveryRun.shown(address)): \(error.message)")
      dashboardsStatus = error.status
    }
    schedule.succeed()
  }

  private func importDashboards(_ engine: EngineInfo, _ address: String) throws(ShipError) {
    guard let server = try findDashboards(engine, address) else { return }
    let objects = Array(server.savedObjects.utf8)
    let count = objects.count { $0 == 10 }
    var request = CurlRequest("POST", address + DashboardServer.path)
    request.headers = [server.header]
    request.formFile = "imdump.ndjson"
    guard let response = try ask(request, objects, address) else { return }
    guard response.verdict == .done else {
      let reason = ImportAnswer.message(response.body).map { ": \($0)" } ?? ""
      throw ShipError(.ioError, "saved objects rejected: \(response.status)\(reason)")
    }
    guard let answer = ImportAnswer(response.body) else {
      throw ShipError(.ioError, "unexpected answer to the import of saved objects")
    }
    for refusal in answer.refused { logError("\(DeliveryRun.shown(address)): refused: \(refusal)") }
    guard answer.refused.isEmpty, answer.stored == count else {
      throw ShipError(.ioError, "\(answer.stored) of \(count) saved objects imported")
    }
    if !options.isQuiet {
      logError(
        "\(DeliveryRun.shown(address)): imported \(count) saved objects into \(server.name): data views, searches, charts, a dashboard"
      )
    }
  }

  /// Asks what shows documents at `address`; where that is not said, it is what belongs to the engine. `nil` where the end was asked for
  /// first.
  private func findDashboards(_ engine: EngineInfo, _ address: String) throws(ShipError) -> DashboardServer? {
    guard let response = try ask(CurlRequest("GET", address + "/api/status"), [], address) else { return nil }
    guard response.verdict == .done else {
      throw ShipError(.usage, "neither Kibana nor OpenSearch Dashboards answers there: \(response.status)")
    }
    return DashboardServer(status: response.body) ?? DashboardServer(of: engine)
  }

  /// The answer that is final, to a request about dashboards; `nil` where the end was asked for first. What is away is tried a few times.
  private func ask(_ request: CurlRequest, _ body: [UInt8], _ address: String) throws(ShipError) -> CurlResponse? {
    var tries = 0
    while !isStopped {
      let response = curl.make(request, body: body)
      switch response.verdict {
      case .done, .tooLarge, .wrong: return response
      case .denied(let text): throw ShipError(.noPermission, text)
      case .later(let text):
        if isRefusal(httpStatus: response.status) { return response }
        tries += 1
        guard tries < Self.dashboardTries else {
          throw ShipError(.ioError, "\(text): no dashboards imported; repeat --setup when it answers")
        }
        again(text, response.retryAfter, of: address)
      }
    }
    return nil
  }

  // MARK: A batch

  /// Sends the batch until each of its documents is stored, known or refused, or the end is asked for.
  private func send() throws(ShipError) {
    var count = Int.max
    while !batch.isDone, !isStopped {
      let body = batch.body(limit: limit + (limit >> 2), count: count)
      let response = try post(
        "/_bulk?filter_path=errors,items.*.status,items.*.error", body, type: "application/x-ndjson")
      switch response.verdict {
      case .done:
        guard let answer = BulkAnswer(response.body), let change = batch.apply(answer) else {
          again("unexpected answer to _bulk", nil)
          continue
        }
        counters.done += 1
        counters.totals.stored += UInt64(change.stored)
        counters.totals.known += UInt64(change.known)
        try save()
        if change.hasProgress { schedule.succeed() }
        if let denial = change.denial {
          try denied("this key or user may not write there: \(denial)")
        } else if change.later > 0 {
          again(
            "the engine has no space for some documents", response.retryAfter,
            share: Double(change.later) / Double(max(1, batch.sentCount)))
        }
        if change.later == 0 { count = Self.twice(count) }
      case .later(let text): again(text, response.retryAfter)
      case .denied(let text): try denied(text)
      case .tooLarge:
        counters.again += 1
        if !batch.refuseSent(
          status: 413, type: "", reason: "the engine does not accept a request as large as this document")
        {
          limit = max(1 << 10, min(limit, body.count) / 2)
        }
        try save()
      case .wrong(let type, let reason):
        counters.again += 1
        // One of them is the reason: halves are tried, down to that one.
        if batch.refuseSent(status: 400, type: type, reason: reason) {
          count = .max
        } else {
          count = batch.sentCount / 2
        }
        try save()
      }
    }
    try save()
  }

  /// Sends a compressed body to a path of the address, and gives the answer.
  private func post(_ path: String, _ body: [UInt8], type: String) throws(ShipError) -> CurlResponse {
    guard let compressed = gzip.compressed(body) else {
      throw ShipError(.failure, "not enough memory to compress a request")
    }
    var request = CurlRequest("POST", base + path)
    request.contentType = type
    request.isCompressed = true
    let response = curl.make(request, body: compressed)
    counters.sentBytes += UInt64(compressed.count)
    return response
  }

  /// Twice as many, up to the greatest number.
  private static func twice(_ count: Int) -> Int { count > .max / 2 ? .max : count * 2 }

  /// Sends the lines of the batch to a receiver of OTLP, until each is taken or refused, or the end is asked for.
  private func sendTelemetry() throws(ShipError) {
    var count = Int.max
    while !isStopped, let part = batch.request(limit: 1 << 20, count: count) {
      let response = try post("/v1/\(part.signal.name)", part.body, type: "application/x-protobuf")
      switch response.telemetryVerdict {
      case .done:
        let answer = OTLPAnswer(response.body)
        let rejected = min(answer.rejected, UInt64(part.records))
        batch.storeSent()
        counters.done += 1
        counters.totals.stored += UInt64(part.records) - rejected
        counters.totals.refused += rejected
        if rejected > 0 {
          tell("records rejected permanently: \(answer.message)")
        } else if !answer.message.isEmpty, !options.isQuiet {
          tell(answer.message)
        }
        try save()
        schedule.succeed()
        count = Self.twice(count)
      case .later(let text): again(text, response.retryAfter)
      case .denied(let text): try denied(text)
      case .tooLarge:
        counters.again += 1
        if batch.refuseSent(
          status: 413, type: "", reason: "the receiver does not accept a request as large as this line")
        {
          count = .max
        } else {
          count = max(1, batch.sentCount / 2)
        }
        try save()
      case .wrong(_, let reason):
        counters.again += 1
        // One of the lines is the reason: halves are tried, down to that one.
        if batch.refuseSent(status: response.status, type: "", reason: reason) {
          count = .max
        } else {
          count = max(1, batch.sentCount / 2)
        }
        try save()
      }
    }
    try save()
  }

  /// Writes how far files are sent, and what was refused.
  private func save() throws(ShipError) {
    // Files that were found meanwhile follow these.
    let before = files.files.map(\.offset)
    var lines: [UInt8] = []
    var count: UInt64 = 0
    for (refused, line) in batch.refused(after: { before.indices.contains($0) ? before[$0] : 0 }) {
      let file = files.files[refused.file]
      if count == 0 { tell("\(file.name): a document was rejected: \(refused.text)") }
      count += UInt64(refused.records)
      lines += RefusedLine.bytes(refused, line, file: file.name)
    }
    let sent = batch.progress
    for (index, file) in sent where file.sentTo > before[index] { counters.bytes += file.sentTo - before[index] }
    files.advance(sent)
    store.state.files = files.state
    counters.totals.refused += count
    store.state.totals = counters.totals
    try store.write(refused: lines)
    note()
  }

  /// Writes the counters.
  private func note() {
    counters.lagBytes = files.pendingBytes
    let now = Timestamp.wallClock.seconds
    let oldest = files.files.first { $0.size > $0.offset }?.changed
    counters.lagSeconds = oldest.map { Double(max(0, now - $0)) } ?? 0
    if let path = options.metricsFile, let number = ShipStore.replace(path, counters.text) {
      tell("--metrics-file \(shown(path)): \(systemText(number))")
    }
    progress.show(counters)
  }
}
