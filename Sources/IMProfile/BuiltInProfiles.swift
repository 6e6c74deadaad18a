package import IMEngine
import IMFields
import IMYAML

/// The profiles that imdump brings along: the YAML files of the folder `Profiles`, of which `Scripts/make-profiles` makes the
/// list. Each is read when it is asked for.
package enum BuiltInProfiles {
  /// The YAML of the profile called `name`; `nil` when there is none.
  package static func text(_ name: String) -> String? { yaml(name).map { String(decoding: $0, as: UTF8.self) } }

  /// The plan of the profile called `name`.
  package static func plan(_ name: String) throws(ProfileError) -> ProtocolPlan {
    guard let text = text(name) else {
      throw ProfileError(
        source: name, message: "there is no such profile; built in are: \(names.joined(separator: ", "))")
    }
    let source = "\(name).yaml"
    // Named fields come last in these pages. They are read when they are asked for: a start pays for each line.
    guard let named = text.firstRange(of: "\nnamed:\n") else { return try ProfileCompiler.compile(text, source: source) }
    let plan = try ProfileCompiler.compile(String(text[..<named.lowerBound]) + "\n", source: source)
    plan.name { try? ProfileCompiler.compiled(text, source: source).fields }
    return plan
  }
}
