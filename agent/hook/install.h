// `lastcall-hook install`: this program, copied to where other containers can run it.
#pragma once

namespace lastcall::hook {

// Copies the running program to `directory`/lastcall-hook, mode 0755. What is there is
// replaced in one step: whoever runs it meanwhile has the old or the new one, whole. False
// when that failed; why was said on stderr, and nothing is left behind.
[[nodiscard]] bool install(const char* directory);

}  // namespace lastcall::hook
