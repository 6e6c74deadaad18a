/// Turns the tree of a regular expression into states (Thompson, 1968), with repeats written out.
struct PatternCompiler {
  private(set) var states: [PatternState] = []
  private let budget: Int

  /// A compiler that refuses to make more than `budget` states.
  init(budget: Int) { self.budget = budget }

  /// The states of `node`, ending in `match`.
  mutating func compile(_ node: PatternNode) throws(PatternError) {
    try emit(node)
    try append(.match)
  }

  /// Every node makes at least one state, so that the budget bounds the work too: `(){999}` in itself is no way around.
  private mutating func emit(_ node: PatternNode) throws(PatternError) {
    switch node {
    case .empty: try append(.jump(here + 1))
    case .unit(let unit): try append(.unit(unit))
    case .any(let newline): try append(.any(newline: newline))
    case .unitClass(let index): try append(.unitClass(Int32(index)))
    case .assertion(let assertion): try append(.assertion(assertion))
    case .sequence(let nodes):
      for node in nodes { try emit(node) }
    case .choice(let nodes): try emit(choice: nodes)
    case .repeated(let node, let least, let most): try emit(node, least: least, most: most)
    }
  }

  private mutating func emit(choice nodes: [PatternNode]) throws(PatternError) {
    var jumps: [Int] = []
    for node in nodes.dropLast() {
      let split = states.count
      try append(.split(here + 1, 0))
      try emit(node)
      jumps.append(states.count)
      try append(.jump(0))
      states[split] = .split(Int32(split) + 1, here)
    }
    if let last = nodes.last { try emit(last) }
    for jump in jumps { states[jump] = .jump(here) }
  }

  private mutating func emit(_ node: PatternNode, least: Int, most: Int?) throws(PatternError) {
    guard let most else {
      for _ in 0..<max(least - 1, 0) { try emit(node) }
      let top = here
      if least > 0 {
        try emit(node)
        try append(.split(top, here + 1))
      } else {
        try append(.split(top + 1, 0))
        try emit(node)
        try append(.jump(top))
        states[Int(top)] = .split(top + 1, here)
      }
      return
    }
    if most == 0 { return try append(.jump(here + 1)) }
    for _ in 0..<least { try emit(node) }
    var splits: [Int] = []
    for _ in least..<most {
      splits.append(states.count)
      try append(.split(here + 1, 0))
      try emit(node)
    }
    for split in splits { states[split] = .split(Int32(split) + 1, here) }
  }

  /// The index of the state to come.
  private var here: Int32 { Int32(states.count) }

  private mutating func append(_ state: PatternState) throws(PatternError) {
    guard states.count < budget else {
      throw PatternError(
        offset: 0, message: "regular expressions may take \(FilterLimits.stateCount) states in a filter", isLimit: true)
    }
    states.append(state)
  }
}
