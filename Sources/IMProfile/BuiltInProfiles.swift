package import IMEngine
import IMYAML

/// The profiles that imdump brings along.
package enum BuiltInProfiles {
  /// Their names, in the order in which they are tried.
  package static let names = ["tjp", "mqtt"]

  /// The YAML of the profile called `name`; `nil` when there is none.
  package static func text(_ name: String) -> String? {
    switch name {
    case "tjp": String(decoding: PackageResources.tjp_yaml, as: UTF8.self)
    case "mqtt": String(decoding: PackageResources.mqtt_yaml, as: UTF8.self)
    default: nil
    }
  }

  /// The plan of the profile called `name`.
  package static func plan(_ name: String) throws(ProfileError) -> ProtocolPlan {
    guard let text = text(name) else {
      throw ProfileError(
        source: name, message: "there is no such profile; built in are: \(names.joined(separator: ", "))")
    }
    return try ProfileCompiler.compile(text, source: "\(name).yaml")
  }
}
