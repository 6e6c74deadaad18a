import Glibc

/// The copy of the command that may capture.
///
/// The Debian package installs `imdump` for everybody and without privileges, and a copy with `cap_net_raw` that only members of the
/// group `imdump` may run. So capturing is for them, and reading files for everybody.
package enum CapturingCopy {
  /// The path of the copy that belongs to the command at `command`: `/usr/lib/imdump/imdump` for `/usr/bin/imdump`. `nil` where the
  /// command is not in a folder `bin`.
  static func path(for command: String) -> String? {
    let parts = command.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[parts.count - 2] == "bin" else { return nil }
    return (parts.dropLast(2) + ["lib", "imdump", "imdump"]).joined(separator: "/")
  }

  /// The copy that belongs to this process, if the package put one and whether or not this user may run it.
  package static var installed: String? {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    guard count > 0, count < buffer.count, let path = path(for: String(decoding: buffer.prefix(count), as: UTF8.self)),
      access(path, F_OK) == 0
    else { return nil }
    return path
  }
}

/// Goes on as the copy that may capture, with the same arguments, where this process may not and its user may run the copy.
///
/// Returns where there is nothing to gain: capturing then fails with the reason.
func continueAsCapturingCopy() {
  guard geteuid() != 0, let held = effectiveCapabilities(smallFile("/proc/self/status")), held & (1 << 13) == 0,
    let copy = CapturingCopy.installed, access(copy, X_OK) == 0
  else { return }
  // The copy is in no folder `bin`, so it does not come here again.
  execv(copy, CommandLine.unsafeArgv)
}
