// Changes lists of commands, and holds rt-verify-commands to reject what computes something else.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// weft-command-mutants COUNT FILE.mlir..
//
// FILEs are programs at `scheduled`. Changes one thing of one of them at a time, until COUNT
// mutants that mean something else were rejected: an event is not waited for or not recorded, or
// another one is; two commands change places; one runs on another stream, is missing or uses
// another buffer; a buffer lies where another one does. Lifetimes are told as they are then. What a
// mutant means is judged without the pass: whether all that shares bytes is ordered, and what
// outputs and states hold in the end, byte by byte, as terms of the commands that made it. Prints a
// line a kind of change.
#include "passes/rt/Passes.h"
#include "passes/rt/memory/Lifetimes.h"
#include "passes/rt/verify/MemoryTrace.h"
#include "weft/Registration/Registration.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <random>
#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// Of a command, in the list that is right.
using Numbers = llvm::DenseMap<Operation *, int64_t>;
Numbers numbersOf(ProgramOp program) {
  Numbers numbers;
  for (auto [i, command] : llvm::enumerate(commandsOf(program)))
    numbers[command] = int64_t(i);
  return numbers;
}

struct Bytes {
  int64_t begin = 0, end = 0;
};

/// What a program does, as far as it can be told without computing.
struct Meaning {
  bool isOrdered = true;
  std::vector<uint64_t> results;  // of outputs and states
  std::set<std::string> overlaps; // of what a command reads with what it writes
  bool operator==(const Meaning &other) const {
    return isOrdered && other.isOrdered && results == other.results && overlaps == other.overlaps;
  }
};

/// Tells the meaning of a program.
class Judge {
public:
  Judge(ProgramOp program, Numbers numbers)
      : program(program), memory(program), numbers(std::move(numbers)) {}

  Meaning judge() {
    for (CommandInterface command : commandsOf(program))
      add(command);
    for (Operation &op : program.getBody().front())
      if (auto output = dyn_cast<OutputOp>(op))
        tell(output->getOperand(0));
    for (auto state : program->getParentOfType<ModuleOp>().getOps<StateOp>()) {
      auto type = cast<MemRefType>(state.getLocal());
      int64_t begin = state.getOffset().value_or(0);
      tell(begin, type);
    }
    return std::move(meaning);
  }

private:
  struct Command {
    unsigned stream;
    std::vector<Bytes> reads, writes;
    std::vector<bool> before;
  };

  /// Calls `each` with the place of every byte of a view, in the order of its elements.
  void forEachByte(int64_t begin, MemRefType type, llvm::function_ref<void(int64_t)> each) {
    auto [strides, offset] = type.getStridesAndOffset();
    int64_t bytes = std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
    int64_t count = type.getNumElements();
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, place = offset;
      for (size_t d = strides.size(); d-- > 0; rest /= type.getDimSize(d))
        place += rest % type.getDimSize(d) * strides[d];
      for (int64_t b = 0; b < bytes; ++b)
        each(begin + place * bytes + b);
    }
  }
  void forEachByte(Value view, llvm::function_ref<void(int64_t)> each) {
    forEachByte(memory.range(bufferOfView(view)).first, cast<MemRefType>(view.getType()), each);
  }
  Bytes hull(Value view) {
    Bytes bytes{INT64_MAX, 0};
    forEachByte(view, [&](int64_t at) {
      bytes.begin = std::min(bytes.begin, at);
      bytes.end = std::max(bytes.end, at + 1);
    });
    return bytes;
  }
  static bool meet(const Bytes &a, const Bytes &b) { return a.begin < b.end && b.begin < a.end; }
  static bool meet(const std::vector<Bytes> &a, const std::vector<Bytes> &b) {
    return llvm::any_of(a, [&](const Bytes &x) {
      return llvm::any_of(b, [&](const Bytes &y) { return meet(x, y); });
    });
  }

  void add(CommandInterface command) {
    Command own{command.getStreamNumber(), {}, {}, std::vector<bool>(commands.size())};
    auto follow = [&](size_t other) {
      own.before[other] = true;
      for (size_t i = 0; i < other; ++i)
        own.before[i] = own.before[i] || commands[other].before[i];
    };
    for (size_t i = commands.size(); i-- > 0;)
      if (commands[i].stream == own.stream) {
        follow(i);
        break;
      }
    if (auto wait = dyn_cast<WaitOp>(*command)) {
      auto recorded = records.find(wait.getEvent());
      meaning.isOrdered &= recorded != records.end();
      if (recorded != records.end())
        follow(recorded->second);
    }
    if (auto record = dyn_cast<RecordOp>(*command))
      records[record.getEvent()] = commands.size();
    for (Value view : command.getReads())
      own.reads.push_back(hull(view));
    for (Value view : command.getWrites())
      own.writes.push_back(hull(view));
    for (size_t i = 0; i < commands.size(); ++i)
      if (!own.before[i] &&
          (meet(own.writes, commands[i].reads) || meet(own.writes, commands[i].writes) ||
           meet(own.reads, commands[i].writes)))
        meaning.isOrdered = false;
    compute(command, own);
    commands.push_back(std::move(own));
  }

  void compute(CommandInterface command, const Command &own) {
    int64_t number = numbers.at(command);
    uint64_t term = llvm::hash_combine(number);
    for (Value view : command.getReads())
      forEachByte(view, [&](int64_t at) { term = llvm::hash_combine(term, contents[at]); });
    for (auto [i, read] : llvm::enumerate(own.reads))
      for (auto [j, write] : llvm::enumerate(own.writes))
        if (meet(read, write))
          meaning.overlaps.insert(
              llvm::formatv("{0} {1} {2} {3}", number, i, j, read.begin - write.begin));
    for (Value view : command.getWrites()) {
      uint64_t element = 0;
      term = llvm::hash_combine(term, 1);
      forEachByte(view, [&](int64_t at) { contents[at] = llvm::hash_combine(term, ++element); });
    }
  }

  void tell(Value view) {
    forEachByte(view, [&](int64_t at) { addResult(at); });
  }
  void tell(int64_t begin, MemRefType type) {
    forEachByte(begin, type, [&](int64_t at) { addResult(at); });
  }
  void addResult(int64_t at) { meaning.results.push_back(contents[at]); }

  ProgramOp program;
  MemoryTrace memory;
  const Numbers numbers;
  std::vector<Command> commands;
  std::map<unsigned, size_t> records;   // by event, so far
  std::map<int64_t, uint64_t> contents; // by byte; 0: what was there before the run
  Meaning meaning;
};

