package import IMReport
import IMSystem

/// How a page is written, beside what it shows.
package struct PageStyle: Sendable {
  /// The percentiles of round trips that are drawn and shown.
  package var percentiles = PagePercentiles.usual
  /// Whether the page says when it was made.
  package var isStamped = false
  /// Whether the page holds what it shows as JSON, too.
  package var embedsData = false

  /// As usual.
  package init() {}

  /// Sets what it asks for in `model`.
  func apply(to model: inout ReportModel) {
    model.percentiles = percentiles
    model.embedsData = embedsData
    model.zone = .local
    if isStamped { model.madeAt = .wallClock }
  }
}
