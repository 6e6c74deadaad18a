package import IMEngine
import IMYAML

extension CompiledProfile {
  /// The plan, made to take the place of `old`: types that it knew by name keep their indices, by which exchanges and
  /// figures know them. Those that are gone keep theirs too, and have no value any more; new ones come behind them.
  ///
  /// `nil` where that is more than 63 types.
  func plan(replacing old: ProtocolPlan) -> ProtocolPlan? {
    var names = old.typeNames
    let places = typeNames.map { name in
      if let index = names.firstIndex(of: name) { return index }
      names.append(name)
      return names.count - 1
    }
    guard names.count <= 63 else { return nil }
    var copy = self
    copy.typeNames = names
    copy.draft.kinds = Self.kinds(draft, names, places)
    // They are in the order of the file.
    copy.draft.kindLines = []
    if let variant { copy.variant?.kinds = Self.kinds(variant, names, places) }
    return copy.plan
  }

  /// The types of `draft` at `places` among `names`.
  private static func kinds(_ draft: ProtocolPlan.Draft, _ names: [String], _ places: [Int]) -> [FrameKind] {
    var kinds = names.indices.map { index in
      var gone = FrameKind()
      gone.value = ProtocolPlan.forgotten(index)
      return gone
    }
    for (kind, place) in zip(draft.kinds, places) {
      kinds[place] = kind
      let unknown = UInt64(1) << UInt64(FrameKind.unknownIndex)
      kinds[place].answers = places.indices.reduce(kind.answers & unknown) { answers, index in
        kind.answers >> UInt64(index) & 1 == 1 ? answers | 1 << UInt64(places[index]) : answers
      }
    }
    return kinds
  }
}

extension ProfileCompiler {
  /// Compiles `text` to take the place of `old`, which has the same name.
  package static func compile(_ text: String, source: String, replacing old: ProtocolPlan) throws(ProfileError)
    -> ProtocolPlan
  {
    let made = try compiled(text, source: source)
    guard made.name == old.name else {
      throw ProfileError(source: source, message: "the profile's name changed from '\(old.name)' to '\(made.name)'")
    }
    guard let plan = made.plan(replacing: old) else {
      throw ProfileError(source: source, message: "with the types of before, these are more than 63")
    }
    return plan
  }
}