/// Changes one thing of a program.
class Mutator {
public:
  Mutator(ProgramOp program, std::mt19937_64 &random)
      : program(program), commands(commandsOf(program)), random(random),
        buffers(llvm::to_vector(program.getOps<BufferOp>())) {}

  /// The kind of change, or "" if it does not apply.
  const char *mutate() {
    switch (below(9)) {
    case 0:
      return drop<WaitOp>("no wait");
    case 1:
      return drop<RecordOp>("no record");
    case 2:
      return otherEvent();
    case 3:
    case 4:
      return swap();
    case 5:
      return otherStream();
    case 6:
      return leaveOut();
    case 7:
      return otherBuffer();
    default:
      return overlap();
    }
  }

private:
  uint64_t below(size_t count) { return random() % count; }
  CommandInterface pick() { return commands[below(commands.size())]; }

  template <typename Op> const char *drop(const char *kind) {
    auto ops = llvm::to_vector(program.getOps<Op>());
    if (ops.empty())
      return "";
    ops[below(ops.size())].erase();
    return kind;
  }
  const char *otherEvent() {
    auto waits = llvm::to_vector(program.getOps<WaitOp>());
    if (waits.empty() || program.getEvents() < 2)
      return "";
    WaitOp wait = waits[below(waits.size())];
    auto event = unsigned(below(program.getEvents()));
    if (event == wait.getEvent())
      return "";
    wait.setEvent(event);
    return "other event";
  }
  /// Near ones, so that uses stay behind definitions of views.
  const char *swap() {
    size_t i = below(commands.size()), j = i + 1 + below(6);
    if (j >= commands.size())
      return "";
    Operation *first = commands[i], *second = commands[j];
    Operation *behind = second->getNextNode();
    second->moveBefore(first);
    if (behind)
      first->moveBefore(behind);
    else
      first->moveBefore(&program.getBody().front(), program.getBody().front().end());
    // Views come first.
    Block &block = program.getBody().front();
    Operation *place = &block.front();
    for (Operation &op : llvm::make_early_inc_range(block))
      if (!isa<CommandInterface>(op) && !isa<OutputOp>(op) && &op != place)
        op.moveBefore(place);
      else if (&op == place && !isa<CommandInterface>(op))
        place = op.getNextNode();
    return "swapped";
  }
  const char *otherStream() {
    CommandInterface command = pick();
    auto stream = unsigned(below(program.getStreams()));
    if (stream == command.getStreamNumber())
      return "";
    command.setStreamNumber(stream);
    return "other stream";
  }
  const char *leaveOut() {
    CommandInterface command = pick();
    if (isa<WaitOp, RecordOp>(*command) || !command->use_empty())
      return "";
    command->erase();
    return "left out";
  }
  const char *otherBuffer() {
    Operation *command = pick();
    if (command->getNumOperands() == 0)
      return "";
    OpOperand &operand = command->getOpOperand(unsigned(below(command->getNumOperands())));
    SmallVector<Value> others;
    for (BufferOp buffer : buffers)
      if (buffer.getType() == operand.get().getType() && buffer.getResult() != operand.get() &&
          (buffer->isBeforeInBlock(command)))
        others.push_back(buffer);
    if (others.empty())
      return "";
    operand.set(others[below(others.size())]);
    return "other buffer";
  }
  const char *overlap() {
    BufferOp buffer = buffers[below(buffers.size())], other = buffers[below(buffers.size())];
    if (!buffer.getOffset() || !other.getOffset())
      return "";
    int64_t place = int64_t(*other.getOffset()) + 64 * (int64_t(below(5)) - 2);
    if (place < 0 || place == int64_t(*buffer.getOffset()))
      return "";
    buffer.setOffset(place);
    return "overlap";
  }

