import IMDescriptors
import IMEngine
import IMMetrics
import IMOutput
import IMReport
import IMRun
import IMSystem
import IMWeb
import IMWire

/// The page of a live run: what gathers it, and who gets it. It is made when somebody asks, at most once a second, between two batches.
final class LivePage: ChosenFeature {
  private let run: Run
  private let sink: PageSink
  private let server: WebServer?
  private let hashes: [String: String]
  private let style: PageStyle
  private let bytes = PacketBytes()
  /// What had been counted when each slice of the window began, by the slice's number.
  private var marks: [Int64: SummaryMark] = [:]

  /// The page, where the choices ask for one.
  init?(_ place: RunContext) throws(UsageError) {
    guard let options = place.choices.page else { return nil }
    run = place.run
    server = place.server
    style = place.choices.pageStyle
    // Read while files can be opened.
    hashes = place.run.profileHashes
    sink = PageSink(
      plans: run.plans, window: PageWindow(seconds: options.window?.seconds ?? PageOptions.defaultSeconds))
  }

  var needs: EngineOptions.Needs { PageSink.needs }
  var hearsMinutes: Bool { true }

  func makeSink(before other: (any EngineSink)?) -> (any EngineSink)? { other.map { PairSink(sink, $0) } ?? sink }

  func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int {
    self.bytes.count(records)
    return records.count
  }

  /// The packets of a minute are in, and the next one belongs to another: what follows counts from here.
  func minuteEnded(_ driver: Driver) {
    guard let last = driver.engine.totals.lastAt else { return }
    mark(sink.window.number(of: last) + 1, driver)
  }

  private func mark(_ number: Int64, _ driver: Driver) {
    sink.add(bytes.takeSeries())
    marks[number] = SummaryMark(run.summary(driver))
    // The last one from before the window is where it begins.
    guard let first = marks.keys.filter({ $0 <= number - sink.window.count }).max() else { return }
    for key in marks.keys where key < first { marks[key] = nil }
  }

  func afterBatch(_ driver: Driver) throws(CaptureError) {
    guard let server, !server.takeRequests([.page]).isEmpty else { return }
    var page = model(driver)
    page.live?.isRefreshed = true
    server.publish(page: Page().html(page))
  }

  /// What the page shows now.
  func model(_ driver: Driver) -> ReportModel {
    let whole = run.summary(driver)
    if let last = whole.ledger.lastAt { sink.advance(to: last) }
    sink.add(bytes.takeSeries())
    let number = sink.window.number(of: sink.begin)
    // Where nothing was counted before the window, all is of the window.
    let summary = marks.filter { $0.key <= number }.max { $0.key < $1.key }?.value.since(whole) ?? whole
    var model = sink.model(
      interface: run.input.interface ?? "", filter: run.input.captureFilter, summary: summary, whole: whole)
    model.profiles = run.reportProfiles(whole, hashes)
    model.unread = run.unread(driver)
    style.apply(to: &model)
    return model
  }
}
