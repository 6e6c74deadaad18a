package import IMAlerts
package import IMDocuments
package import IMEngine
import IMOutput
import IMProfile
package import IMSystem
import IMYAML

/// Rules that an endpoint is held against, and where its alerts go: the same files, hooks and addresses as a capture's.
package final class PeerAlerts {
  /// The rules, in the file's order; none where no file is given.
  package let rules: [AlertRule]
  /// How the endpoint's frames are laid out, and what its fields are called.
  package let plan: ProtocolPlan
  private let deliverer: Deliverer?
  private let sensor: String
  private let isQuiet: Bool
  private let run: RunIdentity

  /// The alerts that `options` ask for. What delivers them is started here.
  package init(_ options: AlertOptions, sensor: String?, isQuiet: Bool) throws(UsageError) {
    do throws(ProfileError) {
      plan = try BuiltInProfiles.plan("tjp")
    } catch {
      throw UsageError(message: error.description)
    }
    self.sensor = sensor ?? hostName()
    self.isQuiet = isQuiet
    var random = SystemRandomNumberGenerator()
    run = RunIdentity(random: random.next(), random.next())
    guard let path = options.rules else {
      if options.isDelivered {
        throw UsageError(message: "--hook, --webhook and --alertmanager need --rules")
      }
      rules = []
      deliverer = nil
      return
    }
    rules = try loadRules(path, profiles: [plan.name]).rules
    if let rule = rules.first(where: { $0.scope == .owner }) {
      throw UsageError(message: "rule \(rule.name): the scope owner is for captures of a host's sockets: imdump -i")
    }
    let ofMessages: [AlertGrouping?] = [.session, .type, .owner]
    if let rule = rules.first(where: { $0.grouping != nil && ofMessages.contains($0.grouping) }) {
      throw UsageError(
        message: "rule \(rule.name): an endpoint counts by client and by network; other groups are for captures")
    }
    deliverer =
      options.isDelivered ? try Deliverer(options, isQuiet: isQuiet, user: nil, sensor: self.sensor) : nil
  }

  /// What documents say of where they come from.
  package func context(version: String) -> ECSContext {
    ECSContext(run: run, sensor: sensor, mode: .live, version: version, product: programName)
  }

  /// Prints an alert on standard error, and delivers it.
  package func take(_ event: AlertEvent) {
    var event = event
    event.run = run.text
    if !isQuiet {
      var line = ByteWriter(capacity: 256)
      var style = TextStyle()
      style.zone = .local
      var text = AlertTextWriter(style: style)
      text.write(event, to: &line)
      Output(descriptor: 2, name: "standard error").drain(&line)
    }
    deliverer?.send(event)
  }

  /// Waits for what is being delivered, and says what became of it; false where something was lost.
  package func end() -> Bool { deliverer?.end() ?? true }
}
