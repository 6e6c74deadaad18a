import IMEngine
import IMOutput
import IMProfile
import IMYAML

/// Prints the built-in profiles: `imdump profile list`.
package func listProfiles() -> ExitStatus {
  print { out in
    for name in BuiltInProfiles.names {
      guard let plan = try? BuiltInProfiles.plan(name) else { continue }
      let numbers = plan.ports.map(String.init).joined(separator: ", ")
      let ports = numbers.isEmpty ? "any port" : "port \(numbers)"
      let use = BuiltInProfiles.usual.contains(name) ? "" : "; only with --profile \(name)"
      out.text("\(plan.name) \(plan.version), \(plan.typeNames.count) types, \(ports)\(use)\n")
    }
  }
}

/// Prints the YAML of a built-in profile: `imdump profile show`.
package func showProfile(_ name: String) throws(UsageError) -> ExitStatus {
  guard let text = BuiltInProfiles.text(name) else {
    throw UsageError(
      message: "there is no built-in profile '\(name)'; there are: \(BuiltInProfiles.names.joined(separator: ", "))")
  }
  return print { $0.text(text) }
}

/// Compiles a profile file: `imdump profile check`.
package func checkProfile(_ path: String) throws(UsageError) -> ExitStatus {
  do throws(ProfileError) {
    let plan = try loadProfiles([path.contains("/") ? path : "./" + path])[0]
    return print { $0.text("\(path): profile \(plan.name), \(plan.typeNames.count) types, in order\n") }
  } catch {
    throw UsageError(message: error.description)
  }
}

/// Prints `text` on standard output.
package func printText(_ text: String) -> ExitStatus { print { $0.text(text) } }

private func print(_ body: (inout ByteWriter) -> Void) -> ExitStatus {
  let output = Output.standard()
  var out = ByteWriter()
  body(&out)
  output.drain(&out)
  guard let error = output.error else { return .success }
  if error.isBrokenPipe { return .success }
  complain(error.description)
  return .ioError
}
