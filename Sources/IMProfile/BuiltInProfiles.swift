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
    guard let yaml = yaml(name) else {
      throw ProfileError(
        source: name, message: "no such profile; built in are: \(names.joined(separator: ", "))")
    }
    let source = "\(name).yaml"
    // Named fields come last in these pages. They are read when they are asked for: a start pays for each line.
    let end = namedFields(yaml)
    let plan = try ProfileCompiler.compile(String(decoding: yaml[..<end], as: UTF8.self), source: source)
    guard end < yaml.count else { return plan }
    plan.name { try? ProfileCompiler.compiled(String(decoding: yaml, as: UTF8.self), source: source).fields }
    return plan
  }

  /// Where the line `named:` begins; the end where there is none.
  private static func namedFields(_ yaml: [UInt8]) -> Int {
    let line = Array("named:\n".utf8)
    var at = 0
    while at + line.count <= yaml.count {
      if yaml[at] == line[0], yaml[at..<at + line.count].elementsEqual(line) { return at }
      guard let feed = yaml[at...].firstIndex(of: 10) else { break }
      at = feed + 1
    }
    return yaml.count
  }
}
