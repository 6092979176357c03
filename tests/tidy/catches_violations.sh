#!/usr/bin/env bash
# Proves that layering.sh reports what it should and nothing else: makes a small tree of one-line
# sources in a temporary directory, and compares what is reported with what each line says.
set -euo pipefail
layering=$(dirname "$(realpath "$0")")/layering.sh
tree=$(mktemp -d)
trap 'rm -r "$tree"' EXIT

# good|bad  file  its one line
cases='
good config/a.cc           #include "config/duration.h"
good config/b.cc           #include <yaml-cpp/yaml.h>
bad  config/c.cc           #include "net/loop.h"
bad  config/d.cc           #include "agent/core/drain.h"
bad  net/s.cc              #include <simdjson.h>

good net/a.cc              #include "net/loop.h"
good net/b.cc              #include "config/settings.h"
good net/c.cc              #include <curl/curl.h>
good net/d.cc              #include <event2/event.h>
bad  net/e.cc              #include "k8s/api_client.h"
bad  net/f.cc              #include "agent/report/log.h"
bad  net/g.cc              #include <yaml-cpp/yaml.h>

good k8s/a.cc              #include "net/loop.h"
good k8s/b.cc              #include "config/settings.h"
good k8s/c.cc              #include <simdjson.h>
bad  k8s/d.cc              #include "lb/elbv2.h"
bad  k8s/e.cc              #include "agent/core/drain.h"
bad  k8s/f.cc              #include <curl/curl.h>
bad  k8s/g.cc              #include "reflector.h"
bad  k8s/h.cc              #include "../net/loop.h"
bad  k8s/i.cc              #include <lb/elbv2.h>
bad  k8s/j.cc                #  include "lb/elbv2.h"

good lb/a.cc               #include "net/loop.h"
good lb/b.cc               #include <pugixml.hpp>
bad  lb/c.cc               #include "k8s/pod_view.h"
bad  lb/d.cc               #include "agent/observe/traffic.h"
bad  lb/e.cc               #include <event2/http.h>
bad  lb/f.cc               #include <simdjson.h>

good agent/core/a.cc       #include "agent/core/drain.h"
good agent/core/b.cc       #include <chrono>
good agent/core/c.cc       // reads no Clock::now(), has no std::thread, throws nothing
good agent/core/d.cc       now_ = now;
bad  agent/core/e.cc       #include "config/settings.h"
bad  agent/core/f.cc       #include "net/loop.h"
bad  agent/core/g.cc       #include "agent/report/log.h"
bad  agent/core/h.cc       #include <thread>
bad  agent/core/i.cc       #include <mutex>
bad  agent/core/j.cc       #include <iostream>
bad  agent/core/k.cc       #include <fstream>
bad  agent/core/l.cc       #include <sys/socket.h>
bad  agent/core/m.cc       #include <spdlog/spdlog.h>
bad  agent/core/n.cc       #include <unistd.h>
bad  agent/core/o.cc       const auto now = std::chrono::steady_clock::now();
bad  agent/core/p.cc       const auto now = clock_->now();
bad  agent/core/q.cc       spdlog::info("held");
bad  agent/core/r.cc       const int fd = socket(AF_INET, SOCK_STREAM, 0);
bad  agent/core/s.cc       std::cerr << "held";
bad  agent/core/t.cc       throw 1;

good agent/observe/a.cc    #include "agent/core/drain.h"
good agent/observe/b.cc    #include "agent/report/log.h"
good agent/observe/c.cc    #include "k8s/slice_view.h"
good agent/observe/d.cc    #include "lb/elbv2.h"
bad  agent/observe/e.cc    #include "agent/report/metrics.h"
bad  agent/observe/f.cc    #include "agent/serve/endpoints.h"
bad  agent/observe/g.cc    #include "agent/release/envoy.h"
bad  agent/observe/h.cc    #include "agent/cli/agent.h"
bad  agent/observe/i.cc    #include "tests/fakes/clock.h"

good agent/release/a.cc    #include "net/http_client.h"
bad  agent/release/b.cc    #include "agent/report/log.h"
bad  agent/release/c.cc    #include "agent/observe/traffic.h"

good agent/serve/a.cc      #include "agent/report/log.h"
bad  agent/serve/b.cc      #include "agent/report/metrics.h"
bad  agent/serve/c.cc      #include <prometheus/registry.h>
bad  agent/serve/d.cc      #include "agent/hook/wait.h"

good agent/report/a.cc     #include <prometheus/registry.h>
good agent/report/b.cc     #include "agent/core/drain.h"
bad  agent/report/c.cc     #include "agent/serve/endpoints.h"

good agent/hook/a.cc       #include "config/duration.h"
good agent/hook/b.cc       #include <sys/socket.h>
bad  agent/hook/c.cc       #include "config/settings.h"
bad  agent/hook/d.cc       #include "agent/core/drain.h"
bad  agent/hook/e.cc       #include "net/loop.h"

good agent/cli/a.cc        #include "agent/observe/traffic.h"
good agent/cli/b.cc        #include "agent/report/metrics.h"
good agent/cli/c.cc        #include "config/settings.h"
bad  agent/cli/d.cc        #include "tests/fakes/clock.h"
bad  agent/cli/e.cc        #include <curl/curl.h>

bad  agent/new_folder/a.cc #include "agent/core/drain.h"

good tests/agent/a.cc      #include "agent/cli/agent.h"
good tests/k8s/a.cc        #include <simdjson.h>
good tests/net/a.cc        #include <curl/curl.h>
good tests/fakes/a.cc      #include "tests/fakes/clock.h"
good tests/fakes/b.cc      #include <event2/http.h>
bad  tests/sim/a.cc        #include <prometheus/registry.h>
bad  tests/sim/b.cc        #include <yaml-cpp/yaml.h>
'

expected=''
while read -r verdict file line; do
  [[ -n $verdict ]] || continue
  mkdir -p "$tree/$(dirname "$file")"
  printf '%s\n' "$line" >"$tree/$file"
  if [[ $verdict == bad ]]; then expected+=$file:1$'\n'; fi
done <<<"$cases"

status=0
report=$("$BASH" "$layering" "$tree") || status=$?
reported=$(grep -oE '^[^:]+:[0-9]+' <<<"$report" | sort)
if [[ $status != 1 ]]; then
  echo "exit code $status instead of 1"
  exit 1
fi
if ! diff <(sort <<<"${expected%$'\n'}") - <<<"$reported"; then
  echo '< should have been reported   > should not'
  exit 1
fi

# A tree of nothing is not a clean tree: the path may be wrong.
empty=$tree/empty
mkdir "$empty"
status=0
"$BASH" "$layering" "$empty" 2>/dev/null || status=$?
if [[ $status != 2 ]]; then
  echo "an empty tree: exit code $status instead of 2"
  exit 1
fi
