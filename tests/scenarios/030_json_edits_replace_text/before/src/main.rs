fn main() {
    run();
    run();
}
