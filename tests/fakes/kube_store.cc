#include "tests/fakes/kube_store.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace lastcall::fakes {

const std::string& Object::json() const {
  if (json_.empty()) json_ = to_json(spec_, metadata_);
  return json_;
}

KubeStore::KubeStore(std::string namespace_name, Clock clock)
    : namespace_(std::move(namespace_name)), clock_(std::move(clock)) {
  for (const auto resource : kResources) objects_[resource];
}

void KubeStore::put(Spec spec) {
  const ObjectPtr before = find(resource_of(spec), name_of(spec));
  Metadata metadata;
  if (before) metadata = before->metadata();
  if (auto* pod = std::get_if<Pod>(&spec)) {
    if (pod->uid.empty()) pod->uid = before ? metadata.uid : make_uid();
    metadata.uid = pod->uid;
  }
  if (before && before->spec() == spec) return;
  if (!before) {
    if (!std::holds_alternative<Node>(spec)) metadata.namespace_name = namespace_;
    if (metadata.uid.empty()) metadata.uid = make_uid();
    metadata.created = clock_();
  }
  metadata.resource_version = ++version_;
  auto object = std::make_shared<const Object>(std::move(spec), std::move(metadata));
  objects_[resource_of(object->spec())][name_of(object->spec())] = object;
  tell({before, object, false});
}

void KubeStore::remove(Resource resource, const std::string& name) {
  const ObjectPtr before = find(resource, name);
  if (!before) return;
  objects_[resource].erase(name);
  Metadata metadata = before->metadata();
  metadata.resource_version = ++version_;
  tell({before, std::make_shared<const Object>(before->spec(), std::move(metadata)), true});
}

ObjectPtr KubeStore::find(Resource resource, const std::string& name) const {
  const Objects& objects = all(resource);
  const auto it = objects.find(name);
  return it == objects.end() ? nullptr : it->second;
}

const KubeStore::Objects& KubeStore::all(Resource resource) const { return objects_.at(resource); }

void KubeStore::compact() {
  history_.clear();
  compacted_ = version_;
}

void KubeStore::on_change(std::function<void(const Change&)> listener) {
  listeners_.push_back(std::move(listener));
}

void KubeStore::tell(const Change& change) {
  history_.push_back(change);
  for (const auto& listener : listeners_) listener(change);
}

std::string KubeStore::make_uid() {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "6f1d3c2a-0000-4000-8000-%012" PRIx64, ++uids_);
  return text.data();
}

}  // namespace lastcall::fakes
