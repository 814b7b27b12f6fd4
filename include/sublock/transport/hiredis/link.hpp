// SPDX-License-Identifier: MIT
#pragma once

// One connection to Redis that never blocks: connecting, logging in, bytes out, replies in, signs of
// life. What the replies mean is the business of Ear and Mouth.

#include <sublock/core/holder.hpp>
#include <sublock/error.hpp>
#include <sublock/transport/hiredis/address.hpp>
#include <sublock/transport/hiredis/connection_options.hpp>
#include <sublock/transport/hiredis/dial.hpp>
#include <sublock/transport/hiredis/fork_guard.hpp>
#include <sublock/transport/hiredis/greeting.hpp>
#include <sublock/transport/hiredis/pipe.hpp>
#include <sublock/transport/hiredis/poller.hpp>
#include <sublock/transport/hiredis/reply.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sublock::hiredis {

/// Everything here needs the transport's mutex. A link may be connected again after it broke.
class Link : public std::enable_shared_from_this<Link> {
 public:
  static constexpr std::size_t unsent_max = 64U << 20;

  Link(Poller& poller, const Settings& settings, SpareReader& spare_reader)
      : poller_(poller), settings_(settings), spare_reader_(spare_reader) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() { close(); }

  /// Begins to connect to the first of `addresses` that takes us. Ends in on_ready() or on_broken(), the
  /// latter perhaps at once.
  void connect(Addresses addresses, core::Instant now) {
    close();
    addresses_ = std::move(addresses);
    next_address_ = 0;
    deadline_ = core::saturating_add(now, settings_.options.connect_timeout);
    stage_ = Stage::connecting;
    dial_next(now, "no address");
  }

  /// Drops the connection without a word.
  void close() noexcept {
    if (id_ != 0) {
      unwatch();
      poller_.remove(id_);
    }
    id_ = 0;
    pipe_.close();
    reader_.reset();
    greeting_.reset();
    unsent_.clear();
    sent_ = 0;
    write_error_.reset();
    asked_at_.reset();
    left_unwatched_ = false;
    stage_ = Stage::closed;
  }

  /// Sends and reads what can be without blocking, and hands on every complete reply. True if there
  /// may be more.
  bool pump(core::Instant now) {
    const auto self = shared_from_this();
    const auto id = id_;
    if (stage_ == Stage::closed || (stage_ == Stage::connecting && !finish_dialling(now))) return false;
    flush();
    const bool more = receive(id, now);
    if (id_ == id) flush();
    return more;
  }

  /// Sends what was collected during a turn; reads only where that shows why nothing can be sent.
  void settle(core::Instant now) {
    flush();
    if (write_error_) pump(now);
  }

  /// Acts on what is due.
  void tick(core::Instant now) {
    const auto self = shared_from_this();
    if (due() > now + slack()) return;
    pump(now);  // what has arrived counts, however late we come to look
    if (stage_ == Stage::closed || due() > now + slack()) return;
    if (stage_ == Stage::ready) {
      if (!asked_at_) {
        asked_at_ = now;
        ask_for_sign_of_life();
      } else if (due() <= now) {
        fail({Errc::connect, "Redis at " + where() + " gave no answer to a health check within " +
                                 shown(settings_.options.health_check_timeout)});
      }
    } else if (due() <= now) {
      std::string why = "no answer within " + shown(settings_.options.connect_timeout);
      if (stage_ == Stage::greeting && pipe_.hoards()) why += "; does it speak TLS there?";
      stage_ == Stage::connecting ? dial_next(now, why) : fail_connecting(why);
    }
  }

  /// When tick() has something to do.
  [[nodiscard]] core::Instant due() const noexcept {
    switch (stage_) {
      case Stage::closed: return core::Instant::max();
      case Stage::connecting: return attempt_deadline_;
      case Stage::greeting: return deadline_;
      case Stage::ready: break;
    }
    if (asked_at_) return core::saturating_add(*asked_at_, settings_.options.health_check_timeout);
    if (settings_.options.health_check_interval == core::Duration::zero()) return core::Instant::max();
    return core::saturating_add(heard_at_, settings_.options.health_check_interval);
  }

  /// Whoever reads this link instead of the keeper; null: the keeper.
  [[nodiscard]] Sleeper* lease() const noexcept { return lease_; }
  void set_lease(Sleeper* lease) {
    if (lease != nullptr) unwatch();
    lease_ = lease;
    if (lease != nullptr) return;
    idle() ? leave_unwatched() : static_cast<void>(watch());
  }

  /// Nothing is to come but the end of the connection, and that can wait until the keeper looks next.
  [[nodiscard]] bool idle() const { return ready() && !wants_to_write() && awaits_nothing(); }

  /// The keeper takes up again what was left unwatched, unless somebody reads it.
  void take_up() {
    if (lease_ == nullptr && !watched_) watch();
  }
  void forget_unwatched() noexcept { left_unwatched_ = false; }

