// What etcd is to an API server: objects, their versions, and the changes in order.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "net/loop.h"
#include "tests/fakes/kube_objects.h"

namespace lastcall::fakes {

// One version of one object. Never changes.
class Object {
 public:
  Object(Spec spec, Metadata metadata) : spec_(std::move(spec)), metadata_(std::move(metadata)) {}

  [[nodiscard]] const Spec& spec() const { return spec_; }
  [[nodiscard]] const Metadata& metadata() const { return metadata_; }
  // As an item of a list; rendered once, at the first use.
  [[nodiscard]] const std::string& json() const;

 private:
  Spec spec_;
  Metadata metadata_;
  mutable std::string json_;
};

using ObjectPtr = std::shared_ptr<const Object>;

struct Change {
  ObjectPtr before;  // null: created
  ObjectPtr object;  // after the change; of a deleted object its last state, at the new version
  bool deleted = false;

  [[nodiscard]] std::uint64_t version() const { return object->metadata().resource_version; }
};

class KubeStore {
 public:
  using Objects = std::map<std::string, ObjectPtr>;
  using Clock = std::function<net::WallTime()>;

  // Everything but Nodes lives in one namespace. `clock` dates the objects.
  KubeStore(std::string namespace_name, Clock clock);

  // Creates or replaces. Writing what is already there changes nothing.
  void put(Spec spec);
  // Nothing happens when it is not there.
  void remove(Resource resource, const std::string& name);

  [[nodiscard]] ObjectPtr find(Resource resource, const std::string& name) const;
  [[nodiscard]] const Objects& all(Resource resource) const;
  // The object's spec; nullptr when it is not there.
  template <class T>
  [[nodiscard]] const T* get(Resource resource, const std::string& name) const {
    const auto object = find(resource, name);
    return object ? std::get_if<T>(&object->spec()) : nullptr;
  }

  [[nodiscard]] const std::string& namespace_name() const { return namespace_; }
  // Of the last change.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  // The changes after compacted(), oldest first.
  [[nodiscard]] const std::deque<Change>& history() const { return history_; }
  [[nodiscard]] std::uint64_t compacted() const { return compacted_; }
  // Forgets the history: a WATCH from an older version than now is gone (410).
  void compact();

  // Called after each change, in the order of registration; must not write.
  void on_change(std::function<void(const Change&)> listener);

 private:
  void tell(const Change& change);
  [[nodiscard]] std::string make_uid();

  std::string namespace_;
  Clock clock_;
  std::uint64_t version_ = 1000;
  std::uint64_t compacted_ = 1000;
  std::uint64_t uids_ = 0;
  std::map<Resource, Objects> objects_;
  std::deque<Change> history_;
  std::vector<std::function<void(const Change&)>> listeners_;
};

}  // namespace lastcall::fakes
