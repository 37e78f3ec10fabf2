// The seam between the runtime and devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "device/Devices.h"
#include "device/HostCopy.h"
#include "device/host/HostDevice.h"
#include "engine/Walker.h"
#include "session/Session.h"

using namespace weft::runtime;

namespace {

/// A device with an arena of a page.
class DeviceOf : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    DeviceOptions options;
    options.world = &world;
    ASSERT_TRUE(makeDevice(GetParam(), options, device).ok());
    ASSERT_TRUE(device->allocate({kBytes, 0, {{kBytes, &mark, 0}}}).ok());
  }
  static constexpr uint64_t kBytes = 4096;
  World world{1};
  StreamMark mark{};
  std::unique_ptr<Device> device;
};

TEST_P(DeviceOf, MovesBytes) {
  const char text[] = "to the device and back";
  char back[sizeof text] = {};
  ASSERT_TRUE(device->upload(100, text, sizeof text).ok());
  ASSERT_TRUE(device->download(back, 100, sizeof text).ok());
  EXPECT_STREQ(back, text);
}

TEST_P(DeviceOf, ACopyForTheHostIsTheArenaOrComesAndGoes) {
  HostCopy written(*device, 64, 8);
  std::memcpy(written.data(), "12345678", 8);
  ASSERT_TRUE(written.upload().ok());
  HostCopy read(*device, 66, 4);
  ASSERT_TRUE(read.download().ok());
  EXPECT_EQ(std::string(read.data(), 4), "3456");
  EXPECT_EQ(device->isHostMemory(), read.data() == written.data() + 2);
  EXPECT_EQ(device->isHostMemory(), device->hostView() != nullptr);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceOf, testing::Values("host", "far"));

TEST(Devices, AnUnknownKindIsNamedBesideTheKnownOnes) {
  std::unique_ptr<Device> device;
  Status status = makeDevice("near", {}, device);
  EXPECT_EQ(status.code(), StatusCode::Usage);
  EXPECT_NE(status.text().find("'near'; there is host, "), std::string::npos) << status.text();
  for (const char *kind : {", far", ", late", ", cuda"})
    EXPECT_NE(status.text().find(kind), std::string::npos) << status.text();
}

TEST(Devices, OnlyTheHostPretends) {
  std::vector<std::vector<double>> seconds;
  World world(1);
  DeviceOptions options;
  options.world = &world;
  options.pretended = &seconds;
  std::unique_ptr<Device> device;
  EXPECT_TRUE(makeDevice("host", options, device).ok());
  Status status = makeDevice("far", options, device);
  EXPECT_EQ(status.code(), StatusCode::Usage);
  EXPECT_NE(status.text().find("a device 'far' has none"), std::string::npos) << status.text();
}

/// The proof that the tests on this device prove something.
TEST(FarDevice, FaultsWhereTheHostTouchesIt) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  World world{1};
  DeviceOptions options;
  options.world = &world;
  StreamMark mark{};
  std::unique_ptr<Device> device;
  ASSERT_TRUE(makeDevice("far", options, device).ok());
  ASSERT_TRUE(device->allocate({4096, 0, {{4096, &mark, 0}}}).ok());
  // What no device tells.
  const volatile char *arena = static_cast<HostDevice &>(*device).HostDevice::hostView();
  EXPECT_DEATH(std::exit(arena[0]), "");
}

/// Places of commands that a walker gives, with what it knows there.
using Passed = std::vector<std::vector<uint64_t>>;

Passed walk(const ProgramView &p, unsigned stream) {
  PreparedList list;
  for (const Command &command : p.Commands())
    list.items.push_back({&command, nullptr, nullptr, {}});
  std::vector<uint64_t> records(1);
  Walker walker(p, list, stream, records);
  Passed passed;
  while (const PreparedItem *item = walker.next())
    passed.push_back({item->command->stream, walker.index(), walker.records(0)});
  return passed;
}

TEST(Walker, OneForAllStreamsPassesByWhatOneForEachDoes) {
  Harness h;
  ProgramBuilder &b = h.builder;
  Id x = h.output("x", DType::F32, {4}), y = h.output("y", DType::F32, {4});
  h.begin(2, 1);
  for (int round = 0; round < 3; ++round) {
    b.add({0}, Copy{}, {b.view(x), b.view(y)});
    b.add({0}, EventRecord{0}, {});
    b.add({1}, EventWait{0}, {});
  }
  ASSERT_OK(h.open());
  const ProgramView &p = h.session->view();
  Passed all = walk(p, Walker::kEveryStream), each[2] = {walk(p, 0), walk(p, 1)}, split[2];
  for (const std::vector<uint64_t> &place : all)
    split[place[0]].push_back(place);
  EXPECT_EQ(split[0], each[0]);
  EXPECT_EQ(split[1], each[1]);
  EXPECT_EQ(all.size(), 9u);
  EXPECT_EQ(each[1].back(), (std::vector<uint64_t>{1, 8, 3}));
}

} // namespace