  ProgramOp program;
  std::vector<CommandInterface> commands;
  std::mt19937_64 &random;
  SmallVector<BufferOp> buffers;
};

/// As the planner would tell them.
void tellLifetimes(ProgramOp program) {
  Lifetimes lifetimes(program);
  for (auto buffer : program.getOps<BufferOp>()) {
    auto [first, last] = lifetimes.of(buffer);
    int64_t lives[] = {first, last};
    buffer.setLives(ArrayRef<int64_t>(lives));
  }
}

struct Tally {
  int rejected = 0, needless = 0, equal = 0;
};

class Campaign {
public:
  explicit Campaign(MLIRContext &context) : context(context) {}

  /// False if the file holds no such program, or one that is rejected as it is.
  bool add(StringRef file) {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(file, &context);
    if (!module)
      return false;
    int64_t programs = 0;
    for (auto program : module->getOps<ProgramOp>()) {
      tellLifetimes(program);
      ++programs;
    }
    if (programs == 0 || !isAccepted(*module))
      return false;
    modules.push_back(std::move(module));
    return true;
  }

  bool run(int wanted) {
    // Rejections are not worth printing.
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    for (uint64_t seed = 0; rejected < wanted; ++seed) {
      if (seed > 100 * uint64_t(wanted) || !tryOne(seed))
        return false;
    }
    for (const auto &[kind, tally] : tallies)
      llvm::outs() << llvm::format(
          "%-12s %5d mean something else: all rejected; %4d mean the same: %d rejected\n",
          kind.c_str(), tally.rejected, tally.needless + tally.equal, tally.needless);
    return true;
  }

private:
  bool isAccepted(ModuleOp module) {
    if (failed(verify(module)))
      return false;
    PassManager passes(&context);
    passes.addPass(createRtVerifyCommands());
    return succeeded(passes.run(module));
  }
  static ProgramOp programOf(ModuleOp module, size_t number) {
    auto programs = llvm::to_vector(module.getOps<ProgramOp>());
    return programs[number % programs.size()];
  }

  /// Of a program that is right.
  const Meaning &meaningOf(ProgramOp program) {
    auto [found, isNew] = meanings.try_emplace(program);
    if (isNew)
      found->second = Judge(program, numbersOf(program)).judge();
    return found->second;
  }

  bool tryOne(uint64_t seed) {
    std::mt19937_64 random(seed);
    ModuleOp original = *modules[seed % modules.size()];
    OwningOpRef<ModuleOp> mutant(original.clone());
    size_t number = random();
    ProgramOp program = programOf(*mutant, number), right = programOf(original, number);
    Numbers numbers = numbersOf(program);
    std::string kind = Mutator(program, random).mutate();
    if (kind.empty())
      return true;
    if (failed(verify(*mutant)))
      return true; // the ops' own verifiers are no matter here
    tellLifetimes(program);
    bool accepted = isAccepted(*mutant);
    bool means = Judge(program, numbers).judge() == meaningOf(right);
    Tally &tally = tallies[kind];
    ++(accepted ? tally.equal : means ? tally.needless : tally.rejected);
    rejected += !accepted && !means;
    if (!accepted || means)
      return true;
    llvm::outs() << "seed " << seed << ": a mutant (" << kind
                 << ") is accepted, but means something else\n";
    return false;
  }

  MLIRContext &context;
  std::vector<OwningOpRef<ModuleOp>> modules;
  llvm::DenseMap<Operation *, Meaning> meanings;
  std::map<std::string, Tally> tallies;
  int rejected = 0;
};

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  Campaign campaign(context);
  for (int i = 2; i < argc; ++i)
    if (!campaign.add(argv[i])) {
      llvm::errs() << argv[i] << ": no program that is right\n";
      return 1;
    }
  return argc < 3 || !campaign.run(std::atoi(argv[1]));
}
