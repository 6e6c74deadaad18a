import Glibc
import IMDescriptors
package import IMEngine
package import IMProfile
import IMSystem
package import IMYAML

/// Expands profile names: `auto` represents all profiles in use by default, and each name counts once.
package func profileNames(_ names: [String]) -> [String] {
  var seen: Set<String> = []
  return names.flatMap { $0 == "auto" ? BuiltInProfiles.usual : [$0] }.filter { seen.insert($0).inserted }
}

/// The names of all profiles that are built in.
package var builtInProfiles: [String] { BuiltInProfiles.names }

/// Compiles the requested profiles; by default, the usual built-in ones.
package func loadProfiles(_ names: [String]) throws(ProfileError) -> [ProtocolPlan] {
  var plans: [ProtocolPlan] = []
  for name in names.isEmpty ? BuiltInProfiles.usual : names {
    if !isProfileFile(name) {
      plans.append(try BuiltInProfiles.plan(name))
    } else {
      plans.append(try ProfileCompiler.compile(readSource(name, subject: "profile"), source: name))
    }
  }
  var seen: Set<String> = []
  for plan in plans where !seen.insert(plan.name).inserted {
    throw ProfileError(source: plan.name, message: "two profiles have this name")
  }
  guard plans.count <= 64 else { throw ProfileError(source: "--profile", message: "at most 64 profiles at once") }
  return plans
}

/// Whether `--profile NAME` names a file, and not a built-in profile.
package func isProfileFile(_ name: String) -> Bool {
  name.contains("/") || name.hasSuffix(".yaml") || name.hasSuffix(".yml")
}

/// Drops the privileges that a command does not need if it only reads these files, and prints.
package func confineReader(of paths: [String]) throws(SourceError) {
  InputFile.expect(paths)
  do throws(CaptureError) { try Sandbox.ofReader.enter(folders: [], mayWrite: false) } catch {
    throw SourceError(source: error.subject, message: error.message)
  }
}
