import IMDescriptors
import IMEngine
import IMProfile
import IMRun
import IMSystem
import IMYAML

/// The profiles of a live run that stand in files, to be read again when SIGHUP says so: see `ReloadableFile`.
final class ProfileReload: ChosenFeature {
  private struct File {
    var file: ReloadableFile
    var plan: Int
    var path: String { file.path }
  }

  private let plans: [ProtocolPlan]
  private let files: [File]
  private let isQuiet: Bool

  /// The files among the profiles of a live run; `nil` without any.
  init?(_ place: RunContext) throws(UsageError) {
    let run = place.run
    guard run.input.interface != nil else { return nil }
    (plans, isQuiet) = (run.plans, run.report.isQuiet)
    files = zip(run.decode.profiles.indices, run.decode.profiles).compactMap { plan, name in
      isProfileFile(name) ? File(file: ReloadableFile(name), plan: plan) : nil
    }
    if files.isEmpty { return nil }
  }

  func confine(_ privileges: inout Privileges) { privileges.hearsHangup = true }

  /// Reads all of them, and puts those in place that are in order. What is wrong with one is said, and the run goes on with
  /// what it had.
  func hangup(_ driver: Driver) throws(CaptureError) {
    for file in files {
      do throws(ProfileError) {
        let plan = plans[file.plan]
        let fresh = try ProfileCompiler.compile(file.file.text("profile"), source: file.path, replacing: plan)
        let outcome = driver.reload(file.plan, fresh)
        if outcome == .refused {
          throw ProfileError(
            source: file.path,
            message: "a third header, while connections with the two earlier ones are open; try again later")
        }
        if !isQuiet {
          logError("\(file.path): reloaded: profile \(plan.name) \(plan.version), \(Self.words(outcome))")
        }
      } catch {
        logError("\(error.description); the old profile stays in use")
      }
    }
  }

  private static func words(_ outcome: ReloadOutcome) -> String {
    func open(_ count: Int) -> String { "\(count) open connection\(count == 1 ? "" : "s")" }
    return switch outcome {
    case .moved(let connections): "also for \(open(connections))"
    case .kept(let connections):
      "the header has changed: \(open(connections)) keep\(connections == 1 ? "s" : "") the old one"
    case .refused: "refused"
    }
  }
}
