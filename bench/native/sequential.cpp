// The problems in plain C++, without parallelism.
#include "harness.h"

int main(int argc, char **argv) {
  Suite s("sequential-c++", argc, argv);
  forkJoin(s, s.sizes(full), sequential, nullptr);
  return s.end();
}
