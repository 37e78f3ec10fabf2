// Boost.Context's switch under two classes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Fibers.h"

#include <sys/mman.h>

using namespace weft::emulator;
using namespace boost::context::detail;

static constexpr size_t kPageBytes = 4096;

void Fiber::start(char *stack, Body what, void *with) {
  body = what;
  data = with;
  ended = false;
  own = make_fcontext(stack, kStackBytes, enter);
}

void Fiber::enter(transfer_t from) {
  auto *self = static_cast<Fiber *>(from.data);
  self->host = from.fctx;
  self->body(self->data);
  self->ended = true;
  self->pause();
}

void Fiber::resume() { own = jump_fcontext(own, this).fctx; }

void Fiber::pause() { host = jump_fcontext(host, nullptr).fctx; }

Stacks::~Stacks() {
  if (memory)
    munmap(memory, size);
}

char *Stacks::end(size_t number, size_t count) {
  constexpr size_t each = Fiber::kStackBytes + kPageBytes;
  if (count * each > size) {
    if (memory)
      munmap(memory, size);
    size = count * each;
    void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory = mapped == MAP_FAILED ? nullptr : static_cast<char *>(mapped);
    if (!memory) {
      size = 0;
      return nullptr;
    }
    for (size_t i = 0; i < count; ++i)
      mprotect(memory + i * each, kPageBytes, PROT_NONE);
  }
  return memory + (number + 1) * each;
}
