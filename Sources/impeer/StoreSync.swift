import IMCommandLine

/// When what a server keeps is on the disk.
enum StoreSync: String, CaseIterable, OptionValue {
  /// Before it is acknowledged.
  case full
  /// Some time later.
  case normal
}
