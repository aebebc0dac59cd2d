// Fails on purpose. CTest expects that, so a harness that passes whatever happens is noticed.
#include <doctest/doctest.h>

TEST_CASE("The canary falls") { CHECK(1 + 1 == 3); }
