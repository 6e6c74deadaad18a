/// Who a socket of this host belongs to: the service, or the container and its pod, as its control group says. Shared by all that
/// is told of a connection.
package final class SocketOwner: Sendable {
  /// The systemd unit, such as `im-gateway.service`; `nil` in a container, and where no unit has the socket.
  package let unit: String?
  /// The container's number, 64 hexadecimal digits; `nil` outside of one.
  package let container: String?
  /// The UID of the Kubernetes pod; `nil` outside of one.
  package let pod: String?
  /// The number of the user that made the socket.
  package let user: UInt32

  /// An owner of its parts.
  package init(unit: String? = nil, container: String? = nil, pod: String? = nil, user: UInt32) {
    (self.unit, self.container, self.pod, self.user) = (unit, container, pod, user)
  }

  /// What it is called in a line: the unit, or the first twelve digits of the container; `nil` where neither is known.
  package var name: String? { unit ?? container.map { String($0.prefix(12)) } }

  /// The owner that the path of a control group names, from the root of the hierarchy.
  ///
  ///     /system.slice/im-gateway.service                       the unit
  ///     /user.slice/user-1000.slice/session-3.scope            the unit
  ///     /system.slice/docker-<64 digits>.scope                 the container
  ///     /docker/<64 digits>                                    the container
  ///     /kubepods.slice/kubepods-pod<UID>.slice/cri-containerd-<64 digits>.scope    the container and the pod
  ///
  /// Names of containers are those of Docker, containerd, CRI-O and Podman.
  package convenience init(path: String, user: UInt32) {
    var unit: String?
    var container: String?
    var pod: String?
    for part in path.split(separator: "/").reversed() {
      if container == nil { container = Self.container(part) }
      if pod == nil { pod = Self.pod(part) }
      let isUnit = part.hasSuffix(".service") || part.hasSuffix(".scope")
      if isUnit, unit == nil { unit = String(part) }
    }
    // The unit around a container is the runtime's.
    self.init(unit: container == nil ? unit : nil, container: container, pod: pod, user: user)
  }

  /// The 64 digits of a container's group.
  private static func container(_ part: Substring) -> String? {
    var part = part
    if part.hasSuffix(".scope") { part = part.dropLast(6) }
    let digits = part.utf8.suffix(64)
    guard digits.count == 64, digits.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }) else {
      return nil
    }
    let front = part.utf8.dropLast(64)
    guard front.isEmpty || front.last == 45 else { return nil }
    return String(Substring(digits))
  }

  /// The UID in a pod's group: behind `pod`, with hyphens or, in a unit's name, underscores.
  private static func pod(_ part: Substring) -> String? {
    var part = part
    if part.hasSuffix(".slice") { part = part.dropLast(6) }
    guard part.utf8.count >= 39 else { return nil }
    let front = part.utf8.dropLast(36)
    guard front.suffix(3).elementsEqual("pod".utf8), front.count == 3 || front.dropLast(3).last == 45 else {
      return nil
    }
    let uid = part.utf8.suffix(36).map { $0 == 95 ? 45 : $0 }
    for (place, byte) in uid.enumerated() {
      let isHyphen = [8, 13, 18, 23].contains(place)
      guard isHyphen ? byte == 45 : (48...57).contains(byte) || (97...102).contains(byte) else { return nil }
    }
    return String(decoding: uid, as: UTF8.self)
  }
}

extension SocketOwner: Equatable {
  /// Whether both name the same unit, container, pod and user.
  package static func == (one: SocketOwner, other: SocketOwner) -> Bool {
    (one.unit, one.container, one.pod, one.user) == (other.unit, other.container, other.pod, other.user)
  }
}
