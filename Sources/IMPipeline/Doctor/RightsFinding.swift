import Glibc
import IMOutput
import IMSystem

/// What the process may do of what a capture needs: capabilities, and whose it is.
func rightsFinding() -> Finding {
  rightsFinding(
    effective: effectiveCapabilities(smallFile("/proc/self/status")), isRoot: geteuid() == 0,
    copy: CapturingCopy.installed)
}

/// The same of known capabilities, as a set of bits, `nil` where the kernel does not tell, and of the copy of the command that may
/// capture, where there is one.
func rightsFinding(effective: UInt64?, isRoot: Bool, copy: String? = nil) -> Finding {
  let who = isRoot ? "root" : "user \(geteuid())"
  guard let effective else { return .note("rights", "\(who); the capabilities are not known") }
  let named: [(String, UInt64)] = [("cap_net_raw", 13), ("cap_net_admin", 12)]
  let held = named.filter { effective & (1 << $0.1) != 0 }.map(\.0)
  let text = held.isEmpty ? who : "\(who), \(held.joined(separator: " and "))"
  guard effective & (1 << 13) != 0 else {
    if let copy {
      if access(copy, X_OK) == 0 { return .ok("rights", "\(who), captures as \(copy)") }
      return .problem(
        "rights", "\(who), not in the group that may capture",
        advice: "add the user to the group imdump and log in again; files can be read without")
    }
    return .problem(
      "rights", "\(who), without cap_net_raw",
      advice: "setcap cap_net_raw+ep on the imdump binary, or run it as root; files can be read without")
  }
  return .ok("rights", text)
}
