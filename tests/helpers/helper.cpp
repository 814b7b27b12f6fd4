// SPDX-License-Identifier: MIT

// sublock-helper: what tests start besides the driver; each helper's own file says what it does. One program
// for all of them, because each of its own would compile the whole lock once more.
//
//   sublock-helper visitor|forker|watcher|ender URL CHANNEL words...

#include <helpers/ender.hpp>
#include <helpers/forker.hpp>
#include <helpers/visitor.hpp>
#include <helpers/watcher.hpp>

#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
// The forker's child starts threads.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif
#endif

int main(int argc, char** argv) {
  using Words = std::vector<std::string>;
  static const std::map<std::string_view, int (*)(const Words&)> helpers = {{"visitor", visitor::start},
                                                                            {"forker", forker::start},
                                                                            {"watcher", watcher::start},
                                                                            {"ender", ender::start}};
  try {
    const Words words(argv + 1, argv + argc);
    return helpers.at(words.at(0))({words.begin() + 1, words.end()});
  } catch (const std::exception& error) {
    std::cout << "FAILED " << error.what() << std::endl;
    return 1;
  }
}
