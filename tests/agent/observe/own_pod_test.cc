// What a reading of the own Pod object means for its stop.
#include "agent/observe/own_pod.h"

#include "gtest/gtest.h"

namespace lastcall::observe {
namespace {

TEST(PodState, ADeletionTimestampIsProof) {
  k8s::PodView pod;
  pod.phase = "Running";
  pod.deletion_timestamp = net::WallTime{};
  EXPECT_EQ(pod_state(pod), core::PodState::kDeleted);
}

TEST(PodState, ARunningPodLives) {
  k8s::PodView pod;
  pod.phase = "Running";
  EXPECT_EQ(pod_state(pod), core::PodState::kLiving);
}

TEST(PodState, AnEvictionByTheKubeletStopsThePodWithoutATimestamp) {
  k8s::PodView pod;
  pod.phase = "Failed";
  pod.reason = "Evicted";
  EXPECT_EQ(pod_state(pod), core::PodState::kStopping);
}

TEST(PodState, ADisruptionTargetIsStopping) {
  k8s::PodView pod;
  pod.phase = "Running";
  pod.disruption_target = true;
  EXPECT_EQ(pod_state(pod), core::PodState::kStopping);
}

}  // namespace
}  // namespace lastcall::observe
