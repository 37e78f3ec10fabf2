// From one member to another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/collectives/TransportCollective.h"

using namespace weft::runtime;

namespace {

class SendOrRecv : public TransportCollective {
public:
  using TransportCollective::TransportCollective;

private:
  bool readsSource() const override { return params.kind == CollectiveKind::Send; }
  bool writesResult() const override { return params.kind == CollectiveKind::Recv; }
  std::pair<int64_t, int64_t> viewElements(const Part &p) const override {
    return readsSource() ? std::pair(p.whole, int64_t(0)) : std::pair(int64_t(0), p.whole);
  }

  int64_t peer() const {
    if (!params.peerRelative)
      return params.peer;
    return ((group.me + params.peer % members) % members + members) % members;
  }

  Status move(char *, char *) override {
    uint64_t size = uint64_t(total * bytes);
    return commCall([&](weft_status *status) {
      return readsSource() ? group.vtable->send(group.handle, peer(), parts[0].from, size, status)
                           : group.vtable->recv(group.handle, peer(), parts[0].to, size, status);
    });
  }
};

} // namespace

TransportCollectivePtr weft::runtime::makeSendOrRecv(const TransportContext &context) {
  return std::make_unique<SendOrRecv>(context);
}
