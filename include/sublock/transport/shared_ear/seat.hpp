// SPDX-License-Identifier: MIT
#pragma once

// A line's place on a subscriber connection that it shares with lines of other channels: what an ear of its own would
// do, in words for its own channels only.

#include <sublock/core/event.hpp>
#include <sublock/core/shared_ear.hpp>
#include <sublock/transport/hiredis/delivery.hpp>
#include <sublock/transport/hiredis/ear.hpp>
#include <sublock/transport/hiredis/join.hpp>
#include <sublock/transport/hiredis/mouth.hpp>
#include <sublock/transport/hiredis/request.hpp>
#include <sublock/transport/shared_ear/common_ear.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sublock::shared_ear {

/// Needs the transport's mutex. Its common ear keeps it until the server has confirmed that it hears nothing any more.
class Seat final : public hiredis::Ear, public CommonEar::Sitter, public std::enable_shared_from_this<Seat> {
 public:
  /// `common` has a seat for `channel`.
  Seat(std::string channel, const std::shared_ptr<CommonEar>& common, hiredis::Delivery& delivery,
       const hiredis::Settings& settings, hiredis::Mouth& mouth, Owner& owner)
      : channel_(std::move(channel)),
        common_(common),
        delivery_(delivery),
        settings_(settings),
        mouth_(mouth),
        owner_(owner) {}

  [[nodiscard]] std::shared_ptr<hiredis::Link> link() override { return common_.lock(); }
  [[nodiscard]] std::string id() const override {
    const auto common = common_.lock();
    return common ? common->id() : std::string();
  }

  void open(const hiredis::Addresses& addresses, core::Instant now) override {
    const auto common = common_.lock();
    common->seat(channel_, shared_from_this());
    if (common->closed()) common->connect(addresses, now);
  }

  /// Leaves without a word to anybody.
  void drop() override {
    const auto common = common_.lock();
    if (!common || common->closed()) return;
    gone_ = true;
    forget(What::forget);
    vacate_if_done();
  }

  [[nodiscard]] bool hears_now() const noexcept override {
    const auto common = common_.lock();
    return common && common->named();
  }

  /// Of one that is given up, nothing is left for a pool.
  [[nodiscard]] bool clean() const override { return false; }
  void retire() override {}

  /// In one command, which Redis executes as a whole; and on a server that doesn't, the mark comes first. Nobody is
  /// counted, so whoever has joined asks.
  void join(std::string_view channel, std::string_view response_channel, std::string_view,
            const core::action::Rosters&) override {
    const auto common = common_.lock();
    if (!common || joining_) return;
    if (channel != channel_) {
      return later(core::event::Refused{
          core::Verb::join, {Errc::usage, "this line was opened for another channel, " + channel_}});
    }
    if (private_channel_) say(What::forget, {*std::exchange(private_channel_, {})});
    joining_ = joined_ = true;
    private_channel_ = std::string(response_channel);
    say(What::join, {core::ear_mark(channel_, common->id()), channel_, *private_channel_});
  }

  void listen(std::string_view channel) override {
    say(What::listen, {std::string(channel)});
    if (private_channel_ && *private_channel_ != channel) say(What::forget, {*private_channel_});
    private_channel_ = std::string(channel);
  }

  /// Only desks do, and they don't share.
  void listen_besides(std::string_view) override {}

  void ask(std::string_view, std::string_view, std::string_view) override {
    later(core::event::Refused{core::Verb::ask,
                               {Errc::protocol, "an ear that hears something already can't ask"}});
  }

  /// The notes are for the mouth, once the server counts us no more.
  void leave(const std::vector<core::action::Note>& notes) override {
    notes_ = notes;
    if (!joined_ && !private_channel_) return tell_left_later();
    forget(What::leave);
  }

 private:
  static constexpr std::size_t early_max = 1024;

  void say(What what, std::vector<std::string> channels) {
    const auto common = common_.lock();
    if (!common) return;
    ++unconfirmed_;
    const bool subscribes = what == What::join || what == What::listen;
    subscribes ? common->subscribe(what, shared_from_this(), std::move(channels))
               : common->unsubscribe(what, shared_from_this(), std::move(channels));
  }

