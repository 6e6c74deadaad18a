extension Streams {
  /// Puts `fresh` in the place of the plan at `index`, for the flows in `pool`. See `Engine.reload`.
  mutating func reload(_ index: Int, _ fresh: ProtocolPlan, _ flows: borrowing FlowTable) -> ReloadOutcome {
    trackRecords()
    let outcome = protocols.reload(index, fresh) { body in
      flows.forEach { flow in
        if flow.pointee.profile.isPlan, Int(flow.pointee.profile.plan) == index { body(flow) }
      }
    }
    guard outcome != .refused else { return outcome }
    frame.pointee.trailerCount = Int(currentPlan.pointee.framing.trailerCount)
    frame.pointee.kind = currentPlan.pointee.unknownKind
    tracker.noteKinds(of: protocols.plans[index], at: index)
    sink.reloaded(protocols.plans)
    return outcome
  }
}
