package import IMEngine
import IMYAML

/// The profiles that imdump brings along: the YAML files of the folder `Profiles`, of which `Scripts/make-profiles` makes the
/// list and what is kept compiled.
package enum BuiltInProfiles {
  /// The YAML of the profile called `name`; `nil` when there is none.
  package static func text(_ name: String) -> String? { yaml(name).map { String(decoding: $0, as: UTF8.self) } }

  /// The plan of the profile called `name`, from what was compiled before.
  package static func plan(_ name: String) throws(ProfileError) -> ProtocolPlan {
    if let compiled = compiled(name) { return compiled.plan }
    guard let text = text(name) else {
      throw ProfileError(
        source: name, message: "there is no such profile; built in are: \(names.joined(separator: ", "))")
    }
    return try ProfileCompiler.compile(text, source: "\(name).yaml")
  }

  /// The profile called `name` as it is kept beside its YAML.
  static func compiled(_ name: String) -> CompiledProfile? { kept(name).flatMap(CompiledProfile.init) }
}
