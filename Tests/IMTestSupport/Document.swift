internal import Foundation

/// A document, read by dotted names.
package struct Document {
  private let object: [String: Any]

  /// A document of its members.
  package init(_ object: [String: Any]) { self.object = object }

  /// The value at `path`, `nil` where there is none.
  package subscript(path: String) -> Any? {
    var value: Any? = object
    for part in path.split(separator: ".") { value = (value as? [String: Any])?[String(part)] }
    return value
  }

  /// The text at `path`.
  package func text(_ path: String) -> String? { self[path] as? String }
  /// The number at `path`.
  package func number(_ path: String) -> Double? { (self[path] as? NSNumber)?.doubleValue }
  /// The flag at `path`.
  package func flag(_ path: String) -> Bool? { self[path] as? Bool }
  /// Whose document it is: `imdump.message` and so on.
  package var dataset: String? { text("event.dataset") }
}
