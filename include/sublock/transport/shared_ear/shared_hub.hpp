// SPDX-License-Identifier: MIT
#pragma once

// The hub of a transport whose lines share ears: as many as there are lines of one channel.

#include <sublock/core/dice.hpp>
#include <sublock/entropy.hpp>
#include <sublock/transport/hiredis/sole_hub.hpp>
#include <sublock/transport/shared_ear/common_ear.hpp>
#include <sublock/transport/shared_ear/seat.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::shared_ear {

class SharedHub final : public hiredis::SoleHub, private hiredis::EarSource {
 public:
  explicit SharedHub(const ConnectionOptions& options)
      : SoleHub(options, static_cast<hiredis::EarSource*>(this)),
        idle_max_(options.idle_ears_max),
        dice_(random_seed()) {}

  void open(hiredis::LineState& line, std::string_view channel) override {
    line.channel = std::string(channel);
    SoleHub::open(line, channel);
  }

 private:
  /// The first that has room, so that those behind it empty themselves; else a new one.
  std::shared_ptr<hiredis::Ear> ear_for(const hiredis::LineState& line, const hiredis::Settings& settings,
                                        hiredis::Mouth& mouth, hiredis::Ear::Owner& owner) override {
    put_away();
    auto place =
        std::ranges::find_if(ears_, [&](const auto& ear) { return ear->has_seat_for(line.channel); });
    if (place == ears_.end()) {
      ears_.push_back(std::make_shared<CommonEar>(poller, settings, spare_reader, dice_.fresh_id()));
      place = std::prev(ears_.end());
    }
    return std::make_shared<Seat>(line.channel, *place, delivery, settings, mouth, owner);
  }

  void drop_all() override {
    for (const auto& ear : std::exchange(ears_, {})) ear->close();
  }

  /// Those that broke, and of those on which nobody sits as many as are too many.
  void put_away() {
    std::size_t idle = 0;
    std::erase_if(ears_, [&](const auto& ear) {
      if (!ear->closed() && (!ear->empty() || idle++ < idle_max_)) return false;
      ear->close();
      return true;
    });
  }

  const std::size_t idle_max_;
  core::Dice dice_;  // for ids
  std::vector<std::shared_ptr<CommonEar>> ears_;
};

}  // namespace sublock::shared_ear
