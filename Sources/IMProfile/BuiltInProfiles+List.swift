// Made by Scripts/make-profiles of the files in Profiles. Do not edit.

extension BuiltInProfiles {
  /// Those in use by default, in the order in which they are tried: by `place` in their YAML.
  package static let usual = [
    "tjp", "mqtt", "smpp", "diameter", "goim", "jt808", "stomp", "nats", "socketio", "phoenix", "signalr", "ocpp",
    "gbt32960",
  ]
  /// The names of all; those without a `place` have to be asked for.
  package static let names =
    usual + [
      "amqp091", "cmpp", "iec104", "modbus", "redis", "sgip", "smgp", "teamtalk", "tjp-article", "tjp-v2", "turms",
      "wukongim", "xmpp",
    ]

  /// The YAML of the profile called `name`.
  static func yaml(_ name: String) -> [UInt8]? {
    switch name {
    case "tjp": PackageResources.tjp_yaml
    case "mqtt": PackageResources.mqtt_yaml
    case "smpp": PackageResources.smpp_yaml
    case "diameter": PackageResources.diameter_yaml
    case "goim": PackageResources.goim_yaml
    case "jt808": PackageResources.jt808_yaml
    case "stomp": PackageResources.stomp_yaml
    case "nats": PackageResources.nats_yaml
    case "socketio": PackageResources.socketio_yaml
    case "phoenix": PackageResources.phoenix_yaml
    case "signalr": PackageResources.signalr_yaml
    case "ocpp": PackageResources.ocpp_yaml
    case "gbt32960": PackageResources.gbt32960_yaml
    case "amqp091": PackageResources.amqp091_yaml
    case "cmpp": PackageResources.cmpp_yaml
    case "iec104": PackageResources.iec104_yaml
    case "modbus": PackageResources.modbus_yaml
    case "redis": PackageResources.redis_yaml
    case "sgip": PackageResources.sgip_yaml
    case "smgp": PackageResources.smgp_yaml
    case "teamtalk": PackageResources.teamtalk_yaml
    case "tjp-article": PackageResources.tjp_article_yaml
    case "tjp-v2": PackageResources.tjp_v2_yaml
    case "turms": PackageResources.turms_yaml
    case "wukongim": PackageResources.wukongim_yaml
    case "xmpp": PackageResources.xmpp_yaml
    default: nil
    }
  }
}
