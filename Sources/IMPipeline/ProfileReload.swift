import Glibc
import IMCapture
import IMEngine
import IMProfile
import IMYAML

/// The profiles of a live run that stand in files, to be read again when SIGHUP says so.
///
/// Nothing is needed for that but the right to read them, which the user that root becomes may lack: what a descriptor
/// that was opened before still shows is read then, and where the file was replaced, so that this is not it any more, it is
/// said what is missing.
final class ProfileReload: RunFeature {
  private struct File {
    var path: String
    var plan: Int
    /// As it was opened at the beginning, by who the process was then; negative where it was not.
    var descriptor: Int32
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
      isProfileFile(name) ? File(path: name, plan: plan, descriptor: open(name, O_RDONLY | O_CLOEXEC)) : nil
    }
    if files.isEmpty { return nil }
  }

  deinit { for file in files where file.descriptor >= 0 { close(file.descriptor) } }

  func confine(_ rights: inout Rights) { rights.hearsHangup = true }

  /// Reads all of them, and puts those in place that are in order. What is wrong with one is said, and the run goes on with
  /// what it had.
  func hangup(_ driver: Driver) throws(CaptureError) {
    for file in files {
      do throws(ProfileError) {
        let plan = plans[file.plan]
        let fresh = try ProfileCompiler.compile(text(file), source: file.path, replacing: plan)
        let outcome = driver.reload(file.plan, fresh)
        if outcome == .refused {
          throw ProfileError(
            source: file.path,
            message: "its header is a third one while connections with the two before are open; try again later")
        }
        if !isQuiet {
          logError("\(file.path): read again: profile \(plan.name) \(plan.version), \(Self.words(outcome))")
        }
      } catch {
        logError("\(error.description); the profile stays as it was")
      }
    }
  }

  private static func words(_ outcome: ReloadOutcome) -> String {
    func open(_ count: Int) -> String { "\(count) open connection\(count == 1 ? "" : "s")" }
    return switch outcome {
    case .moved(let connections): "also for \(open(connections))"
    case .kept(let connections):
      "its header is another: \(open(connections)) keep\(connections == 1 ? "s" : "") the old one"
    case .refused: "refused"
    }
  }

  private func text(_ file: File) throws(ProfileError) -> String {
    do throws(ProfileError) { return try readSource(file.path, subject: "profile") } catch {
      var now = stat()
      var before = stat()
      let isThere = stat(file.path, &now) == 0
      let isSame =
        isThere && file.descriptor >= 0 && fstat(file.descriptor, &before) == 0
        && now.st_ino == before.st_ino && now.st_dev == before.st_dev
      if isSame, lseek(file.descriptor, 0, SEEK_SET) == 0 {
        return try readSource(file.descriptor, file.path, subject: "profile")
      }
      guard geteuid() != 0, let user = getpwuid(geteuid()) else { throw error }
      var told = error
      told.message +=
        " for user \(String(cString: user.pointee.pw_name)), who has to be able to read it to read it again"
      throw told
    }
  }
}
