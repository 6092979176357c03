// Request paths of LIST and WATCH. Internal to k8s/.
#pragma once

#include <string>
#include <string_view>

#include "k8s/lister.h"

namespace lastcall::k8s {

// One page: the first with an empty `continue_token`.
[[nodiscard]] std::string list_path(const ListRequest& request, std::string_view continue_token);

// All changes after `resource_version`, with bookmarks.
[[nodiscard]] std::string watch_path(const ListRequest& request, std::string_view resource_version);

}  // namespace lastcall::k8s
