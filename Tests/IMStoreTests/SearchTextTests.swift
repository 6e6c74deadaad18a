import IMStore
import Testing

@Suite struct SearchTextTests {
  @Test(arguments: [
    ("今晚上吃什么 ok", "今晚 晚上 上吃 吃什 什么 么 ok"),
    ("abc晚上def", "abc 晚上 上 def"),
    ("好", "好"),
    ("it's 5 o'clock", "it s 5 o clock"),
    ("\"DROP\" AND (x*)", "DROP AND x"),
    ("ひらがな", "ひら らが がな な"),
    ("👍🏽", ""),
    ("", ""),
  ])
  func indexes(text: String, words: String) {
    #expect(SearchText.indexed(text) == words)
  }

  @Test(
    arguments: [
      ("晚上", "\"晚上\" *"),
      ("晚上吃", "\"晚上 上吃\" *"),
      ("晚", "\"晚\" *"),
      ("晚上 Hello", "\"晚上\" * \"Hello\" *"),
      ("a\" OR b", "\"a\" * \"OR\" * \"b\" *"),
      ("上ok", "\"上 ok\" *"),
      ("--", nil), ("", nil),
    ] as [(String, String?)])
  func queries(text: String, query: String?) {
    #expect(SearchText.query(text) == query)
  }
}