  /// Everything, and the mark last: until then we may be on the channel.
  void forget(What what) {
    const auto common = common_.lock();
    std::vector<std::string> channels;
    if (std::exchange(joined_, false)) channels.push_back(channel_);
    const bool marked = !channels.empty();
    if (private_channel_) channels.push_back(*std::exchange(private_channel_, {}));
    if (marked) channels.push_back(core::ear_mark(channel_, common->id()));
    if (!channels.empty()) say(what, std::move(channels));
  }

  void on_ready() override {
    if (!gone_) owner_.on_ear_ready(*this);
  }
  void on_broken(const Failure& failure) override {
    if (!gone_) owner_.on_ear_broken(*this, failure);
  }

  void heard(std::string_view channel, std::string_view payload) override {
    if (line_ == nullptr) return;
    if (!joining_) return tell(core::event::Message{channel, payload});
    // Where the server takes a join apart; nothing may come before Joined.
    if (early_.size() < early_max) early_.push_back({std::string(channel), std::string(payload)});
  }

  void done(What what, const std::vector<std::string>& channels,
            std::optional<std::string_view> error) override {
    --unconfirmed_;
    switch (what) {
      case What::join: error ? refuse_join(*error) : complete_join(); break;
      case What::listen:
        error ? refuse_listening(channels[0], *error) : tell(core::event::Listening{channels[0]});
        break;
      case What::leave: tell_left(); break;
      case What::forget:
      case What::name:
      case What::sign_of_life: break;
    }
    vacate_if_done();
  }

  void complete_join() {
    joining_ = false;
    tell(core::event::Joined{});
    for (const core::action::Note& heard : std::exchange(early_, {}))
      tell(core::event::Message{heard.channel, heard.payload});
  }

  void refuse_join(std::string_view error) {
    joining_ = joined_ = false;
    early_.clear();
    const std::string names = channel_ + " and " + hiredis::pattern_of(*std::exchange(private_channel_, {}));
    tell(core::event::Refused{core::Verb::join, refusal_of(error, names)});
  }

  void refuse_listening(const std::string& channel, std::string_view error) {
    if (private_channel_ == channel) private_channel_.reset();
    tell(core::event::Refused{core::Verb::listen, refusal_of(error, hiredis::pattern_of(channel))});
  }

  [[nodiscard]] Failure refusal_of(std::string_view error, const std::string& names) const {
    return hiredis::refusal(settings_.where, settings_.dialect.subscribe, error, names);
  }

  void tell_left() {
    for (const core::action::Note& note : std::exchange(notes_, {}))
      mouth_.say(nullptr, hiredis::Request::publish(settings_.dialect, note.channel, note.payload));
    tell(core::event::Left{});
  }

  void tell_left_later() {
    for (const core::action::Note& note : std::exchange(notes_, {}))
      mouth_.say(nullptr, hiredis::Request::publish(settings_.dialect, note.channel, note.payload));
    later(core::event::Left{});
  }

  void tell(const core::Event& event) {
    if (line_ != nullptr) delivery_.now(*line_, event);
  }
  void later(const core::Event& event) {
    if (line_ != nullptr) delivery_.later(*line_, event);
  }

  void vacate_if_done() {
    if (!gone_ || unconfirmed_ > 0) return;
    if (const auto common = common_.lock()) common->vacate(channel_);
  }

  const std::string channel_;
  const std::weak_ptr<CommonEar> common_;
  hiredis::Delivery& delivery_;
  const hiredis::Settings& settings_;
  hiredis::Mouth& mouth_;
  Owner& owner_;

  // What holds once everything said so far has been confirmed.
  bool joined_ = false;
  std::optional<std::string> private_channel_;  // response channel or inbox

  bool joining_ = false;
  bool gone_ = false;            // nobody's any more
  std::size_t unconfirmed_ = 0;  // commands
  std::vector<core::action::Note> early_;
  std::vector<core::action::Note> notes_;
};

}  // namespace sublock::shared_ear
