package import IMOTLP
package import IMOwners
package import IMWire

/// Which messages get a document of their own.
package enum MessageLog: Equatable, Sendable {
  /// None.
  case off
  /// Those that were not simply answered: retried, refused, not answered, damaged, open at the end.
  case errors
  /// Those of one session in so many, all of them; the session's name decides, so every sensor takes the same ones.
  case sample(UInt32)
  /// All.
  case all

  /// Reads `off`, `errors`, `sample=1/N` or `all`; `nil` for anything else.
  package init?(_ text: String) {
    // The other words are those that choose spans.
    switch (text, OTLPSpans(text)) {
    case ("off", _): self = .off
    case (_, .errors?): self = .errors
    case (_, .sample(let n)?): self = .sample(n)
    case (_, .all?): self = .all
    case (_, nil): return nil
    }
  }
}

/// What the documents are to hold.
package struct ECSOptions {
  /// Which messages get a document.
  package var messageLog = MessageLog.off
  /// Whether messages' documents leave out what repeats other fields.
  package var isLean = false
  /// Named fields of profiles that messages' documents have beside those that the profiles log, with the profile's name
  /// in front or without.
  package var loggedFields: [String] = []
  /// Who has the ends of connections on this host; `nil` but live.
  package var owners: ConnectionOwners?
  /// The networks that clients come from, where there is a table of them.
  package var networks: Networks?
  /// What stands for names that are not to be shown.
  package var identities = IdentityHash(key: [])
  /// The datasets whose documents are written.
  package var datasets = Set(ECSDataset.allCases)
  /// Whether each dataset has a buffer of its own, for files of its own; else all documents stand in one stream in the
  /// order in which they were made.
  package var separatesDatasets = false
  /// Documents of one name on one connection in a minute; the rest is counted in `suppressed`.
  package var weirdLimit: UInt32 = 5
  /// Servers with figures of their own; documents tell of no others.
  package var maximumEndpoints = 65_536
  /// OpenTelemetry's logs, metrics and traces are written instead of documents; `nil` for documents.
  package var otlp: OTLPOptions?
  /// Buffered bytes at which documents are handed on.
  package var flushSize = 256 << 10

  /// No messages, one stream.
  package init() {}
}
