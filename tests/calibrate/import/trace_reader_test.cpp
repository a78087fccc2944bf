#include "calibrate/import/trace_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>
#include <sstream>
#include <streambuf>

#include "tests/calibrate/import/gzip.hpp"
#include "tests/calibrate/import/trace_fixture.hpp"

namespace stepcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  TraceFacts facts;
  std::vector<TraceEvent> events;
};

Read read(const std::string& text) {
  std::istringstream stream(text);
  Read all;
  all.facts = read_trace(stream, [&](const TraceEvent& event) {
    all.events.push_back(event);
    return true;
  });
  return all;
}

const std::string kernel =
    R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1711964646000000.123, "dur": 4.5,
        "args": {"correlation": 12, "device": 3, "stream": 7, "grid": [2, 3, 4], "queued": 0}})";

TEST(TraceReader, HandsOverEventsWithTheirArguments) {
  const Read all = read("{\"traceEvents\": [" + kernel + "]}");
  ASSERT_EQ(all.events.size(), 1u);
  const TraceEvent& event = all.events[0];
  EXPECT_EQ(event.phase, 'X');
  EXPECT_EQ(event.category, "kernel");
  EXPECT_EQ(event.name, "k");
  EXPECT_EQ(event.thread, 7);
  EXPECT_EQ(event.start, 1711964646000000123);  // a double would end in ...125
  EXPECT_EQ(event.duration, 4500);
  EXPECT_EQ(event.correlation, 12);
  EXPECT_EQ(event.device, 3);
  EXPECT_EQ(event.stream, 7);
  EXPECT_EQ(all.facts.events, 1u);
  EXPECT_EQ(all.facts.damage, "");
}

TEST(TraceReader, ReadsShapesAndCollectives) {
  const Read all = read(R"([
    {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "ts": 1, "dur": 2, "args": {"Sequence number": 9,
     "Input Dims": [[512], [1024, 1705], [], [[3, 4], [5]]], "Input Strides": [[1], [1705, 1]],
     "Input type": ["float", "c10::Half"]}},
    {"ph": "X", "cat": "kernel", "name": "nccl", "ts": 1, "dur": 2, "args": {"Collective name": "allreduce",
     "In msg nelems": 10, "Out msg nelems": 20, "Group size": 2, "dtype": "Float", "Process Group Name": "0",
     "Process Group Ranks": "[4, 12]"}}])");
  ASSERT_EQ(all.events.size(), 2u);
  ASSERT_EQ(all.events[0].dims.size(), 4u);
  EXPECT_THAT(all.events[0].dims[0], ElementsAre(512));
  EXPECT_THAT(all.events[0].dims[1], ElementsAre(1024, 1705));
  EXPECT_THAT(all.events[0].dims[3], ElementsAre());  // a list of tensors
  EXPECT_THAT(all.events[0].strides.at(1), ElementsAre(1705, 1));
  EXPECT_THAT(all.events[0].types, ElementsAre("float", "c10::Half"));
  EXPECT_EQ(all.events[0].sequence, 9);
  EXPECT_EQ(all.events[1].collective, "allreduce");
  EXPECT_EQ(all.events[1].elements_in, 10);
  EXPECT_EQ(all.events[1].elements_out, 20);
  EXPECT_EQ(all.events[1].group_size, 2);
  EXPECT_THAT(all.events[1].group_ranks, ElementsAre(4, 12));
}

TEST(TraceReader, FactsMayStandBeforeAndAfterTheEvents) {
  const Read all = read(TraceText().kernel("k", 100, 5).text(3, 8));
  EXPECT_EQ(all.facts.rank, 3);
  EXPECT_EQ(all.facts.world_size, 8);
  EXPECT_EQ(all.facts.nccl_version, "2.27.7");
  ASSERT_EQ(all.facts.devices.size(), 1u);
  EXPECT_EQ(all.facts.devices[0].name, "NVIDIA H100 80GB HBM3");
  const Read after =
      read("{\"traceEvents\": [], \"distributedInfo\": {\"rank\": 5, \"pg_config\": [{\"rank\": 7}]}}");
  EXPECT_EQ(after.facts.rank, 5);
  EXPECT_TRUE(after.facts.has_events);
}

TEST(TraceReader, AnExecutionTraceIsRecognised) {
  const Read all = read(R"({"schema": "1.0.1", "nodes": [{"name": "a", "id": 1}]})");
  EXPECT_TRUE(all.facts.execution_trace);
  EXPECT_FALSE(all.facts.has_events);
  EXPECT_EQ(all.facts.schema, "1.0.1");
}

// What profilers and their users' names put into traces, and strict JSON does not allow.
TEST(TraceReader, WhatProfilersWriteWrongIsSetRight) {
  const auto name_of = [](const std::string& name, const std::string& extra = "") {
    const Read all = read(R"({"traceEvents": [{"ph": "X", "name": ")" + name + R"(", "args": {)" + extra +
                          "}}, {\"ph\": \"i\"}]}");
    EXPECT_EQ(all.facts.damage, "") << name << extra;
    EXPECT_EQ(all.events.size(), 2u);
    return all.events.empty() ? "" : all.events[0].name;
  };
  EXPECT_EQ(name_of("C:\\dir\\new"), "C:\\dir\new");  // \n is an escape, \d is none
  EXPECT_EQ(name_of("a\tb\x01"
                    "c"),
            "a b c");
  EXPECT_EQ(name_of("quote \\\" and \\\\"), "quote \" and \\");
  EXPECT_EQ(name_of("invalid \xff utf-8"), "invalid \xff utf-8");
  for (const char* number : {"NaN", "nan", "-nan", "inf", "-inf", "Infinity", "-Infinity", "1e30", "null",
                             "true", "123456789012345678901234567890"})
    EXPECT_EQ(name_of("k", "\"bytes\": " + std::string(number) + ", \"correlation\": 3"), "k") << number;
}

