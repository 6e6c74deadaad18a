package import IMMetrics
import IMOutput
package import IMSystem

/// Says which of `conditions` hold of `figures`, and which cannot be judged. The status is `status` where that is no success, that of a
/// condition which holds, or a failure where `isDecoded` is false: a gate that has nothing to judge does not open.
package func conclude(
  _ conditions: [FailCondition], of figures: [ComparedMetric], isDecoded: Bool, _ status: ExitStatus
) -> ExitStatus {
  let (failed, unknown) = (
    ComparisonWriter.failures(conditions, in: figures), ComparisonWriter.unknown(conditions, in: figures)
  )
  for line in failed + unknown { logError(line) }
  if status != .success { return status }
  if !failed.isEmpty { return .fired }
  guard !unknown.isEmpty, !isDecoded else { return status }
  logError("--fail-on: nothing was decoded")
  return .failure
}
