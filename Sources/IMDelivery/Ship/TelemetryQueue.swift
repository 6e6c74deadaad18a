import Glibc

/// The folder in which telemetry waits for its receiver where none is named.
package enum TelemetryQueue {
  /// `/var/lib/imdump/otlp` for root, whose run becomes another user; else `imdump/otlp` in `$XDG_STATE_HOME` or `~/.local/state`. The
  /// folders above it are made. `nil` where that cannot be.
  package static func folder() -> String? {
    guard let base else { return nil }
    for folder in Self.parents(base + "/imdump")
    where mkdir(folder, geteuid() == 0 ? 0o755 : 0o700) != 0 && errno != EEXIST {
      return nil
    }
    return base + "/imdump/otlp"
  }

  private static var base: String? {
    if geteuid() == 0 { return "/var/lib" }
    if let folder = getenv("XDG_STATE_HOME").map({ String(cString: $0) }), folder.hasPrefix("/") { return folder }
    guard let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") else { return nil }
    return home + "/.local/state"
  }

  /// A path and all that lead to it, the first first.
  private static func parents(_ path: String) -> [String] {
    path.indices.filter { $0 > path.startIndex && path[$0] == "/" }.map { String(path[..<$0]) } + [path]
  }
}