TEST(TraceReader, ListsAndGzipMembersMakeNoDifference) {
  const std::string text = "[" + kernel + ",\n" + kernel + "\n]";
  EXPECT_EQ(read(text).events.size(), 2u);
  EXPECT_EQ(read("\n [" + kernel + ", ]").events.size(), 1u);  // old profilers end lists in a comma
  EXPECT_EQ(read(gzipped(text)).events.size(), 2u);
  EXPECT_EQ(read(gzipped(text.substr(0, 100)) + gzipped(text.substr(100))).events.size(), 2u);
}

TEST(TraceReader, ATornTraceIsReadUpToTheTear) {
  TraceText trace;
  for (int i = 0; i < 2000; ++i) trace.kernel("kernel_" + std::to_string(i * 7919), 100.0 * i, 5);
  const std::string text = trace.text();
  const Read half = read(text.substr(0, text.size() / 2));
  EXPECT_THAT(half.facts.damage, HasSubstr("ends in the middle"));
  EXPECT_NEAR(static_cast<double>(half.events.size()), 2000, 100);  // half of 4000 events
  EXPECT_EQ(half.facts.bytes, text.size() / 2);
  const std::string packed = gzipped(text);
  const Read torn = read(packed.substr(0, packed.size() / 2));
  EXPECT_THAT(torn.facts.damage, HasSubstr("cut off"));
  EXPECT_GT(torn.events.size(), 1000u);
}

TEST(TraceReader, TheLineWhereReadingStopsIsKnown) {
  // The third line's sixth character is where a value should be.
  const Read all = read("{\"a\": 1,\n\"b\": 2,\n\"c\": }\n}");
  EXPECT_EQ(all.facts.line, 3u);
  EXPECT_EQ(all.facts.column, 6u);
}

TEST(TraceReader, TextThatIsNoTraceEndsInAReason) {
  for (const char* text : {"", "hello",
                           "\x7f"
                           "ELF",
                           "{\"traceEvents\": [{]}", "[1, 2", "}"}) {
    const Read all = read(text);
    EXPECT_NE(all.facts.damage, "") << text;
    EXPECT_EQ(all.events.size(), 0u);
  }
  EXPECT_EQ(read("{\"other\": 1}").facts.has_events, false);
  // Deep nesting takes heap, not stack.
  EXPECT_NE(read(std::string(1'000'000, '[')).facts.damage, "");
}

TEST(TraceReader, NoCutAndNoFlippedByteCrashesIt) {
  TraceText trace;
  trace.step(1, 0, 1000)
      .kernel("gemm", 100, 5)
      .event("cpu_op", "aten::mm", 50, 10, "\"Input Dims\": [[1, 2], [2, 3]], \"x\": \"\\u00e9\\\\\"");
  const std::string text = trace.text();
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_LE(read(text.substr(0, length)).events.size(), 4u);
  std::mt19937 random(1);  // NOLINT: the same cases each time
  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    for (int flips = 0; flips < 3; ++flips) changed[random() % changed.size()] = static_cast<char>(random());
    EXPECT_LE(read(changed).events.size(), 8u);
    const std::string packed = gzipped(text);
    std::string damaged = packed;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    EXPECT_LE(read(damaged).events.size(), 8u);
  }
}

/// The text of a trace that is made while it is read: `count` equal events, then the end.
class EndlessTrace : public std::streambuf {
 public:
  explicit EndlessTrace(std::int64_t count) : left_(count), part_("{\"traceEvents\": [" + kernel) {
    setg(part_.data(), part_.data(), part_.data() + part_.size());
  }

 protected:
  int_type underflow() override {
    if (left_ == 0) return traits_type::eof();
    part_.clear();
    for (int i = 0; i < 200 && left_ > 0; ++i, --left_) part_ += ",\n" + kernel;
    if (left_ == 0) part_ += "]}";
    setg(part_.data(), part_.data(), part_.data() + part_.size());
    return traits_type::to_int_type(part_[0]);
  }

 private:
  std::int64_t left_;
  std::string part_;
};

std::int64_t peak_memory_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// 200 MB of events; the process may not grow by a tenth of that.
TEST(TraceReader, MemoryStaysFlatHoweverLongTheTrace) {
  const auto count = static_cast<std::int64_t>(200'000'000 / kernel.size());
  EndlessTrace endless(count);
  std::istream stream(&endless);
  std::int64_t events = 0, before = 0;
  const TraceFacts facts = read_trace(stream, [&](const TraceEvent&) {
    if (++events == 1000) before = peak_memory_kib();
    return true;
  });
  EXPECT_EQ(events, count + 1);
  EXPECT_EQ(facts.damage, "");
  EXPECT_GT(facts.bytes, 199'000'000u);
  EXPECT_LT(peak_memory_kib() - before, 20'000);
}

/// A text without end.
class EndlessText : public std::streambuf {
 protected:
  int_type underflow() override {
    setg(part_.data(), part_.data(), part_.data() + part_.size());
    const char first = first_ ? '[' : 'x';
    part_[0] = first;
    part_[1] = first_ ? '"' : 'x';
    first_ = false;
    return traits_type::to_int_type(first);
  }

 private:
  std::string part_ = std::string(100'000, 'x');
  bool first_{true};
};

TEST(TraceReader, ATextWithoutEndEndsReading) {
  EndlessText endless;
  std::istream stream(&endless);
  const TraceFacts facts = read_trace(stream, [](const TraceEvent&) { return true; });
  EXPECT_EQ(facts.damage, "a text is too long");
}

}  // namespace
}  // namespace stepcast
