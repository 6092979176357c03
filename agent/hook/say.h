// What the hook tells people, without stdio.
#pragma once

#include <initializer_list>
#include <string_view>

namespace lastcall::hook {

// The system's words for an errno.
[[nodiscard]] std::string_view describe(int error);

// Writes `text` as it is; what cannot be written is lost.
void write_all(int fd, std::string_view text);

// One line of at most 512 bytes on stderr: "lastcall-hook: " and the parts.
void say(std::initializer_list<std::string_view> parts);

// The same, and also to the stderr of the container's first process: the kubelet drops what
// hooks write, that one is the container's log. As far as it can be opened.
void say_in_log(std::initializer_list<std::string_view> parts);

}  // namespace lastcall::hook