  [[nodiscard]] bool ready() const noexcept { return stage_ == Stage::ready; }
  /// The server is older than 2.6.12, or did not say, as far as a mouth has found.
  [[nodiscard]] bool is_old() const noexcept { return is_old_; }
  [[nodiscard]] bool closed() const noexcept { return stage_ == Stage::closed; }
  [[nodiscard]] int fd() const noexcept { return pipe_.fd(); }
  [[nodiscard]] bool wants_to_write() const noexcept {
    return stage_ == Stage::connecting || (!unsent_.empty() && !pipe_.waits_for_peer());
  }

 protected:
  /// The server has greeted us and is a primary.
  virtual void on_ready(core::Instant now) = 0;
  /// One complete reply, in order. May close the link.
  virtual void on_reply(const redisReply& reply, core::Instant now) = 0;
  /// The link has closed, not by our wish. May be called from any verb, so it must not call a listener.
  virtual void on_broken(const Failure& failure, bool was_ready) = 0;
  /// Send a PING and expect its answer.
  virtual void ask_for_sign_of_life() = 0;
  [[nodiscard]] virtual bool hears() const noexcept = 0;
  [[nodiscard]] bool transacts() const noexcept { return transacts_; }
  /// Nothing has been asked, and nothing may come unasked.
  [[nodiscard]] virtual bool awaits_nothing() const = 0;

  /// One write at most; collected while a turn is being processed. What the socket doesn't take waits.
  void send(std::string bytes) {
    if (stage_ == Stage::closed || write_error_) return;
    if (unsent_.size() - sent_ + bytes.size() > unsent_max) {
      fail({Errc::connect, "Redis at " + where() + " doesn't read what we send"});
      return;
    }
    unsent_.empty() ? unsent_.swap(bytes) : static_cast<void>(unsent_ += bytes);
    if (!poller_.busy()) {
      flush();
    } else if (!flush_promised_) {
      flush_promised_ = true;
      poller_.attend(weak_from_this());
    }
  }

  void fail(const Failure& failure) {
    if (stage_ == Stage::closed) return;
    const bool was_ready = stage_ == Stage::ready;
    close();
    if (lease_ != nullptr) lease_->wake();
    on_broken(failure, was_ready);
  }

  void fail_protocol(const std::string& what) { fail({Errc::protocol, "Redis at " + where() + " " + what}); }

  [[nodiscard]] const std::string& where() const noexcept { return settings_.where; }

  Poller& poller_;
  const Settings& settings_;

 private:
  enum class Stage { closed, connecting, greeting, ready };

  /// Signs of life are asked for a little early, so that the keeper need not wake for each link alone.
  [[nodiscard]] core::Duration slack() const noexcept {
    return stage_ == Stage::ready && !asked_at_ ? settings_.options.health_check_interval / 16
                                                : core::Duration::zero();
  }

  void dial_next(core::Instant now, std::string why) {
    for (;;) {
      if (id_ != 0) {
        unwatch();
        poller_.remove(std::exchange(id_, 0));
        pipe_.close();
        if (lease_ != nullptr) lease_->wake();
      }
      if (next_address_ >= addresses_.size() || now >= deadline_) return fail_connecting(why);
      pipe_.open(dial(settings_, addresses_[next_address_], why));
      const auto left = static_cast<core::Duration::rep>(addresses_.size() - next_address_++);
      if (!pipe_) continue;
      id_ = poller_.add(*this);
      if (!watch()) return fail_connecting(std::strerror(ENOMEM));
      // One dead address of many must not use up the time of the others.
      attempt_deadline_ = now + (deadline_ - now) / left;
      poller_.hasten(attempt_deadline_);
      return;
    }
  }

  /// True once connected.
  bool finish_dialling(core::Instant now) {
    const std::optional<std::string> outcome = dialled(pipe_.fd());
    if (!outcome) return false;
    if (!outcome->empty()) {
      dial_next(now, *outcome);
      return false;
    }
    if (settings_.options.tls) pipe_.encipher(*settings_.options.tls, named_host());
    stage_ = Stage::greeting;
    greeting_ = std::make_unique<Greeting>(settings_, hears());
    heard_at_ = now;
    poller_.hasten(deadline_);
    unsent_ = greeting_->take_bytes();
    return true;
  }

  void fail_connecting(const std::string& why) {
    fail({Errc::connect, "can't connect to Redis at " + where() + ": " + why});
  }

  /// As the user calls it, or the sentinels.
  [[nodiscard]] const std::string& named_host() const {
    return settings_.endpoint.host.empty() ? addresses_[next_address_ - 1].name : settings_.endpoint.host;
  }

  /// Tells whoever polls this link what for. False where the kernel has no memory for it.
  bool watch() {
    if (id_ == 0) return true;
    watched_for_write_ = wants_to_write();
    if (lease_ != nullptr) {
      lease_->wake();
      return true;
    }
    const bool before = std::exchange(watched_, true);
    return poller_.watch(pipe_.fd(), id_, watched_for_write_ ? EPOLLIN | EPOLLOUT : EPOLLIN, before);
  }

