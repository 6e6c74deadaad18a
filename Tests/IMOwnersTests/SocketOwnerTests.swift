import Testing

@testable import IMOwners

/// What paths of control groups say, as systemd, Docker, containerd, CRI-O, Podman and Kubernetes name them.
@Suite struct SocketOwnerTests {
  static let digits = String(repeating: "0123456789abcdef", count: 4)
  static let uid = "1f0d1c5e-9a30-4c0b-8a55-2f6b6f1e7d10"

  @Test(
    arguments: [
      ("/", nil, nil, nil),
      ("/system.slice/im-gateway.service", "im-gateway.service", nil, nil),
      ("/system.slice/system-im.slice/im@3.service", "im@3.service", nil, nil),
      ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope", nil, nil),
      ("/user.slice/user-1000.slice/user@1000.service/app.slice/app-im.service", "app-im.service", nil, nil),
      ("/system.slice/im-gateway.service/workers", "im-gateway.service", nil, nil),
      ("/system.slice/docker-\(digits).scope", nil, digits, nil),
      ("/docker/\(digits)", nil, digits, nil),
      ("/machine.slice/libpod-\(digits).scope/container", nil, digits, nil),
      (
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f0d1c5e_9a30_4c0b_8a55_2f6b6f1e7d10.slice/cri-containerd-\(digits).scope",
        nil, digits, uid
      ),
      ("/kubepods/besteffort/pod\(uid)/\(digits)", nil, digits, uid),
      ("/kubelet.service/kubepods.slice/kubepods-pod\(uid).slice/crio-\(digits).scope", nil, digits, uid),
      // No containers.
      ("/x\(digits)", nil, nil, nil), ("/docker/\(digits.dropLast())", nil, nil, nil),
      ("/kubepods/podx\(uid.dropFirst())", nil, nil, nil),
    ] as [(String, String?, String?, String?)])
  func pathsNameOwners(_ path: String, _ unit: String?, _ container: String?, _ pod: String?) {
    #expect(SocketOwner(path: path, user: 7) == SocketOwner(unit: unit, container: container, pod: pod, user: 7))
  }

  @Test func namesOfLines() {
    #expect(SocketOwner(unit: "a.service", user: 0).name == "a.service")
    #expect(SocketOwner(container: Self.digits, user: 0).name == "0123456789ab")
    #expect(SocketOwner(user: 0).name == nil)
  }
}
