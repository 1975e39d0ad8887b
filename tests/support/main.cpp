namespace retryd::test {

int run_cases(int argc, char* argv[]);

}  // namespace retryd::test

int main(int argc, char* argv[]) {
    return retryd::test::run_cases(argc, argv);
}
