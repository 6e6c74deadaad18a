import CSandbox
import Glibc
import IMDelivery
import IMEngine
import IMOwners
import IMSystem
import IMWire

/// What the kernel has to confine the code that reads packets.
func confinementFinding() -> Finding {
  let version = imdump_landlock_version()
  let calls = imdump_has_system_call_filter() != 0
  if version > 0, calls { return .ok("sandbox", "Landlock version \(version) and a system call filter") }
  let missing = [version > 0 ? nil : "Landlock", calls ? nil : "a system call filter"].compactMap { $0 }
  return .note(
    "sandbox", "the kernel does not support \(missing.joined(separator: " and "))",
    advice: "-i works, with less protection against packets that exploit a bug")
}

/// Whether connections of this host have owners.
func ownersFinding() -> Finding {
  guard let owners = ConnectionOwners() else {
    return .note("owners", "no INET_DIAG socket: owners of connections cannot be found")
  }
  guard owners.knowsGroups else {
    return .note(
      "owners",
      "cgroup version 2 is not mounted or cannot be read: only the user of a connection is found, not its unit, container or pod"
    )
  }
  return .ok("owners", "the unit, container or pod of this host's connections can be found")
}

/// The memory that the control group of this process may use, beside the default of `--mem`.
func memoryFinding() -> Finding? {
  guard let limit = memoryLimit() else { return nil }
  let wanted = EngineOptions(plans: []).memory
  let text = "the control group may use \(grouped(UInt64(limit >> 20))) MiB; --mem is \(wanted >> 20) MiB by default"
  // The tables are the larger part of what a run takes, and not all of it.
  guard limit < wanted * 3 / 2 else { return .ok("memory", text) }
  return .note("memory", text, advice: "--mem \(max(16, limit >> 21))M leaves room for the rest of the process")
}

/// The least `memory.max` on the way from the process's control group to the root, of version 2; `nil` where there is none.
private func memoryLimit() -> Int? {
  guard let groups = smallFile("/proc/self/cgroup"),
    let line = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::/") })
  else { return nil }
  var parts = line.dropFirst(4).split(separator: "/")
  var least: Int?
  while true {
    let path = (["/sys/fs/cgroup"] + parts.map(String.init) + ["memory.max"]).joined(separator: "/")
    if let text = smallFile(path), let limit = Int(text.filter { $0 != "\n" }) { least = min(least ?? .max, limit) }
    guard !parts.isEmpty else { return least }
    parts.removeLast()
  }
}

/// Whether alerts can be posted.
func deliveryFinding() -> Finding {
  guard let path = Deliverer.find("curl") else {
    return .note(
      "webhooks", "curl is not installed",
      advice: "install curl to use --webhook and --alertmanager; --hook works without")
  }
  return .ok("webhooks", "\(path) posts alerts")
}
