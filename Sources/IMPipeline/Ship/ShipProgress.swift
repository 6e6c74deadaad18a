import Glibc
import IMOutput
import IMShip
import IMTerminal
import IMWire

/// How far shipping is: one line on standard error, at most ten times a second, on a terminal only.
final class ShipProgress {
  private let isActive: Bool
  private let begun = LiveWatch.clock()
  private var shownAt: Double
  private var isShown = false

  init(isActive: Bool) {
    self.isActive = isActive && isatty(STDERR_FILENO) == 1
    shownAt = begun + 0.4
  }

  /// Shows what was done.
  func show(_ counters: ShipCounters) {
    guard isActive else { return }
    let now = LiveWatch.clock()
    guard now - shownAt >= 0.1 else { return }
    shownAt = now
    isShown = true
    let rate = Double(counters.bytes) / max(0.001, now - begun) / 1e6
    let text =
      "\(IMOutput.count(counters.totals.stored + counters.totals.known, "document")), \(Int(rate * 10) / 10).\(Int(rate * 10) % 10) MB/s, "
      + "\(grouped(counters.totals.refused)) refused, \(grouped(counters.lagBytes / 1_000_000)) MB and "
      + "\(grouped(UInt64(counters.lagSeconds))) s behind"
    let width = max(1, (Output(descriptor: STDERR_FILENO, name: "standard error").terminalWidth ?? 80) - 1)
    var line = "\r\u{1b}[K" + prefix(text, cells: width)
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Takes the line away.
  func end() {
    guard isShown else { return }
    isShown = false
    _ = write(STDERR_FILENO, "\r\u{1b}[K", 4)
  }
}

/// Prints what `imdump ship` would put and send: `--dry-run`.
struct ShipDryRun {
  private let options: ShipOptions

  init(_ options: ShipOptions) { self.options = options }

  func run() throws(ShipError) -> ExitStatus {
    var text = ""
    if options.setsUp {
      let engine = EngineInfo(engine: options.engine?.rawValue ?? "elasticsearch")
      for step in EngineSetup(engine, isTimeSeries: options.isTimeSeries, retention: options.retention).steps {
        text += "\(step.method) \(step.path)\n\(step.body)\n"
      }
    }
    let files = ShipFiles(options.paths)
    let folder = try? options.stateFolder ?? ShipFiles.folder(of: options.paths)
    let bytes = folder.flatMap { ShipStore.contents("\($0)/state", limit: ShipState.maximumBytes) }
    try files.scan(bytes.flatMap { ShipState($0) } ?? ShipState())
    for file in files.files where file.size > file.offset {
      text += "\(shown(file.path)): \(grouped(file.size - file.offset)) bytes from byte \(grouped(file.offset)) on\n"
    }
    return printText(text)
  }
}
