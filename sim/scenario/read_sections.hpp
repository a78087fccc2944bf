#pragma once

#include <string>

#include "base/table_reader.hpp"
#include "sim/scenario/read.hpp"

namespace stepcast::detail {

/// A path in a file is relative to that file, on the command line (--set) to the working directory.
[[nodiscard]] std::string resolve_path(const std::string& path, const SourcePlace& place);

/// "name" or a path: contains '/' or ends in .toml / .json.
[[nodiscard]] bool looks_like_path(const std::string& name);

void read_model(const Value& table, ReadCache& cache, ReadResult& result);
/// After read_cluster: what can run depends on the nodes.
void read_nccl(const Value* given, ReadResult& result);
void read_cluster(const Value& table, ReadCache& cache, ReadResult& result);
/// Keys of [cluster] about how the network is wired and routed; after nodes and fabric.
void read_topology(TableReader& cluster, ReadResult& result);
/// [[cluster.node_group]], [[cluster.fault]] and [[background]], checked against the cluster that they make.
void read_node_groups(TableReader& cluster, ReadCache& cache, ReadResult& result);
void read_faults(TableReader& cluster, ReadResult& result);
void read_background(const Value& tables, ReadResult& result);
/// A preset or a file through the cache. False when it is faulty.
bool load_node_cached(const std::string& name, const SourcePlace& place, ReadCache& cache, ReadResult& result,
                      NodeSpec& loaded);
/// After read_cluster: the batch depends on the number of GPUs.
void read_training(const Value& table, ReadResult& result);

}  // namespace stepcast::detail
