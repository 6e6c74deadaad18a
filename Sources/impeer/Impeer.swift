import Glibc

@main
enum Impeer {
  static func main() { print("x") }
}
