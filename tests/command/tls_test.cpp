// SPDX-License-Identifier: MIT

// The command over TLS: whom it believes, and that every verb gets through.

#include <command/command.hpp>
#include <support/authority.hpp>

namespace support {
namespace {

class TlsCommand : public Command {
 protected:
  void SetUp() override {
    authority.issue("server", "DNS:redis.example");
    url = encipher(server, authority, "server");
  }
  Process over_tls(const std::string& verb, Words words) const {
    words.insert(words.begin(), {verb, "--sni", "redis.example", "--cacert", authority.certificate()});
    return sublock_with({"REDIS_URL=" + url}, words);
  }

  Authority authority;
  std::string url;
};

TEST_F(TlsCommand, EveryVerbGetsThrough) {
  auto holder = over_tls("run", {"--label", "secret", "c"});
  holder.expect_line("^held ");
  EXPECT_EQ(over_tls("run", {"-n", "c", "true"}).exit_status(), 1);
  over_tls("who", {"c"}).expect_line(" secret ");
  over_tls("watch", {"c"}).expect_line(" holds .* secret ");
  auto doctor = over_tls("doctor", {"c"});
  EXPECT_EQ(doctor.exit_status(), 0) << doctor.transcript();
  auto bench = over_tls("bench", {"-t", "0.1"});
  EXPECT_EQ(bench.exit_status(), 0) << bench.transcript();
}

/// Whom the system believes, which these variables tell OpenSSL.
TEST_F(TlsCommand, WithoutACertificateOfItsOwnTheSystemStoreIsBelieved) {
  const auto status = [&](const std::string& store) {
    auto who = sublock_with({"REDIS_URL=" + url, store}, {"who", "--sni", "redis.example", "c"});
    return who.exit_status();
  };
  const Authority stranger;
  EXPECT_EQ(status("SSL_CERT_FILE=" + authority.certificate()), 1) << "nobody has it";
  EXPECT_EQ(status("SSL_CERT_DIR=" + authority.store()), 1) << "nobody has it";
  EXPECT_EQ(status("SSL_CERT_FILE=" + stranger.certificate()), 77);
  EXPECT_EQ(status("SSL_CERT_DIR=" + stranger.store()), 77);
}

TEST_F(TlsCommand, StrangersAreNotBelievedUnlessThatIsAskedFor) {
  for (const char* const verb : {"who", "doctor"}) {
    auto unknown = sublock_with({"REDIS_URL=" + url}, {verb, "c"});
    EXPECT_EQ(unknown.exit_status(), 77) << unknown.transcript();
    auto elsewhere = sublock_with({"REDIS_URL=" + url}, {verb, "--cacert", authority.certificate(), "c"});
    EXPECT_EQ(elsewhere.exit_status(), 77) << "made out to another name";
  }
  EXPECT_EQ(sublock_with({"REDIS_URL=" + url}, {"who", "--insecure", "c"}).exit_status(), 1)
      << "nobody has it";
  EXPECT_EQ(sublock_with({"REDIS_URL=" + url}, {"who", "--cacert", "/nowhere", "c"}).exit_status(), 64);
}

}  // namespace
}  // namespace support
