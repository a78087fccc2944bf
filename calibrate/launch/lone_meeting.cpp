#include "calibrate/launch/lone_meeting.hpp"

#include <map>
#include <utility>

#include "base/diagnostic.hpp"
#include "calibrate/launch/node_identity.hpp"

namespace stepcast {
namespace {

class LoneMeeting final : public Meeting {
 public:
  explicit LoneMeeting(const std::string& launcher) {
    place_.launcher = launcher;
    place_.host = host_name();
    place_.node_of_rank = {0};
    place_.host_of_rank = {place_.host};
  }

  const RankPlace& place() const override { return place_; }
  std::string interface_address() const override { return "127.0.0.1"; }
  void put(const std::string& key, const std::string& value) override { store_[key] = value; }
  std::string get(const std::string& key) override {
    const auto found = store_.find(key);
    STEPCAST_CHECK(found != store_.end(), "nobody else could put " + key);
    return found->second;
  }
  void barrier() override {}
  std::vector<std::string> gather(const std::string& text) override { return {text}; }
  std::string broadcast(const std::string& text_of_rank_0) override { return text_of_rank_0; }
  void doing(const std::string&, Seconds) override {}
  void on_abort(std::function<void()>) override {}
  void abandon(const std::string&) override {}

 private:
  RankPlace place_;
  std::map<std::string, std::string> store_;
};

}  // namespace

std::unique_ptr<Meeting> meet_alone(const std::string& launcher) {
  return std::make_unique<LoneMeeting>(launcher);
}

}  // namespace stepcast
