package import IMEngine
import IMYAML

/// The profiles that imdump brings along.
package enum BuiltInProfiles {
  /// Those in use by default, in the order in which they are tried.
  package static let usual = ["tjp", "mqtt", "smpp", "diameter", "goim", "jt808"]
  /// The names of all; those that are not in use by default have the magic number of `tjp`.
  package static let names = usual + ["tjp-v2", "tjp-article"]

  /// The YAML of the profile called `name`; `nil` when there is none.
  package static func text(_ name: String) -> String? {
    switch name {
    case "tjp": String(decoding: PackageResources.tjp_yaml, as: UTF8.self)
    case "mqtt": String(decoding: PackageResources.mqtt_yaml, as: UTF8.self)
    case "smpp": String(decoding: PackageResources.smpp_yaml, as: UTF8.self)
    case "diameter": String(decoding: PackageResources.diameter_yaml, as: UTF8.self)
    case "goim": String(decoding: PackageResources.goim_yaml, as: UTF8.self)
    case "jt808": String(decoding: PackageResources.jt808_yaml, as: UTF8.self)
    case "tjp-v2": String(decoding: PackageResources.tjp_v2_yaml, as: UTF8.self)
    case "tjp-article": String(decoding: PackageResources.tjp_article_yaml, as: UTF8.self)
    default: nil
    }
  }

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
  static func compiled(_ name: String) -> CompiledProfile? {
    let bytes =
      switch name {
      case "tjp": PackageResources.tjp_compiled
      case "mqtt": PackageResources.mqtt_compiled
      case "smpp": PackageResources.smpp_compiled
      case "diameter": PackageResources.diameter_compiled
      case "goim": PackageResources.goim_compiled
      case "jt808": PackageResources.jt808_compiled
      case "tjp-v2": PackageResources.tjp_v2_compiled
      case "tjp-article": PackageResources.tjp_article_compiled
      default: [UInt8]()
      }
    return CompiledProfile(bytes)
  }
}
