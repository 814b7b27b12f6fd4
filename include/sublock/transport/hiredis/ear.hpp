// SPDX-License-Identifier: MIT
#pragma once

// What a line hears by, whether that is a connection of its own or a seat on one that others share. An interface.

#include <sublock/core/event.hpp>
#include <sublock/transport/hiredis/address.hpp>
#include <sublock/transport/hiredis/delivery.hpp>
#include <sublock/transport/hiredis/link.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sublock::hiredis {

/// Needs the transport's mutex. Once it is broken or closed, it stays so.
class Ear {
 public:
  class Owner {
   public:
    /// Neither may call a listener.
    virtual void on_ear_ready(Ear& ear) = 0;
    virtual void on_ear_broken(Ear& ear, const Failure& failure) = 0;

   protected:
    ~Owner() = default;
  };

  Ear() = default;
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;
  virtual ~Ear() = default;

  /// Whose ear it is; null in the pool.
  [[nodiscard]] LineState* line() const noexcept { return line_; }
  void set_line(LineState* line) noexcept { line_ = line; }

  /// The connection that it hears by.
  [[nodiscard]] virtual std::shared_ptr<Link> link() = 0;
  /// Of a shared ear, which others must know of; else empty.
  [[nodiscard]] virtual std::string id() const { return {}; }

  virtual void open(const Addresses& addresses, core::Instant now) = 0;
  virtual void drop() = 0;
  [[nodiscard]] virtual bool hears_now() const noexcept = 0;

  /// Fit for another lock: nothing subscribed, nothing outstanding that such a one would have to wait for.
  [[nodiscard]] virtual bool clean() const = 0;
  /// Makes it clean where that takes no more than to stop listening: nobody counts one who only listens, so
  /// nobody waits for the confirmation either.
  virtual void retire() = 0;

  virtual void join(std::string_view channel, std::string_view response_channel, std::string_view client_name,
                    const core::action::Rosters& rosters) = 0;
  virtual void listen(std::string_view channel) = 0;
  /// One more channel, until it retires. Nobody is told whether it may.
  virtual void listen_besides(std::string_view channel) = 0;
  virtual void ask(std::string_view channel, std::string_view response_channel, std::string_view payload) = 0;
  virtual void leave(const std::vector<core::action::Note>& notes) = 0;

 protected:
  LineState* line_ = nullptr;
};

/// Where lines get ears that are not theirs alone.
class EarSource {
 public:
  /// For `line`, at the server with those settings and that mouth, on behalf of its owner.
  [[nodiscard]] virtual std::shared_ptr<Ear> ear_for(const LineState& line, const Settings& settings,
                                                     Mouth& mouth, Ear::Owner& owner) = 0;
  /// The server is not the right one any more.
  virtual void drop_all() = 0;

 protected:
  ~EarSource() = default;
};

}  // namespace sublock::hiredis