  void unwatch() noexcept {
    if (std::exchange(watched_, false)) poller_.unwatch(pipe_.fd());
  }

  void leave_unwatched() {
    unwatch();
    watched_for_write_ = false;
    if (!std::exchange(left_unwatched_, true)) poller_.leave_unwatched(id_);
  }

  void flush() {
    flush_promised_ = false;
    if (stage_ == Stage::closed || stage_ == Stage::connecting || unsent_.empty()) return;
    while (sent_ < unsent_.size()) {
      const ssize_t count = pipe_.send(unsent_.data() + sent_, unsent_.size() - sent_);
      if (count >= 0) {
        sent_ += static_cast<std::size_t>(count);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        break;
      } else if (errno != EINTR) {
        // The server may have said why it hung up: read that first, and fail where reading ends.
        write_error_ = pipe_.failure();
        sent_ = unsent_.size();
        poller_.attend(weak_from_this());
      }
    }
    if (sent_ > unsent_.size() / 2) unsent_.erase(0, std::exchange(sent_, 0));
    if (wants_to_write() != watched_for_write_) watch();
    if (unsent_.empty()) unsent_.shrink_to_fit();  // of a thousand links, few have anything to send
  }

  bool receive(std::uint64_t id, core::Instant now) {
    constexpr int rounds_max = 16;  // then others get their turn
    char bytes[16 * 1024];
    for (int round = 0; round < rounds_max; ++round) {
      const ssize_t count = pipe_.recv(bytes, sizeof bytes);
      if (count > 0) {
        heard_at_ = now;
        if (std::exchange(asked_at_, {})) poller_.hasten(due());
        if (!reader_) reader_ = spare_reader_.take();
        if (::redisReaderFeed(reader_.get(), bytes, static_cast<std::size_t>(count)) != REDIS_OK) {
          fail_protocol("sent more than there is memory for");
          return false;
        }
        if (!dispatch(id, now)) return false;
        const bool drained = static_cast<std::size_t>(count) < sizeof bytes && !pipe_.hoards();
        if (drained && !write_error_) return false;
      } else if (count == 0) {
        fail({Errc::connect, "Redis at " + where() + " closed the connection"});
        return false;
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (write_error_) fail_lost(*write_error_);
        return false;
      } else if (errno != EINTR) {
        fail_lost(pipe_.failure());
        return false;
      }
    }
    if (pipe_.hoards()) poller_.attend(weak_from_this());  // no poll tells of what is left
    return true;
  }

  void fail_lost(const Failure& why) {
    fail({why.code, "the connection to Redis at " + where() + " broke: " + why.text});
  }

  /// False once this connection is no more. Between two replies, no link needs a reader of its own.
  bool dispatch(std::uint64_t id, core::Instant now) {
    while (reader_->pos < reader_->len) {
      void* raw = nullptr;
      if (::redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) {
        fail_protocol(std::string("doesn't speak its protocol: ") + reader_->errstr);
        return false;
      }
      if (raw == nullptr) return true;
      const Reply reply(static_cast<redisReply*>(raw));
      if (stage_ == Stage::greeting) {
        greet(*reply, now);
      } else {
        on_reply(*reply, now);
      }
      if (id_ != id) return false;
    }
    spare_reader_.give_back(std::move(reader_));
    return true;
  }

  void greet(const redisReply& reply, core::Instant now) {
    if (const auto failure = greeting_->take(reply)) return fail(*failure);
    if (std::string more = greeting_->take_bytes(); !more.empty()) send(std::move(more));
    if (!greeting_->done()) return;
    stage_ = Stage::ready;
    transacts_ = greeting_->transacts();
    is_old_ = greeting_->is_old();
    greeting_.reset();
    Addresses().swap(addresses_);
    poller_.hasten(due());
    on_ready(now);
  }

  [[nodiscard]] static std::string shown(core::Duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
  }

  SpareReader& spare_reader_;
  Stage stage_ = Stage::closed;
  Pipe pipe_;
  std::uint64_t id_ = 0;  // 0: no socket. Never used twice, so that a late event can't meet a successor
  Sleeper* lease_ = nullptr;
  Reader reader_;                       // while a reply is half read
  std::unique_ptr<Greeting> greeting_;  // until it is over
  bool transacts_ = true;               // as the greeting has found
  bool is_old_ = false;                 // the same

  std::string unsent_;
  std::size_t sent_ = 0;         // bytes at the front of unsent_ that are not unsent any more
  bool watched_ = false;         // by the keeper
  bool left_unwatched_ = false;  // and the poller knows
  bool watched_for_write_ = false;
  bool flush_promised_ = false;
  std::optional<Failure> write_error_;

  Addresses addresses_;
  std::size_t next_address_ = 0;
  core::Instant deadline_;          // of connecting and greeting together
  core::Instant attempt_deadline_;  // of the present address
  core::Instant heard_at_;
  std::optional<core::Instant> asked_at_;  // for a sign of life, since when nothing has come
};

}  // namespace sublock::hiredis
