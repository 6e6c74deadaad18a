import IMIndexing
import IMRun
import IMSystem

/// The store of a run as a feature.
extension StoreKeeper: ChosenFeature {
  convenience init?(_ place: RunContext) throws(UsageError) {
    guard let choices = place.choices.store else { return nil }
    self.init(place.run, choices, written: place.written)
  }
}
