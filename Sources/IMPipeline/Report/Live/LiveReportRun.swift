import IMDescriptors
import IMEngine
import IMOutput
import IMReport
package import IMRun
package import IMSystem

/// Captures, serves the page of what the last part of it came to, and writes that page to `path` when the capture ends:
/// `imdump report -i`. One of the two is enough.
package func runLiveReport(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, path: String?, page: PageOptions,
  style: PageStyle
) throws(UsageError) -> ExitStatus {
  guard path != nil || page.listen != nil else {
    throw UsageError(
      message: "name the address to serve the page on with --listen, or the page to write at the end with -o")
  }
  let run = try Run(input: input, decode: decode, report: report)
  var choices = RunChoices()
  choices.page = page
  choices.pageStyle = style
  let output = Output.standard()
  let companions = try run.companions(choices, output)
  let file: ReportFile?
  do throws(CaptureError) { file = try path.map { path throws(CaptureError) in try ReportFile(live: path) } } catch {
    logError(error.description)
    return .ioError
  }
  let driver = run.driver(run.engine(companions: companions), companions)
  let errors = run.lead(driver)
  let status = run.conclude(driver, errors, output)
  guard let file, let path, let page = companions.lazy.compactMap({ $0 as? LivePage }).first else { return status }
  if status == .noInput || status == .noPermission { return status }
  let model = page.model(driver)
  let text = Page().html(model)
  do throws(CaptureError) { try file.write(text) } catch {
    logError(error.description)
    return max(status, ExitStatus(error))
  }
  if !report.isQuiet, path != "-" {
    logError("\(path): \(count(UInt64(text.count), "byte"))")
    logError(Verdict(model).headline)
  }
  return status
}
