import Glibc
import IMOutput
import IMShip
import IMSystem
import IMTerminal
import IMWire

/// How far shipping is: one line on standard error, at most ten times a second, on a terminal only.
final class ShipProgress {
  private var line: ProgressLine

  init(isActive: Bool) { line = ProgressLine(isWanted: isActive) }

  /// Shows what was done.
  func show(_ counters: ShipCounters) {
    let begun = line.begun
    line.show { now in
      let rate = Double(counters.bytes) / max(0.001, now - begun) / 1e6
      return
        "\(IMOutput.count(counters.totals.stored + counters.totals.known, "document")), \(Int(rate * 10) / 10).\(Int(rate * 10) % 10) MB/s, "
        + "\(grouped(counters.totals.refused)) refused, \(grouped(counters.lagBytes / 1_000_000)) MB and "
        + "\(grouped(UInt64(counters.lagSeconds))) s behind"
    }
  }

  /// Takes the line away.
  func end() { line.end() }
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
      if let address = options.dashboards {
        let name = DeliveryRun.shown(address)
        text += "POST \(name)\(DashboardServer.path)\n\(DashboardServer(of: engine).savedObjects)\n"
      }
    }
    let files = ShipFiles(options.paths, form: options.form)
    let folder = try? options.stateFolder ?? ShipFiles.folder(of: options.paths)
    let bytes = folder.flatMap { ShipStore.contents("\($0)/state", limit: ShipState.maximumBytes) }
    try files.scan(bytes.flatMap { ShipState($0) } ?? ShipState())
    for file in files.files where file.size > file.offset {
      text += "\(shown(file.path)): \(grouped(file.size - file.offset)) bytes from byte \(grouped(file.offset)) on\n"
    }
    return printText(text)
  }
}
