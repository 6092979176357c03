#!/usr/bin/env bash
# Reads every #include of a tree and names those that break the layering of DESIGN 3:
# arrows run agent -> {k8s, lb} -> net, anyone may use config, and agent/core is pure.
#
#   layering.sh [ROOT]    prints `file:line: what is wrong` per violation
#                         exit 0: none, 1: some, 2: nothing to read
set -euo pipefail
cd "${1:-.}"

# Which folders and headers of the tree each folder may include. Tests may include anything.
declare -A may_include=(
  [config]='config'
  [net]='net config'
  [k8s]='k8s net config'
  [lb]='lb net config'
  [agent/core]='agent/core'
  [agent/observe]='agent/observe agent/core agent/report/log.h k8s lb net config'
  [agent/release]='agent/release agent/core k8s lb net config'
  [agent/serve]='agent/serve agent/core agent/report/log.h k8s lb net config'
  [agent/report]='agent/report agent/core k8s lb net config'
  [agent/hook]='agent/hook config/duration.h'
  [agent/cli]='agent k8s lb net config'
)

# Libraries that the first folder named wraps for everyone else; the tests named may use them too.
declare -A library_belongs_to=(
  [curl/]='net tests'
  [event.h]='net tests'
  [event2/]='net tests'
  [evhttp.h]='net tests'
  [yaml-cpp/]='config tests/config'
  [simdjson]='config k8s tests'
  [prometheus/]='agent/report tests/agent/report'
)

# agent/core decides and does nothing: of the standard library it has no use for these.
core_bans_headers=' atomic barrier condition_variable csignal cstdio ctime filesystem fstream future
  iostream latch mutex random semaphore shared_mutex stop_token syncstream thread '
core_bans_words='(::|\.|->)now *\(|\bspdlog\b|\bs?printf *\(|\bstd::(cout|cerr|clog|(j?thread|mutex|async)\b)|\b(socket|getenv|sleep_for|sleep_until) *\(|\bthrow\b'

violations=0
complain() {  # complain FILE:LINE MESSAGE
  printf '%s: %s\n' "$1" "$2"
  violations=$((violations + 1))
}

# The folder whose rules a file follows: its first directory, and for agent/ the first two.
folder_of() {
  local path=$1 first=${1%%/*}
  if [[ $first == agent ]]; then
    local rest=${path#agent/}
    echo "agent/${rest%%/*}"
  else
    echo "$first"
  fi
}

# under PATH ENTRY..: PATH is one of the entries, or lies below one.
under() {
  local path=$1 entry
  shift
  for entry in "$@"; do
    [[ $path == "$entry" || $path == "$entry"/* ]] && return 0
  done
  return 1
}

check_tree_header() {  # FILE:LINE FOLDER HEADER
  local allowed=${may_include[$2]-}
  # shellcheck disable=SC2086  # the entries are words
  if [[ -z $allowed ]]; then
    complain "$1" "$2 has no rule in tests/tidy/layering.sh"
  elif ! under "$3" $allowed; then
    complain "$1" "$2 must not include $3"
  fi
}

check_library() {  # FILE:LINE FILE HEADER
  local library
  for library in "${!library_belongs_to[@]}"; do
    # shellcheck disable=SC2086
    if [[ $3 == "$library"* ]] && ! under "$2" ${library_belongs_to[$library]}; then
      complain "$1" "$3 belongs to ${library_belongs_to[$library]%% *}"
    fi
  done
}

check_core_header() {  # FILE:LINE HEADER
  if [[ ! $2 =~ ^[a-z_0-9]+$ ]]; then
    complain "$1" "agent/core must not include <$2>: not a header of standard C++"
  elif [[ $core_bans_headers =~ [[:space:]]$2[[:space:]] ]]; then
    complain "$1" "agent/core must not include <$2>: it performs no I/O, reads no clock, has no threads"
  fi
}

check_include() {  # FILE LINE HEADER, HEADER with its quotes or angle brackets
  local file=$1 place=$1:$2 header=${3:1:-1} folder
  folder=$(folder_of "$file")
  check_library "$place" "$file" "$header"
  [[ $folder == tests ]] && return
  case ${header%%/*} in
    agent | config | k8s | lb | net | tests) check_tree_header "$place" "$folder" "$header" ;;
    *)
      if [[ $3 == \"* ]]; then
        complain "$place" "\"$header\" does not name a header from the root of the tree"
      elif [[ $folder == agent/core ]]; then
        check_core_header "$place" "$header"
      fi
      ;;
  esac
}

folders=()
for folder in agent config k8s lb net tests; do
  if [[ -d $folder ]]; then folders+=("$folder"); fi
done
sources=(--include='*.h' --include='*.cc' --include='*.c' --include='*.hpp' --include='*.cpp')
include='^[[:space:]]*#[[:space:]]*include[[:space:]]*(["<][^">]+[">])'

files_read=$(grep -rlE "${sources[@]}" '' "${folders[@]}" | wc -l) || true
if ((files_read == 0)); then
  echo "no sources under $PWD" >&2
  exit 2
fi

while IFS=: read -r file line text; do
  [[ $text =~ $include ]] && check_include "$file" "$line" "${BASH_REMATCH[1]}"
done < <(grep -rnE "${sources[@]}" "$include" "${folders[@]}")

if [[ -d agent/core ]]; then
  while IFS=: read -r file line text; do
    [[ $text =~ $include ]] && continue
    # What a comment says is no deed.
    word=$(grep -oE "$core_bans_words" <<<"${text%%//*}" | head -n 1) || continue
    complain "$file:$line" "agent/core must not say \`$word\`: it is pure"
  done < <(grep -rnE "${sources[@]}" "$core_bans_words" agent/core)
fi

echo "$files_read sources read, $violations violations"
((violations == 0))
