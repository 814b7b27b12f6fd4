// SPDX-License-Identifier: MIT
//
// Fencing a row of a database: each hold of the lock draws a token greater than all before, the row keeps the
// greatest that has written it, and so refuses a holder who was stopped in the middle of his work and does
// not know yet that he has lost. On a real server, that is a process that SIGSTOP stops.

#include "support/server.hpp"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using namespace std::chrono_literals;

/// One account, of which any number of processes may have a connection.
class Account {
 public:
  explicit Account(const std::string& path) {
    sqlite3* database = nullptr;
    const int opened = sqlite3_open(path.c_str(), &database);
    database_.reset(database);
    if (opened != SQLITE_OK) fail();
    sqlite3_busy_timeout(database, 5000);
    run("CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, balance INTEGER, token INTEGER)");
    run("INSERT OR IGNORE INTO account VALUES (1, 0, 0)");
  }

  /// False if somebody with a greater token has written since that one was drawn. What is read, checked and written
  /// is one statement: the database is the only place where nothing comes between.
  [[nodiscard]] bool write(std::int64_t token, std::int64_t balance) {
    // <= and not <: one holder may write more than once. A Redis that forgets its data counts from 1 again, and
    // everything is refused until somebody puts the row's token back: too strict is the right way round.
    run("UPDATE account SET balance = ?1, token = ?2 WHERE id = 1 AND token <= ?2", balance, token);
    return sqlite3_changes(database_.get()) == 1;
  }

  [[nodiscard]] std::int64_t balance() { return run("SELECT balance FROM account WHERE id = 1"); }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  /// The first number of the first row, or 0.
  std::int64_t run(const char* sql, auto... values) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql, -1, &prepared, nullptr) != SQLITE_OK) fail();
    const std::unique_ptr<sqlite3_stmt, Close> statement(prepared);
    int place = 0;
    (sqlite3_bind_int64(prepared, ++place, values), ...);
    const int result = sqlite3_step(prepared);
    if (result != SQLITE_ROW && result != SQLITE_DONE) fail();
    return result == SQLITE_ROW ? sqlite3_column_int64(prepared, 0) : 0;
  }

  [[noreturn]] void fail() const { throw std::runtime_error(sqlite3_errmsg(database_.get())); }

  std::unique_ptr<sqlite3, Close> database_;
};

bool write(Account& account, const char* who, std::int64_t token, std::int64_t balance) {
  const bool accepted = account.write(token, balance);
  std::cout << who << " writes with token " << token << ": " << (accepted ? "accepted" : "refused")
            << std::endl;
  return accepted;
}

template <class Lock>
typename Lock::Options fenced(const char* label) {
  // A holder that is silent twice for so long is put aside. The default is a second.
  return {.unavailable_timeout = 200ms, .fencing = true, .label = label};
}

/// The second takes over from the first, who is standing still.
template <class Server>
bool take_over(Server& server, const std::string& channel, const std::string& path) {
  Account account(path);
  typename Server::Lock second(server.connect(), channel, fenced<typename Server::Lock>("second"));
  second.acquire({.timeout = 30s});
  return write(account, "second", second.fence_token(), 200);
}

bool stalled_holder(examples::MemoryServer& server, const std::string& channel, const std::string& path) {
  using Lock = examples::MemoryServer::Lock;
  Account account(path);
  const auto process = server.connect();
  Lock first(process, channel, fenced<Lock>("first"));
  first.acquire();
  const std::int64_t token = first.fence_token();
  server.freeze(*process);
  const bool second_wrote = take_over(server, channel, path);
  const bool first_wrote = write(account, "first", token, 100);
  server.thaw(*process);
  return second_wrote && !first_wrote && account.balance() == 200;
}

[[noreturn]] void hold_and_stop(examples::LiveServer& server, const std::string& channel,
                                const std::string& path) {
  const int status = examples::exit_status([&] {
    Account account(path);
    examples::LiveServer::Lock first(server.connect(), channel, fenced<examples::LiveServer::Lock>("first"));
    first.acquire();
    const std::int64_t token = first.fence_token();
    std::raise(SIGSTOP);  // in the middle of its work
    return !write(account, "first", token, 100);
  });
  ::_exit(status);
}

bool stalled_holder(examples::LiveServer& server, const std::string& channel, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) hold_and_stop(server, channel, path);
  int status = 0;
  if (::waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status)) return false;
  bool right = examples::exit_status([&] { return take_over(server, channel, path); }) == 0;
  ::kill(child, SIGCONT);
  right = ::waitpid(child, &status, 0) == child && status == 0 && right;
  return right && Account(path).balance() == 200;
}

}  // namespace

int main() {
  return examples::on_a_server([](auto& server) {
    const std::string channel = examples::channel_of_our_own("account");
    const auto path = std::filesystem::temp_directory_path() / (channel + ".db");
    const bool right = stalled_holder(server, channel, path);
    std::filesystem::remove(path);
    return right;
  });
}
