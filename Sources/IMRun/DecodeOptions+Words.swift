extension DecodeOptions {
  /// The words of the command line with which another command decodes the same packets; `captureFilter` comes last.
  package func words(_ captureFilter: String?) -> [String] {
    var words = profiles.flatMap { ["--profile", $0] } + ports.flatMap { ["--port", "\($0)"] }
    for path in keyLogs { words += ["--keylog", path] }
    if !verifiesChecksums { words.append("--no-checksum") }
    if let captureFilter { words.append(captureFilter) }
    return words
  }
}
