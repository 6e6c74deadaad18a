import IMStore
import IMTerminal

/// Messages that are selected, and files that are written of them.
extension Browser {
  /// What is being saved.
  struct Saving: Sendable {
    /// Messages that are selected.
    var selected: Set<Int64> = []
    /// The list whose messages they are.
    var choice: PageRequest.Choice?
    /// The name that is being typed, and what for; `nil` while none is.
    var form: SaveRequest.Form?
    var input = TextInput()
    /// Whether the name is the suggested one, which the first typed character replaces.
    var isSuggested = false
    /// What is to replace a file that is there, if somebody says so.
    var asks: SaveRequest?
    /// What is being written.
    var awaited: SaveRequest?

    /// Whether keys go to the line for names and answers.
    var takesKeys: Bool { form != nil || asks != nil }
  }

  /// Messages that are selected in the list that is shown.
  var selectedMessages: Set<Int64> { saving.choice?.page == messages.choice.page ? saving.selected : [] }

  /// Selects the message, or takes the selection back; then goes to the next one.
  mutating func toggleSelected() {
    guard let id = messages.selected?.message.id else { return }
    // Another list begins without a selection; a filter over the same one keeps it.
    if saving.choice?.page != messages.choice.page { saving.selected = [] }
    saving.choice = messages.choice
    if saving.selected.remove(id) == nil { saving.selected.insert(id) }
    messages.move(1)
  }

  /// Asks for the name of a file.
  mutating func askName(_ form: SaveRequest.Form) {
    guard saving.awaited == nil else {
      note = "\(saving.awaited?.name ?? "") is still being written"
      return
    }
    if form == .packets, source.captures.isEmpty {
      note = "packets are not kept; start with -w FILE to save them"
      return
    }
    saving.form = form
    (saving.input, saving.isSuggested) = (TextInput(form.suggestedName), true)
  }

  /// Takes a key where a name or an answer is wanted.
  mutating func typeSaving(_ key: Key) {
    if var request = saving.asks {
      saving.asks = nil
      guard key == Key("y") || key == Key("Y") else {
        note = "\(request.name) was not changed"
        return
      }
      request.replaces = true
      return save(request)
    }
    guard let form = saving.form else { return }
    switch (key.code, key.modifiers) {
    case (.enter, _):
      let name = String(saving.input.text.drop { $0 == " " })
      guard !name.isEmpty else { return }
      saving.form = nil
      let isLadder = screen == .ladder
      save(
        SaveRequest(
          form: form, name: name, choice: isLadder ? PageRequest.Choice(ladder.choice) : messages.choice,
          selected: isLadder ? [] : selectedMessages.sorted()))
    case (.escape, _), (.character("c"), .control): saving.form = nil
    default:
      // A name is typed in place of the suggestion, and any other key edits it.
      if saving.isSuggested, case .character = key.code, key.modifiers.isSubset(of: .shift) {
        saving.input = TextInput()
      }
      if saving.input.take(key) { saving.isSuggested = false }
    }
  }

  /// Takes pasted text into the prompt for a name.
  mutating func pasteSaving(_ text: String) {
    if saving.isSuggested { saving.input = TextInput() }
    saving.isSuggested = false
    saving.input.insert(text)
  }

  private mutating func save(_ request: SaveRequest) {
    saving.awaited = request
    note = "writing \(request.name)…"
    outbox.append(.save(request))
  }

  /// Takes what has become of a file.
  mutating func accept(_ request: SaveRequest, _ outcome: SaveOutcome) {
    guard request == saving.awaited else { return }
    switch outcome {
    case .progress(let text):
      note = text
      return
    case .exists: saving.asks = request
    case .done(let text), .failed(let text): note = text
    }
    saving.awaited = nil
  }

  /// Puts the line for names and answers; false where none is wanted.
  func putSaving(_ grid: inout Grid, row: Int) -> Bool {
    if let asks = saving.asks {
      grid.put(
        fitted: " \(asks.name) already exists. Replace it? y, or any other key for no", row: row, column: 0,
        width: grid.width, style: Style(.warning, .bold))
      return true
    }
    guard let form = saving.form else { return false }
    let count = screen == .ladder ? 0 : selectedMessages.count
    let what =
      screen == .ladder
      ? "the ladder"
      : count > 0
        ? "the \(count) selected" : messages.choice == PageRequest.Choice() ? "all messages" : "all listed messages"
    let label =
      switch form {
      case .packets: " save packets of \(what) as: "
      case .rows: " save \(what) as (.csv or .jsonl): "
      case .ladder: " save the ladder as (.txt or .svg): "
      }
    var at = grid.put(label, row: row, column: 0, limit: max(10, grid.width * 2 / 3), style: Style(.name, .bold))
    var before = saving.input.parts.before
    while cells(plainText(String(before))) > max(4, grid.width - at - 2) { before = before.dropFirst() }
    at += grid.put(String(before), row: row, column: at, style: saving.isSuggested ? Style(.faint) : .plain)
    let behind = saving.input.parts.behind
    grid.put(behind.isEmpty ? " " : String(behind), row: row, column: at)
    if at < grid.width { grid.restyle(row: row, columns: at..<at + 1) { $0.with(.reverse) } }
    return true
  }
}

extension SaveRequest.Form {
  /// The name that stands where one is typed.
  fileprivate var suggestedName: String {
    switch self {
    case .packets: "messages.pcapng"
    case .rows: "messages.csv"
    case .ladder: "ladder.txt"
    }
  }
}
