// A session of the runtime a case, and the comparison of its outputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Replay.h"

#include "../../support/Distance.h"
#include "Closeness.h"

#include "base/Convert.h"
#include "session/Session.h"
#include "weft/runtime/Runtime.h"

#include <dlfcn.h>
#include <optional>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace weft::conformance;
using namespace weft::runtime;

namespace {

int digitsOf(DType type) { return type == DType::BF16 ? 8 : type == DType::F16 ? 11 : 0; }

/// What differs from the expected elements, or ""; `bound` is the output's, if it has one.
std::string compare(DType type, const std::string &found, const std::string &expected,
                    unsigned units, std::optional<double> bound) {
  weft::test::Distance distance(weft::test::Specials::MayAgree);
  std::string why = withType(type, [&](auto sample) -> std::string {
    using Element = decltype(sample);
    for (size_t i = 0; i < expected.size() / sizeof(Element); ++i) {
      Element y, o;
      std::memcpy(&y, found.data() + i * sizeof(Element), sizeof(Element));
      std::memcpy(&o, expected.data() + i * sizeof(Element), sizeof(Element));
      std::string values;
      if constexpr (std::is_same_v<Element, Boolean>) {
        if (y.value != o.value)
          values = std::to_string(y.value) + ", expected " + std::to_string(o.value);
      } else if constexpr (std::is_integral_v<Element>) {
        if (y != o)
          values = std::to_string(y) + ", expected " + std::to_string(o);
      } else if (bound) {
        distance.add(double(y), double(o));
      } else if (!isClose(double(y), double(o), units, digitsOf(type))) {
        values = std::to_string(double(y)) + ", expected " + std::to_string(double(o));
      }
      if (!values.empty())
        return "element " + std::to_string(i) + " is " + values;
    }
    return "";
  });
  if (!why.empty() || !bound || distance.relative() <= *bound)
    return why;
  std::ostringstream text;
  text << "its distance is " << distance.relative() << ", at most " << *bound;
  return text.str();
}

class Player {
public:
  explicit Player(const RecordedCase &recorded) : recorded(recorded), blob(recorded.blob) {}
  ~Player() {
    if (session)
      weft_close(session);
    if (library)
      dlclose(library);
  }

  Status open() {
    if (!recorded.bounds.empty() && recorded.bounds.size() != recorded.outputs.size())
      return Status::internal("the case has " + std::to_string(recorded.bounds.size()) +
                              " bounds for " + std::to_string(recorded.outputs.size()) +
                              " outputs");
    WEFT_TRY(loadKernels());
    WEFT_TRY(ProgramView::open(blob.data(), recorded.blob.size(), view));
    if (view.Programs().size() != 1)
      return Status::internal("the case has " + std::to_string(view.Programs().size()) +
                              " programs, not one");
    program = &view.Programs()[0];
    name = view.string(program->name);
    if (program->inputs.count != recorded.inputs.size() ||
        program->outputs.count < recorded.outputs.size())
      return Status::internal("the program has " + std::to_string(program->inputs.count) +
                              " inputs and " + std::to_string(program->outputs.count) + " outputs");
    weft_options options;
    weft_options_init(&options);
    options.threads_per_rank = 1;
    options.timeout_seconds = 60;
    WEFT_TRY(told(weft_open(blob.data(), recorded.blob.size(), entries.data(), entries.size(),
                            &options, &session, &status)));
    return told(weft_load_state(session, &status));
  }

  Status run(std::vector<std::string> &outputs) {
    auto ports = view.Ports().slice(program->inputs);
    for (size_t i = 0; i < recorded.inputs.size(); ++i) {
      const std::string &bytes = recorded.inputs[i];
      WEFT_TRY(told(weft_set_input(session, name.c_str(), nameOf(ports[i]).c_str(), bytes.data(),
                                   bytes.size(), &status)));
    }
    WEFT_TRY(told(weft_run(session, name.c_str(), &status)));
    for (size_t i = 0; i < recorded.outputs.size(); ++i) {
      std::string &bytes = outputs.emplace_back(recorded.outputs[i].size(), '\0');
      WEFT_TRY(told(weft_get_output(session, name.c_str(), nameOf(output(i)).c_str(), bytes.data(),
                                    bytes.size(), &status)));
    }
    return {};
  }

