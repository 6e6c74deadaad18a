import IMDelivery
import IMEngine
import IMFiles
package import IMIndexing
import IMOutput
package import IMRun
package import IMSystem
import IMWeb

/// The features of a run.
enum RunFeatures {
  /// Every feature of a run, in the order in which they are called.
  ///
  /// A capture file comes first, because it may end the run; alerts before documents, which hold them, also those of the
  /// end; profiles before alerts, whose filters name their types when both are read again, and before metrics and the page, which name them,
  /// too; the server before these, which it ends first.
  static var kinds: [any ChosenFeature.Type] {
    [
      CaptureFiles.self, ProfileReload.self, Alerts.self, Documents.self, WebListener.self, Metrics.self, LivePage.self,
      StoreKeeper.self, VerdictAtEnd.self,
    ]
  }
}

/// The features of a run that does nothing but write a store.
package func storingFeatures(_ run: Run, _ store: StoreChoices) throws(UsageError) -> [any RunFeature] {
  var choices = RunChoices()
  choices.store = store
  return try run.companions(choices, Output.standard())
}

extension Run {
  /// Creates the features that `choices` ask for. `dispatcher` passes alerts on.
  func companions(
    _ choices: RunChoices, _ output: Output, dispatcher: AlertDispatcher = AlertDispatcher()
  ) throws(UsageError) -> [any RunFeature] {
    let kinds = RunFeatures.kinds
    // Made first, while there is nothing that they could share.
    let outputBrokers = kinds.map { kind in
      kind.outputBrokerOption(self, choices).flatMap { sandbox.makeOutputBroker($0) }
    }
    let server = try server(choices)
    let written = isLive && choices.store != nil && input.writePath.map { $0 != "-" } ?? false ? WrittenPackets() : nil
    // One name for the documents and the alerts of a run.
    let isNamed = choices.documents != nil || choices.alerts.rules != nil
    let identity =
      isNamed ? runIdentity(input, decode, choices.documents ?? DocumentOptions(), choices.alerts) : nil
    var made: [any RunFeature] = []
    for (kind, outputBroker) in zip(kinds, outputBrokers) {
      let place = RunContext(
        run: self, choices: choices, identity: identity, output: output, dispatcher: dispatcher,
        outputBroker: outputBroker,
        written: written,
        server: server)
      if let companion = try kind.init(place) { made.append(companion) }
    }
    return made
  }

  /// The server that the options ask for. Its socket is bound here, before privileges are dropped. There is one at most: `--listen` also serves the
  /// metrics.
  private func server(_ choices: RunChoices) throws(UsageError) -> WebServer? {
    let hosts = choices.metrics.hosts
    guard let address = choices.page?.listen else {
      return try choices.metrics.listen.map { address throws(UsageError) in
        try WebServer(address: address, option: "--metrics-listen", hasPage: false, hosts: hosts)
      }
    }
    guard isLive else { throw UsageError(message: "--listen needs -i") }
    guard choices.metrics.listen == nil else {
      throw UsageError(message: "--listen also serves /metrics: leave out --metrics-listen")
    }
    return try WebServer(address: address, option: "--listen", hasPage: true, hosts: hosts)
  }
}
