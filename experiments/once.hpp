// Once: answers by key, each made when it is first asked for and shared by all threads that ask. Who asks for
// one that another is making waits for it.
#pragma once

#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <utility>

namespace collsim::program {

template <class Key, class Value>
class Once {
 public:
  // make() -> Value; what it throws, everyone who asks for this key gets.
  template <class Make>
  Value of(const Key& key, Make make) {
    std::promise<Value> promise;
    std::shared_future<Value> future;
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      const auto place = values_.try_emplace(key);
      is_first = place.second;
      if (is_first) place.first->second = promise.get_future().share();
      future = place.first->second;
    }
    if (is_first) {
      try {
        promise.set_value(make());
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    }
    return future.get();
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_future<Value>> values_;
};

}  // namespace collsim::program