  /// How the device does the runs that follow, if it says that once.
  std::string takeRemark() { return session->ranks[0]->device().takeRemark(); }

  std::string check(const std::vector<std::string> &outputs) const {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (std::string why =
              compare(output(i).dtype, outputs[i], recorded.outputs[i], recorded.units, boundOf(i));
          !why.empty())
        return "output '" + nameOf(output(i)) + "': " + why;
    return "";
  }

private:
  Status told(int32_t code) const {
    return code ? Status(StatusCode(code), status.text) : Status();
  }
  std::optional<double> boundOf(size_t output) const {
    return recorded.bounds.empty() ? std::nullopt : std::optional(recorded.bounds[output]);
  }
  std::string nameOf(const Port &port) const { return std::string(view.string(port.name)); }
  const Port &output(size_t i) const { return view.Ports().slice(program->outputs)[i]; }

  Status loadKernels() {
    if (!recorded.library.empty())
      WEFT_TRY(openLibrary());
    images.resize(recorded.kernels.size());
    for (const RecordedKernel &kernel : recorded.kernels) {
      weft_device_image &image = images[entries.size()];
      weft_kernel_entry entry{kernel.name.c_str()};
      if (kernel.binary.empty() && kernel.text.empty()) {
        if (!library)
          return Status::internal("kernel '" + kernel.name + "' has no code, and the case has no " +
                                  "library");
        entry.function = reinterpret_cast<weft_kernel_fn>(dlsym(library, entry.name));
        entry.image = static_cast<const weft_device_image *>(
            dlsym(library, (kernel.name + ".image").c_str()));
        if (!entry.function && !entry.image)
          return Status::internal("the case's library has no kernel '" + kernel.name + "'");
      } else {
        if (!kernel.binary.empty())
          image.binary = binaries.emplace_back(kernel.binary).data();
        image.text = kernel.text.empty() ? nullptr : kernel.text.c_str();
        image.chip = kernel.chip.c_str();
        image.threads = kernel.threads;
        image.alignment = kernel.alignment;
        image.table = kernel.table;
        entry.image = &image;
      }
      entries.push_back(entry);
    }
    return {};
  }

  Status openLibrary() {
    int file = memfd_create("kernels", MFD_CLOEXEC);
    size_t size = recorded.library.size();
    if (file < 0 || write(file, recorded.library.data(), size) != ssize_t(size))
      return Status::internal("cannot write the kernels to memory");
    library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
    close(file);
    return library ? Status()
                   : Status::internal(std::string("the kernels do not load: ") + dlerror());
  }

  const RecordedCase &recorded;
  Aligned blob;
  ProgramView view;
  const Program *program = nullptr;
  std::string name;
  std::vector<Aligned> binaries;
  std::vector<weft_device_image> images;
  std::vector<weft_kernel_entry> entries;
  void *library = nullptr;
  weft_session *session = nullptr;
  weft_status status;
};

} // namespace

Verdict weft::conformance::replay(const RecordedCase &recorded) {
  auto player = std::make_unique<Player>(recorded);
  // What the device did not do may keep the session busy: the process ends with it.
  auto fail = [&](const std::string &when, const Status &status) -> Verdict {
    (void)player.release();
    return {Ending::Failed, when + status.text()};
  };
  if (Status opened = player->open(); !opened.ok())
    return fail("", opened);
  std::vector<std::string> first, second;
  if (Status ran = player->run(first); !ran.ok())
    return fail("", ran);
  if (std::string why = player->check(first); !why.empty())
    return {Ending::Wrong, why};
  if (Status ran = player->run(second); !ran.ok())
    return fail("the second run: ", ran);
  // No remark: the environment says that there are no graphs.
  std::string remark = player->takeRemark();
  bool wasGraph = remark.find("one CUDA graph") == 0;
  if (!remark.empty() && !wasGraph)
    return fail("the second run is no graph: ", Status::internal(remark));
  if (first == second)
    return {Ending::Right, "", wasGraph};
  std::string why = player->check(second);
  return {Ending::Wrong, "the second run gives other bits" + (why.empty() ? "" : ": " + why),
          wasGraph};
}
