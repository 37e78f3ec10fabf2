// A cluster from JSON that anybody may have written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Cluster.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace llvm;

namespace weft {

namespace {

Error wrong(const Twine &field, const Twine &remedy) {
  return createStringError("'" + field + "' " + remedy);
}

/// The fields of one object. Says of the first that is wrong what it should be.
class Fields {
public:
  Fields(const json::Object &object, std::string path) : object(object), path(std::move(path)) {}

  std::string nameOf(StringRef field) const { return path + field.str(); }

  /// A mistyped name would else be a default without a word.
  Error allowOnly(ArrayRef<StringRef> known) const {
    for (const auto &entry : object)
      if (!is_contained(known, StringRef(entry.first)))
        return wrong(nameOf(entry.first), "is no field; there are " + join(known, ", "));
    return Error::success();
  }

  Error number(StringRef field, double least, double most, double &value,
               bool required = true) const {
    const json::Value *found = object.get(field);
    if (!found && !required)
      return Error::success();
    std::optional<double> number = found ? found->getAsNumber() : std::nullopt;
    if (number && std::isfinite(*number) && *number >= least && *number <= most) {
      value = *number;
      return Error::success();
    }
    return wrong(nameOf(field), Twine(found ? "must be" : "is missing: give") + " a number from " +
                                    formatted(least) + " to " + formatted(most));
  }

  Error string(StringRef field, std::string &value, bool required = true) const {
    const json::Value *found = object.get(field);
    if (!found && !required)
      return Error::success();
    std::optional<StringRef> text = found ? found->getAsString() : std::nullopt;
    if (!text)
      return wrong(nameOf(field), found ? "must be a string" : "is missing: give a string");
    value = text->str();
    return Error::success();
  }

  Expected<const json::Object *> child(StringRef field) const {
    if (const json::Object *found = object.getObject(field))
      return found;
    return wrong(nameOf(field), object.get(field) ? "must be an object in { }"
                                                  : "is missing: give an object in { }");
  }

  const json::Object &object;

private:
  static std::string formatted(double number) {
    std::string text;
    raw_string_ostream(text) << format("%g", number);
    return text;
  }

  std::string path;
};

constexpr double kLeastRate = 1, kMostRate = 1e21, kMostSeconds = 1e3;

Error readDevice(const json::Object &object, Device &device) {
  Fields fields(object, "device.");
  if (Error error = fields.allowOnly(
          {"memory_bytes", "memory_bandwidth", "memory_efficiency", "flops", "compute_efficiency"}))
    return error;
  if (Error error = fields.number("memory_bytes", 1, kMostRate, device.memoryBytes))
    return error;
  if (Error error =
          fields.number("memory_bandwidth", kLeastRate, kMostRate, device.memoryBandwidth))
    return error;
  if (Error error = fields.number("memory_efficiency", 1e-3, 1, device.memoryEfficiency, false))
    return error;
  if (Error error = fields.number("compute_efficiency", 1e-3, 1, device.computeEfficiency, false))
    return error;
  Expected<const json::Object *> flops = fields.child("flops");
  if (!flops)
    return flops.takeError();
  Fields rates(**flops, "device.flops.");
  SmallVector<StringRef> names;
  for (size_t kind = 0; kind < kArithmeticCount; ++kind)
    names.push_back(nameOf(Arithmetic(kind)));
  if (Error error = rates.allowOnly(names))
    return error;
  double &plain = device.flopsPerSecond[size_t(Arithmetic::F32)];
  if (Error error = rates.number("f32", kLeastRate, kMostRate, plain))
    return error;
  // What a device has no unit for it computes as f32.
  device.flopsPerSecond.fill(plain);
  for (auto [name, rate] : zip_equal(names, device.flopsPerSecond))
    if (Error error = rates.number(name, kLeastRate, kMostRate, rate, false))
      return error;
  return Error::success();
}

Error readLinks(const json::Object &root, Cluster &cluster) {
  const json::Array *links = root.getArray("links");
  if (!links || links->empty())
    return wrong("links", "must be an array of one object or more, the nearest links first");
  int64_t inner = 1;
  for (auto [number, value] : enumerate(*links)) {
    std::string path = "links[" + std::to_string(number) + "]";
    const json::Object *object = value.getAsObject();
    if (!object)
      return wrong(path, "must be an object in { }");
    Fields fields(*object, path + ".");
    LinkLevel &level = cluster.levels.emplace_back();
    bool last = number + 1 == links->size();
    double devices = 0;
    if (Error error = fields.allowOnly({"name", "devices", "bandwidth", "efficiency", "latency"}))
      return error;
    if (Error error = fields.string("name", level.name))
      return error;
    if (Error error = fields.number("devices", 1, 1e9, devices, !last))
      return error;
    if (Error error = fields.number("bandwidth", kLeastRate, kMostRate, level.bandwidth))
      return error;
    if (Error error = fields.number("efficiency", 1e-3, 1, level.efficiency, false))
      return error;
    if (Error error = fields.number("latency", 0, kMostSeconds, level.latency, false))
      return error;
    if (last && devices != 0)
      return wrong(fields.nameOf("devices"), "must not be there: the last links join all devices");
    level.devices = static_cast<int64_t>(devices);
    if (!last && (level.devices != devices || level.devices % inner != 0))
      return wrong(fields.nameOf("devices"),
                   "must be a whole number, and a multiple of that of the links before");
    inner = std::max<int64_t>(level.devices, 1);
    if (count_if(cluster.levels, [&](const LinkLevel &l) { return l.name == level.name; }) > 1)
      return wrong(fields.nameOf("name"), "is that of other links: give each its own");
  }
  return Error::success();
}

Error readAxes(const json::Object &root, Cluster &cluster) {
  const json::Value *value = root.get("axes");
  if (!value)
    return Error::success();
  const json::Object *axes = value->getAsObject();
  if (!axes)
    return wrong("axes", "must be an object that gives axes the names of links");
  for (const auto &[axis, level] : *axes) {
    std::optional<StringRef> name = level.getAsString();
    if (!name || none_of(cluster.levels, [&](const LinkLevel &l) { return l.name == *name; }))
      return wrong("axes." + axis.str(), "must be the name of one of the links");
    cluster.axisLevels.push_back({axis.str(), name->str()});
  }
  // The order of a hash table is no order.
  sort(cluster.axisLevels);
  return Error::success();
}

} // namespace

Expected<Cluster> Cluster::parse(StringRef text) {
  // The parser calls itself for what is nested.
  constexpr size_t kMostObjects = 1000;
  if (text.count('[') + text.count('{') > kMostObjects)
    return createStringError("is no description of a cluster: more than " + Twine(kMostObjects) +
                             " '{' and '[' are in it");
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return createStringError("is no JSON: " + toString(value.takeError()));
  const json::Object *root = value->getAsObject();
  if (!root)
    return createStringError("must be a JSON object in { }, with 'device' and 'links'");
  Fields fields(*root, "");
  Cluster cluster;
  if (Error error =
          fields.allowOnly({"name", "device", "links", "axes", "collective_overhead", "origin"}))
    return error;
  if (Error error = fields.string("name", cluster.name, false))
    return error;
  if (Error error =
          fields.number("collective_overhead", 0, kMostSeconds, cluster.collectiveOverhead, false))
    return error;
  Expected<const json::Object *> device = fields.child("device");
  if (!device)
    return device.takeError();
  if (Error error = readDevice(**device, cluster.device))
    return error;
  if (Error error = readLinks(*root, cluster))
    return error;
  if (Error error = readAxes(*root, cluster))
    return error;
  return cluster;
}

} // namespace weft
