fn main() {
    start();
    start();
}
