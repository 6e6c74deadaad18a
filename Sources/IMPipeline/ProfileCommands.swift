import Glibc
import IMDescriptors
import IMEngine
import IMOutput
import IMProfile
import IMRun
package import IMSystem
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
      message: "no built-in profile '\(name)'; built in are: \(BuiltInProfiles.names.joined(separator: ", "))")
  }
  return print { $0.text(text) }
}

/// What a profile can be exported to.
package enum ProfileForm: Sendable {
  /// A dissector in Lua.
  case wireshark
  /// A page that describes the protocol.
  case markdown
}

/// Makes a profile into something that others read: `imdump profile export`. Into `path`, else to standard output.
package func exportProfile(
  _ name: String, as form: ProfileForm, to path: String?
) throws(UsageError) -> ExitStatus {
  var out = ByteWriter()
  do throws(ProfileError) {
    let isFile = isProfileFile(name)
    let source = isFile ? try readSource(name, subject: "profile") : BuiltInProfiles.text(name)
    guard let source else {
      throw ProfileError(
        source: name,
        message: "no such profile; built in are: \(BuiltInProfiles.names.joined(separator: ", "))")
    }
    let place = isFile ? name : "\(name).yaml"
    switch form {
    case .wireshark: out.text(try ProfileExport.wireshark(source, source: place))
    case .markdown: out.text(try ProfileExport.markdown(source, source: place))
    }
  } catch {
    throw UsageError(message: error.description)
  }
  guard let path else { return Output.standard().finish(&out) }
  let descriptor: Int32
  do throws(CaptureError) { descriptor = try OutputFile.open(path, mode: 0o666) } catch {
    logError(error.description)
    return .ioError
  }
  defer { close(descriptor) }
  return Output(descriptor: descriptor, name: path).finish(&out)
}

/// Compiles a profile file: `imdump profile check`.
package func checkProfile(_ path: String) throws(UsageError) -> ExitStatus {
  do throws(ProfileError) {
    let name = path.contains("/") ? path : "./" + path
    try confineReader(of: [name])
    let plan = try loadProfiles([name])[0]
    return print { $0.text("\(shown(path)): profile \(plan.name), \(plan.typeNames.count) types, no errors\n") }
  } catch {
    throw UsageError(message: error.description)
  }
}

private func print(_ body: (inout ByteWriter) -> Void) -> ExitStatus {
  var out = ByteWriter()
  body(&out)
  return Output.standard().finish(&out)
}
