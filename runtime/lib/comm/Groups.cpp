// Creates groups from the mesh and opens communicator plugins.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/Groups.h"

#include "weft/runtime/Program.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

using namespace weft::runtime;

GroupTable::~GroupTable() {
  for (auto &entry : groups)
    if (entry.second.handle)
      backend.vtable->destroy_group(entry.second.handle);
}

Status GroupTable::get(const ProgramView &program, Id communicator, unsigned stream,
                       const std::vector<int64_t> &coordinates, const Group *&result) {
  auto [it, inserted] = groups.try_emplace({communicator, stream});
  Group &group = it->second;
  result = &group;
  if (!inserted)
    return {};
  Table<uint32_t> axes = program.axes(program.Communicators()[communicator].axes);
  int64_t members = 1;
  for (uint32_t axis : axes)
    members *= program.MeshAxes()[axis].size;
  std::vector<uint32_t> all;
  for (uint32_t axis = 0; axis < program.MeshAxes().size(); ++axis)
    all.push_back(axis);
  std::vector<int64_t> position = coordinates;
  for (int64_t member = 0; member < members; ++member) {
    int64_t rest = member;
    for (size_t i = axes.size(); i-- > 0;) {
      int64_t size = program.MeshAxes()[axes[i]].size;
      position[axes[i]] = rest % size;
      rest /= size;
    }
    group.ranks.push_back(indexAlong(program, {all.data(), all.size()}, position));
  }
  group.vtable = backend.vtable;
  group.me = indexAlong(program, axes, coordinates);
  return commCall([&](weft_status *status) {
    return backend.vtable->create_group(backend.backend, communicator * 64 + stream,
                                        group.ranks.data(), members, group.me, &group.handle,
                                        status);
  });
}

std::vector<Shard> weft::runtime::memberShards(const ProgramView &program, Id communicator,
                                               int64_t extent) {
  std::vector<int64_t> sizes;
  int64_t members = 1;
  for (uint32_t axis : program.axes(program.Communicators()[communicator].axes)) {
    sizes.push_back(program.MeshAxes()[axis].size);
    members *= sizes.back();
  }
  std::vector<Shard> shards;
  for (int64_t m = 0; m < members; ++m) {
    std::vector<int64_t> position(sizes.size());
    int64_t rest = m;
    for (size_t i = sizes.size(); i-- > 0; rest /= sizes[i])
      position[i] = rest % sizes[i];
    shards.push_back(
        shardOf(extent, {sizes.data(), sizes.size()}, {position.data(), position.size()}));
  }
  return shards;
}

Status GroupTable::createAll(const ProgramView &program, const std::vector<int64_t> &coordinates) {
  std::map<std::pair<Id, unsigned>, bool> used;
  auto find = [&](Range commands) {
    for (const Command &command : program.Commands().slice(commands))
      if (command.opcode == Opcode::Collective)
        used[{program.record<Collective>(command).communicator, command.stream}] = true;
  };
  for (const Program &entry : program.Programs())
    for (const Body &body : program.Bodies().slice(entry.bodies))
      find(body.commands);
  for (const Routine &routine : program.Routines())
    find(routine.commands);
  for (const auto &entry : used) {
    const Group *group;
    WEFT_TRY(get(program, entry.first.first, entry.first.second, coordinates, group));
  }
  return {};
}

Traffic GroupTable::trafficOver(Id communicator) const {
  Traffic total;
  for (const auto &[key, group] : groups)
    if (key.first == communicator) {
      Traffic traffic = group.traffic();
      total.sent += traffic.sent;
      total.received += traffic.received;
    }
  return total;
}

Status weft::runtime::openPlugin(const std::string &name, const weft_comm_host &host,
                                 CommBackend &result) {
  std::string file = "libweft_" + name + ".so";
  std::vector<std::string> places;
  if (const char *path = std::getenv("WEFT_PLUGIN_PATH"))
    places.push_back(path);
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  if (length > 0) {
    std::string folder(self, size_t(length));
    folder.resize(folder.rfind('/'));
    places.push_back(folder);
    places.push_back(folder + "/../lib");
  }
  if (weft_plugin_directory)
    places.push_back(weft_plugin_directory);
  std::string tried;
  for (const std::string &place : places) {
    std::string path = place + "/" + file;
    // Open MPI opens parts of its own that expect MPI's symbols to be global.
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      const char *why = dlerror();
      tried += std::string("\n  ") + (why ? why : path.c_str());
      continue;
    }
    auto open =
        reinterpret_cast<weft_communicator_open_fn>(dlsym(library, "weft_communicator_open"));
    if (!open)
      return Status::user("'" + path + "' is not a communicator plugin");
    result.library = library;
    result.everyRankIsLocal = false;
    WEFT_TRY(commCall(
        [&](weft_status *status) { return open(&host, &result.vtable, &result.backend, status); }));
    if (result.vtable->version == kWeftCommunicatorVersion)
      return {};
    result.vtable = nullptr; // whose functions are others
    return Status::user("'" + path + "' was built for another version of the runtime");
  }
  return Status::user("the communicator '" + name +
                      "' is not installed; set WEFT_PLUGIN_PATH to the folder "
                      "of " +
                      file + ", or use --comm inproc. Tried:" + tried);
}
