import IMDescriptors
import IMRun
import IMSystem
import IMWeb

/// The server of a run as a feature. It comes first, so that the features with texts for it find it.
final class WebListener: ChosenFeature {
  private let server: WebServer
  private let isQuiet: Bool

  init?(_ place: RunContext) throws(UsageError) {
    guard let server = place.server else { return nil }
    self.server = server
    isQuiet = place.run.report.isQuiet
  }

  func confine(_ privileges: inout Privileges) { privileges.listener = server.descriptor }

  /// Starts to serve.
  func confined() throws(CaptureError) {
    try server.begin()
    guard !isQuiet else { return }
    if server.offers.hasPage { logError("serving the page at \(server.url)") }
    logError("serving metrics at \(server.url)metrics")
  }

  /// Stops before texts can no longer be made.
  func finish(_ driver: Driver) { server.end() }
}
