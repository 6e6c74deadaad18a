import IMEngine
import IMOutput

/// What accompanies a run.
enum Companions {
  /// Every feature of a run, in the order in which they are told of it.
  ///
  /// A capture file comes first, because it may end the run; alerts before documents, which hold them, also those of the
  /// end; profiles before metrics, which name their types.
  static var kinds: [any Companion.Type] {
    [CaptureFiles.self, Alerts.self, Documents.self, ProfileReload.self, Metrics.self, StoreKeeper.self]
  }
}

extension Run {
  /// Makes the companions that `choices` ask for. Alerts are told at `desk`.
  func companions(
    _ choices: RunChoices, _ output: Output, desk: AlertDesk = AlertDesk()
  ) throws(UsageError) -> [any Companion] {
    let kinds = Companions.kinds
    // Made first, while there is nothing that they could share.
    let openers = kinds.map { kind in kind.openerOption(self, choices).flatMap { confinement.makeOpener($0) } }
    var made: [any Companion] = []
    for (kind, opener) in zip(kinds, openers) {
      let place = RunPlace(run: self, choices: choices, output: output, desk: desk, opener: opener)
      if let companion = try kind.init(place) { made.append(companion) }
    }
    return made
  }
}
