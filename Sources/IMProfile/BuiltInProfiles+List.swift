// Made by Scripts/make-profiles of the files in Profiles. Do not edit.

extension BuiltInProfiles {
  /// Those in use by default, in the order in which they are tried: by `place` in their YAML.
  package static let usual = ["tjp", "mqtt", "smpp", "diameter", "goim", "jt808"]
  /// The names of all; those without a `place` have to be asked for.
  package static let names = usual + ["tjp-article", "tjp-v2"]

  /// The YAML of the profile called `name`.
  static func yaml(_ name: String) -> [UInt8]? {
    switch name {
    case "tjp": PackageResources.tjp_yaml
    case "mqtt": PackageResources.mqtt_yaml
    case "smpp": PackageResources.smpp_yaml
    case "diameter": PackageResources.diameter_yaml
    case "goim": PackageResources.goim_yaml
    case "jt808": PackageResources.jt808_yaml
    case "tjp-article": PackageResources.tjp_article_yaml
    case "tjp-v2": PackageResources.tjp_v2_yaml
    default: nil
    }
  }
}
