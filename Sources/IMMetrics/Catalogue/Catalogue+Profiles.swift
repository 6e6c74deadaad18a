package import IMEngine

/// What the types of one protocol come to.
package final class ProfileSnapshot {
  /// Its frames.
  package let frames: UInt64
  /// What became of its messages.
  package let messages: MessageTally

  /// What `kinds`, the types of `plan`, come to.
  package init(_ plan: ProtocolPlan, _ kinds: [KindTotals]) {
    frames = kinds.reduce(0) { $0 + $1.frames[0] + $1.frames[1] }
    messages = zip(plan.typeRoles, kinds).reduce(into: MessageTally()) { sum, type in
      if type.0 == .message { sum.add(type.1) }
    }
  }
}

extension Catalogue {
  /// The figures of a protocol in the summary of a run.
  package static let profiles: [Metric<ProfileSnapshot>] =
    [
      Metric(
        "profile.frames", .count, .packet, "frames decoded",
        text: [MetricPresentation(.profile, "frame", "frames", .always)]
      ) { profile, _, _ in .count(profile.frames) }
    ] + fates.map { $0.of { $0.messages } } + ratios.map { $0.of { $0.messages } }
}
