// SPDX-License-Identifier: MIT
#pragma once

// One lock object's name on the channel, and the claim on it: what it tells others that it is, from which dice,
// and with which policies it plays.

#include <sublock/claim.hpp>
#include <sublock/core/name.hpp>
#include <sublock/core/participant.hpp>
#include <sublock/core/roll_call.hpp>
#include <sublock/entropy.hpp>
#include <sublock/explain.hpp>
#include <sublock/options.hpp>
#include <sublock/process_info.hpp>
#include <sublock/session.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace sublock {

/// All members may be called from any thread, but for the constructor and the destructor.
template <TransportPolicy Transport, ElectionPolicy Election, ReaperPolicy Reaper, ClockPolicy Clock>
class Tenancy {
 public:
  using Participant = core::Participant<Election, Reaper, core::rules_of<Election>>;
  using HeldSession = Session<Transport, typename Transport::Line, Participant, Clock>;
  using Options = LockOptions<Transport, Election, Reaper, Clock>;

  /// `given` is the caller's connection, or null for one of the lock's own.
  Tenancy(std::shared_ptr<Transport> given, std::string channel, Options options)
      : channel_(std::move(channel)),
        options_(std::move(options)),
        claim_(about(channel_), std::move(given), options_.on_lost) {
    check_options(channel_, options_);
    if constexpr (requires { Transport::check_channel(channel_); }) Transport::check_channel(channel_);
    identity_ = fresh_identity();
  }

  /// Claims the object for an attempt, and gives it a connection and an identity. Throws as Claim::begin.
  std::shared_ptr<HeldSession> begin() {
    return claim_.begin(
        [this] { return Transport::make(options_.connection); },
        [this](const std::shared_ptr<Transport>& connection) {
          if (identity_.pid != process_id()) {
            dice_ = core::Dice(seed());  // a forked child must not throw what its parent throws
            identity_ = fresh_identity();
          }
          return std::make_shared<HeldSession>(
              connection, Participant(identity_, dice_.split(), options_.election, options_.reaper),
              options_.clock, claim_.notice(), options_.observer);
        });
  }

  [[nodiscard]] Claim<Transport, HeldSession>& claim() noexcept { return claim_; }
  [[nodiscard]] const Claim<Transport, HeldSession>& claim() const noexcept { return claim_; }

  /// Somebody waited for the lock when it was last given back.
  [[nodiscard]] bool had_company() const noexcept { return had_company_; }
  void had_company(bool had) noexcept { had_company_ = had; }

  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] const std::string& holder_id() const noexcept { return identity_.holder_id; }

  [[nodiscard]] std::shared_ptr<Transport> connection_to_ask() const {
    return claim_.connection_to_ask([this] { return Transport::make(options_.connection); });
  }

  [[nodiscard]] core::RollCall roll_call() {
    const std::lock_guard gate(claim_.gate());
    const std::string response_channel = channel_ + '-' + dice_.fresh_id();
    return {channel_, response_channel, {holder_id(), options_.priority}};
  }

 private:
  [[nodiscard]] core::Identity fresh_identity() {
    return {channel_,       options_.holder_id.empty() ? dice_.fresh_id() : options_.holder_id,
            host_name(),    process_id(),
            options_.label, options_.priority};
  }

  [[nodiscard]] core::Dice::Seed seed() const {
    return options_.entropy ? options_.entropy() : random_seed();
  }

  const std::string channel_;
  const Options options_;
  core::Dice dice_{seed()};  // seeded once: asking the system can cost more than a round trip
  core::Identity identity_;
  std::atomic<bool> had_company_ = false;
  Claim<Transport, HeldSession> claim_;
};

}  // namespace sublock
