#include "agent/report/process_figures.h"

#include <fstream>

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

namespace lastcall::report {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double count_open_fds() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return 0;
  double count = 0;
  while (const dirent* entry = readdir(directory)) {  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(directory);
  return count - 1;  // the directory itself
}

}  // namespace

ProcessFigures process_figures() {
  ProcessFigures figures;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    figures.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  double pages_total = 0;
  double pages_resident = 0;
  std::ifstream statm("/proc/self/statm");
  if (statm >> pages_total >> pages_resident) {
    figures.resident_bytes = pages_resident * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
  figures.open_fds = count_open_fds();
  return figures;
}

}  // namespace lastcall::report
