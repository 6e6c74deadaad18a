package import IMAlerts
package import IMSystem
import IMYAML

/// Reads a rules file; errors name file, line and column. `examine` checks filters over messages.
package func loadRules(
  _ path: String, profiles: [String], examine: ((String) -> FilterVerdict)? = nil
) throws(UsageError) -> AlertRules {
  do throws(SourceError) {
    return try AlertRules(
      readSource(path, subject: "rules file"), source: path, profiles: profiles, examine: examine)
  } catch {
    throw UsageError(message: error.description)
  }
}

/// The text of a rules file.
package func rulesText(_ path: String) throws(UsageError) -> String {
  do throws(SourceError) { return try readSource(path, subject: "rules file") } catch {
    throw UsageError(message: error.description)
  }
}
