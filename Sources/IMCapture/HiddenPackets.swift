/// What a capture filter does not look into.
package enum HiddenKind: UInt8, CaseIterable, Sendable {
  /// Tags of VLANs, one or more.
  case vlan
  /// Labels of MPLS.
  case mpls
  /// A PPPoE session.
  case pppoe
  /// A tunnel: VXLAN, Geneve, GRE, IP in IP.
  case tunnel

  /// The words for it.
  package var text: String {
    switch self {
    case .vlan: "VLAN tags"
    case .mpls: "MPLS labels"
    case .pppoe: "a PPPoE header"
    case .tunnel: "a tunnel's header"
    }
  }

  /// What to write instead of `filter`.
  package func advice(_ filter: String) -> String {
    switch self {
    case .vlan: "give '(\(filter)) or (vlan and (\(filter)))'"
    case .mpls: "give '(\(filter)) or (mpls and (\(filter)))'"
    case .pppoe: "give '(\(filter)) or (pppoes and (\(filter)))'"
    case .tunnel: "leave out the filter: imdump looks into tunnels itself"
    }
  }
}

/// Packets that a capture filter left out although it matches what they carry, by what hides it.
package struct HiddenCounts: Equatable, Sendable {
  private var counts: InlineArray<4, UInt64> = InlineArray(repeating: 0)

  /// None.
  package init() {}

  /// Packets hidden by `kind`.
  package subscript(kind: HiddenKind) -> UInt64 {
    get { counts[Int(kind.rawValue)] }
    set { counts[Int(kind.rawValue)] = newValue }
  }

  /// Adds the counts of another source.
  package mutating func add(_ other: HiddenCounts) { for kind in HiddenKind.allCases { self[kind] &+= other[kind] } }

  /// Whether all counts are the same.
  package static func == (a: HiddenCounts, b: HiddenCounts) -> Bool {
    HiddenKind.allCases.allSatisfy { a[$0] == b[$0] }
  }
}
