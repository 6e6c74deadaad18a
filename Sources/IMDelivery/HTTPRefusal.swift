/// Whether a server that answers with this HTTP status will refuse the same request again: all of 4xx but those that ask for time.
func isRefusal(httpStatus status: Int) -> Bool {
  (400..<500).contains(status) && ![408, 425, 429].contains(status)
}
