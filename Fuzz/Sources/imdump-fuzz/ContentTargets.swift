@testable import IMContent

/// What is inside frames. Values lie in the content; a content that ends somewhere ends there whatever follows, and one that is cut is
/// not malformed in front of the cut.
let contentTargets =
  [ContentKind.json, .protobuf, .headers, .words, .resp, .xml, .messagepack, .ber, .pairs].map { kind in
    Target(name: "content-\(kind.name)") { content($0, kind) }
  }

private let paths: [ContentKind: [String]] = [
  .json: ["a", "id", "0", "2", "*.id", "ctrl.code", "1.0.a.b"], .protobuf: ["1", "2", "22.1", "22.2.3"],
  .headers: ["id", "content-length", "a"], .words: ["1", "2", "2-", "last"], .resp: ["0", "1", "1.0"],
  .messagepack: ["a", "0", "1.2", "a.b", "*.id", "5"], .ber: ["0", "1", "1.@tag", "1.0.2"], .pairs: ["35", "34", "8"],
  .xml: ["@id", "@type", "body", "error.@type", "*.item.@jid"],
]

private func plan(_ kind: ContentKind) -> ContentPlan {
  var builder = ContentPlanBuilder()
  for path in paths[kind] ?? [] {
    if let steps = ContentPath.steps(path, kind) { _ = builder.slot(steps) }
  }
  if kind == .json || kind == .protobuf { _ = builder.which([.name(Array("pub".utf8)), .number(3), .number(10)]) }
  if kind == .xml { _ = builder.slot([.element]) }
  var form = ContentForm(kind)
  if kind == .xml { form.stream = Array("stream".utf8) }
  return builder.plan(form)
}

private let plans = Dictionary(uniqueKeysWithValues: paths.keys.map { ($0, plan($0)) })

private func content(_ input: UnsafeRawBufferPointer, _ kind: ContentKind) {
  guard let plan = plans[kind], let base = input.baseAddress else { return }
  let bytes = base.assumingMemoryBound(to: UInt8.self)
  let values = UnsafeMutablePointer<ContentValue>.allocate(capacity: ContentPlan.maximumSlots)
  values.initialize(repeating: ContentValue(), count: ContentPlan.maximumSlots)
  defer { values.deallocate() }
  let result = plan.scan(bytes, input.count, values)
  for i in 0..<plan.slotCount where values[i].kind != .absent {
    let (offset, count) = (values[i].offset, values[i].count)
    if offset < 0 || count < 0 || offset + count > input.count { fail("a value at \(offset) of \(count) bytes") }
  }
  guard case .whole(let end) = result else { return }
  if end < 0 || end > input.count { fail("a content that ends at \(end)") }
  guard kind == .headers || kind == .resp || kind == .json || kind == .xml else { return }
  // A number may go on behind where it ended.
  if kind != .json || [0x7d, 0x5d, 0x22].contains(bytes[end - 1]), plan.scan(bytes, end, values) != .whole(end) {
    fail("another end without what follows")
  }
}
