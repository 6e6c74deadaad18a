import IMEngine
import IMMetrics
import IMOutput
import IMProfile
import IMReport
import IMRun
import IMSystem
import IMWire

/// What a report says of a run beside its figures.
extension Run {
  /// The profiles that decoded something, with the hashes of their texts.
  func reportProfiles(_ summary: Summary, _ hashes: [String: String]) -> [ReportModel.Profile] {
    zip(summary.plans, summary.kinds).compactMap { plan, kinds in
      guard kinds.contains(where: { $0.frames[0] + $0.frames[1] > 0 }) else { return nil }
      return ReportModel.Profile(name: plan.name, version: plan.version, hash: hashes[plan.name])
    }
  }

  /// The hashes of the profiles' texts, by name. To be read while files can be opened.
  var profileHashes: [String: String] {
    var hashes: [String: String] = [:]
    for (i, name) in (decode.profiles.isEmpty ? BuiltInProfiles.usual : decode.profiles).enumerated()
    where i < plans.count {
      let text = isProfileFile(name) ? try? readSource(name, subject: "profile") : BuiltInProfiles.text(name)
      guard let text else { continue }
      hashes[plans[i].name] = SHA256.hash(Array(text.utf8)).map { byte in
        let digits = String(byte, radix: 16)
        return digits.utf8.count < 2 ? "0" + digits : digits
      }.joined()
    }
    return hashes
  }
}
