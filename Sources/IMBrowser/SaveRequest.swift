/// What is written to a file of the person's choice.
package struct SaveRequest: Equatable, Sendable {
  /// In which form.
  package enum Form: Equatable, Sendable {
    /// The packets of messages: pcapng, or pcap where the name ends so.
    case packets
    /// Messages as rows: comma-separated values where the name ends in `.csv`, else JSON lines.
    case rows
    /// A ladder: a drawing where the name ends in `.svg`, else text, both as `imdump ladder` draws them.
    case ladder
  }

  /// In which form.
  package var form: Form
  /// The file, as it was typed.
  package var name: String
  /// Whether a file of that name is replaced.
  package var replaces = false
  /// The messages of the list.
  package var choice: PageRequest.Choice
  /// Of these the ones that are selected, in order; empty for all.
  package var selected: [Int64]
}

/// What has become of a file that is being written.
package enum SaveOutcome: Equatable, Sendable {
  /// It is being written; a note says how far.
  case progress(String)
  /// It is there already, and was left as it is.
  case exists
  /// It is written, as a note says.
  case done(String)
  /// It could not be written, as a note says.
  case failed(String)
}
