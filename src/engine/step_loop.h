// Continuous batching: which requests run, and what each step computes.
//
//   loop.Add(...), loop.Cancel(...)   between steps
//   loop.Step():  begin waiting requests that have room ► plan: a decode row of each that answers,
//                 prefill chunks within the time ► open chunks ► one forward pass ► events
//
// Memory: a request begins when every pool has room for its prompt and a part of its answer
// (MemoryLedger); it grows beyond that while there is room. When a step lacks memory, the request
// that arrived last is suspended: its tiles stay as cache, it waits in its old place and goes on
// from what is still there. The first to have arrived of the running ones stays, and alone it fits
// (Engine::Submit checks that), so something always ends.
//
// Early sharing: a request whose prompt begins like one that is just being read waits for that
// prefix and resumes behind it (a few times at most); if the reader goes away, it reads on itself.
//
// Ownership: owns the requests from Add on; borrows all parts. Threads: the engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/generation.h"
#include "engine/request_queue.h"
#include "sched/memory_ledger.h"
#include "sched/prefill_plan.h"
#include "sched/step_pace.h"
#include "sched/waiting_queue.h"

namespace weir {

struct StepLoopParts {
  const ForwardFunction& forward;
  KvCache& cache;
  PrefixTrie& trie;
  const ReuseRules& rules;
  const EngineOptions& options;
  EngineStats& stats;
  RequestQueue& queue;
};

class StepLoop {
 public:
  explicit StepLoop(const StepLoopParts& parts);
  ~StepLoop();

  void Add(QueuedRequest queued);
  void Cancel(RequestId id);  // its sink is told at once
  [[nodiscard]] bool has_work() const { return !jobs_.empty(); }
  // Requires has_work().
  void Step();

  void UpdateGauges();
  // Views of the running requests, for reports.
  [[nodiscard]] std::vector<const SequenceView*> RunningViews() const;

 private:
  struct Job;
  struct Shared {  // a prefix that another request is computing
    RequestId by;
    uint32_t position = 0;
  };

  // Waiting requests begin.
  void FailTimedOut();
  void Admit();
  void Match(const Generation& generation);
  WaitingQueue::Verdict Offer(Job& job);
  [[nodiscard]] bool StillShares(Job& job);
  [[nodiscard]] std::optional<Shared> FindShared(const Job& job, uint32_t cached);
  [[nodiscard]] bool HasRoomFor(const Job& job);
  void Begin(Job& job);
  [[nodiscard]] WaitingRequest Describe(const Job& job);

  // A step of the running ones, which are in order of arrival.
  void Plan();
  void OpenChunks();
  void OpenChunk(Job& job);
  void Suspend(Job& job);
  void RunForward();
  void TakeRows(std::span<const float> rows);

  void End(Job& job, GenerationEvent last);
  Job* Find(RequestId id);

  StepLoopParts parts_;
  StepPace pace_;
  PrefillPlanner planner_;
  MemoryLedger ledger_;
  WaitingQueue waiting_;
  std::unordered_map<RequestId, std::unique_ptr<Job>> jobs_;  // waiting and running
  std::vector<Job*> running_;                                 // by arrival
  uint64_t arrivals_ = 0;
  bool may_admit_ = false;        // something has changed since nobody could begin
  bool somebody_shares_ = false;  // of the waiting ones

  // Buffers.
  PrefixMatch match_;
  std::vector<TileId> shared_tiles_;
  std::vector<PrefillCandidate> prefills_;
  std::vector<ForwardSegment> segments_;
  std::vector<Job*> in_step_;
};

}  // namespace weir
