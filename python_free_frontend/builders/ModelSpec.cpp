// Keys, defaults, presets and checks of model specifications.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/ModelSpec.h"

#include "weft/Support/Nearest.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <variant>

using namespace llvm;

namespace weft::builders {
namespace {

/// The field of a ModelSpec that a key sets.
using Field = std::variant<int64_t ModelSpec::*, bool ModelSpec::*, double ModelSpec::*,
                           std::string ModelSpec::*>;

struct Key {
  StringRef name;
  StringRef help;
  Field field;
  // Integers: the range. Strings: the allowed words, separated by '|'; empty
  // allows any text.
  int64_t low = 0, high = 0;
  StringRef words = {};
};

// Upper bounds keep every product of dimensions inside 64 bits together with
// the checked sums of the writer; they lie far above any model that exists.
constexpr int64_t kWide = int64_t(1) << 24;

const Key kKeys[] = {
    {"layers", "number of blocks (resnet: of layers with weights)", &ModelSpec::layers, 1, 1 << 16},
    {"hidden", "width of the residual stream (resnet: of the first stage)", &ModelSpec::hidden, 1,
     kWide},
    {"heads", "attention heads", &ModelSpec::heads, 1, 1 << 16},
    {"kv_heads", "key/value heads", &ModelSpec::kvHeads, 1, 1 << 16},
    {"ffn", "inner width of the feed-forward layer", &ModelSpec::ffn, 1, kWide},
    {"vocab", "vocabulary size", &ModelSpec::vocab, 1, int64_t(1) << 28},
    {"seq", "longest sequence", &ModelSpec::seq, 1, int64_t(1) << 24},
    {"types", "token types", &ModelSpec::types, 1, 1 << 16},
    {"experts", "experts per layer", &ModelSpec::experts, 1, 1 << 12},
    {"top_k", "experts per token", &ModelSpec::topK, 1, 1 << 12},
    {"group", "tokens of one routing group", &ModelSpec::group, 1, 1 << 20},
    {"capacity", "slots of one expert in one group", &ModelSpec::capacity, 1, 1 << 20},
    {"image", "height and width of the picture", &ModelSpec::image, 1, 1 << 16},
    {"patch", "height and width of a patch", &ModelSpec::patch, 1, 1 << 16},
    {"channels", "channels of the picture", &ModelSpec::channels, 1, 1 << 16},
    {"classes", "number of classes", &ModelSpec::classes, 1, kWide},
    {"inputs", "features of the input", &ModelSpec::inputs, 1, kWide},
    {"opset", "version of the default operator set", &ModelSpec::opset, 13, 26},
    {"seed", "seed of the random weights", &ModelSpec::seed, 0, INT64_MAX},
    {"tied", "output layer shares the token embedding", &ModelSpec::tied},
    {"bias", "query, key and value have a bias", &ModelSpec::bias},
    {"mask_input", "padding mask as input attention_mask", &ModelSpec::maskInput},
    {"pooler", "tanh layer on the first token", &ModelSpec::pooler},
    {"normalize", "scale the pooled embedding to length 1", &ModelSpec::normalize},
    {"std", "standard deviation of the weights", &ModelSpec::std},
    {"eps", "epsilon of the normalisations", &ModelSpec::eps},
    {"rope_theta", "base of the rotary frequencies", &ModelSpec::ropeTheta},
    {"rope_factor", "waves longer than rope_context are so many times longer, as in Llama 3.1",
     &ModelSpec::ropeFactor},
    {"rope_context", "longest sequence before rope_factor", &ModelSpec::ropeContext, 1, 1 << 24},
    {"attention",
     "eager: one scale after the product; sdpa: as torch's "
     "scaled_dot_product_attention is exported",
     &ModelSpec::attention, 0, 0, "eager|sdpa"},
    {"linear",
     "matmul: weights stored [in,out]; transpose: [out,in] with a "
     "Transpose node",
     &ModelSpec::linear, 0, 0, "matmul|transpose"},
    {"init", "model: as training starts; varied: biases and norms random too", &ModelSpec::init, 0,
     0, "model|varied"},
    {"pooling", "sentence embedding", &ModelSpec::pooling, 0, 0, "none|mean|cls"},
    {"head", "mlm adds the masked-language-model logits", &ModelSpec::head, 0, 0, "none|mlm"},
    {"activation", "between layers", &ModelSpec::activation, 0, 0, "relu|gelu|tanh"},
    {"stem",
     "imagenet: a window of 7 x 7 and a pooling, a quarter of the size; cifar: "
     "3 x 3, the size stays",
     &ModelSpec::stem, 0, 0, "imagenet|cifar"},
    {"external", "weights in FILE.onnx.data; auto: above 1.5 GB", &ModelSpec::external, 0, 0,
     "auto|0|1"},
    {"weights", "take weights from this .safetensors file", &ModelSpec::weights},
    // The next two set enums and are handled by name.
    {"style", "exporter: as torch writes graphs; compact: single standard ops", &ModelSpec::text, 0,
     0, "exporter|compact"},
    {"dtype", "element type of the weights", &ModelSpec::text, 0, 0, "fp32|fp64|fp16|bf16"},
};

struct Preset {
  StringRef name;
  StringRef settings;
};

struct KindInfo {
  StringRef name;
  Kind kind;
  StringRef defaults; // "key=value,..."; a key without '=' is derived
  ArrayRef<Preset> presets;
};

constexpr StringRef kCommonDefaults =
    "seed=0,opset,style=exporter,dtype=fp32,init=model,external=auto";

const Preset kGpt2Presets[] = {{"small", "layers=12,hidden=768,heads=12"},
                               {"medium", "layers=24,hidden=1024,heads=16"},
                               {"large", "layers=36,hidden=1280,heads=20"},
                               {"xl", "layers=48,hidden=1600,heads=25"},
                               {"175b", "layers=96,hidden=12288,heads=96,seq=2048"},
                               {"tiny", "layers=2,hidden=64,heads=4,vocab=256,seq=64"}};
const Preset kLlamaPresets[] = {
    {"tiny", "layers=2,hidden=64,heads=4,kv_heads=2,ffn=128,vocab=256,seq=64"},
    {"1b", "layers=16,hidden=2048,heads=32,kv_heads=8,ffn=8192,vocab=128256,"
           "seq=8192,tied=1,rope_theta=500000,rope_factor=32"},
    {"7b", "layers=32,hidden=4096,heads=32,kv_heads=32,ffn=11008,vocab=32000,"
           "seq=4096,rope_theta=10000"},
    {"8b", "layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=128256,"
           "seq=8192,rope_theta=500000"},
    {"70b", "layers=80,hidden=8192,heads=64,kv_heads=8,ffn=28672,vocab=128256,"
            "seq=8192,rope_theta=500000"}};
const Preset kBertPresets[] = {{"tiny", "layers=2,hidden=64,heads=4,vocab=256,seq=64"},
                               {"minilm", "layers=6,hidden=384,heads=12,ffn=1536,pooling=mean,"
                                          "normalize=1"},
                               {"base", "layers=12,hidden=768,heads=12,ffn=3072"},
                               {"large", "layers=24,hidden=1024,heads=16,ffn=4096"}};
const Preset kVitPresets[] = {{"tiny", "layers=2,hidden=64,heads=4,image=32,patch=8,classes=10"},
                              {"base", "layers=12,hidden=768,heads=12,image=224,patch=16"},
                              {"large", "layers=24,hidden=1024,heads=16,image=224,patch=16"}};
const Preset kResnetPresets[] = {{"tiny", "layers=10,hidden=8,image=32,classes=10"},
                                 {"18", "layers=18"},
                                 {"50", "layers=50"},
                                 {"cifar", "layers=18,image=32,classes=10,stem=cifar"}};
const Preset kMoePresets[] = {
    {"tiny", "layers=2,hidden=64,heads=4,kv_heads=2,ffn=128,vocab=256,seq=64,"
             "experts=4,top_k=2,group=16"},
    {"8x7b", "layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=32000,"
             "seq=4096,experts=8,top_k=2,rope_theta=1000000"}};

const KindInfo kKinds[] = {
    {"gpt2", Kind::Gpt2,
     "layers=12,hidden=768,heads=12,ffn,vocab=50257,seq=1024,std=0.02,"
     "eps=1e-5,attention=eager,mask_input=0,weights=",
     kGpt2Presets},
    {"llama", Kind::Llama,
     "layers=16,hidden=2048,heads=32,kv_heads,ffn,vocab=32000,seq=2048,tied=0,"
     "bias=0,std=0.02,eps=1e-5,rope_theta=10000,rope_factor=1,rope_context=8192,"
     "attention=sdpa,linear=matmul,mask_input=0,weights=",
     kLlamaPresets},
    {"bert", Kind::Bert,
     "layers=12,hidden=768,heads=12,ffn,vocab=30522,seq=512,types=2,std=0.02,"
     "eps=1e-12,attention=eager,linear=matmul,pooling=none,normalize=0,"
     "pooler=0,head=none,weights=",
     kBertPresets},
    {"vit", Kind::Vit,
     "layers=12,hidden=768,heads=12,ffn,image=224,patch=16,channels=3,"
     "classes=1000,std=0.02,eps=1e-12,attention=sdpa,linear=matmul,weights=",
     kVitPresets},
    {"resnet", Kind::Resnet,
     "layers=18,hidden=64,image=224,channels=3,classes=1000,stem=imagenet,"
     "std=0,eps=1e-5,weights=",
     kResnetPresets},
    {"moe", Kind::Moe,
     "layers=16,hidden=2048,heads=32,kv_heads,ffn,vocab=32000,seq=2048,"
     "experts=8,top_k=2,group,capacity,tied=0,bias=0,std=0.02,eps=1e-5,"
     "rope_theta=10000,attention=sdpa,linear=matmul,mask_input=0",
     kMoePresets},
    {"mlp",
     Kind::Mlp,
     "layers=3,inputs=784,hidden=256,classes=10,activation=relu,std=0,"
     "weights=",
     {}}};

const Key *findKey(StringRef name) {
  for (const Key &key : kKeys)
    if (key.name == name)
      return &key;
  return nullptr;
}

std::vector<std::string> keysOf(const KindInfo &kind) {
  std::vector<std::string> keys{"preset"};
  for (StringRef part : {kind.defaults, kCommonDefaults}) {
    SmallVector<StringRef> items;
    part.split(items, ',');
    for (StringRef item : items)
      keys.push_back(item.split('=').first.str());
  }
  return keys;
}

/// Collects faults, so that all of them are told at once.
class Faults {
public:
  explicit Faults(StringRef subject) : subject(subject) {}
  void add(const Twine &what) {
    if (!text.empty())
      text += "\n";
    text += ("--build " + subject + ": " + what).str();
  }
  bool any() const { return !text.empty(); }
  Error take() {
    return any() ? createStringError(inconvertibleErrorCode(), text) : Error::success();
  }

private:
  std::string subject, text;
};

struct SetValue {
  ModelSpec &spec;
  const Key &key;
  StringRef value;
  Faults &faults;

  void operator()(int64_t ModelSpec::*field) const {
    int64_t number;
    if (value.getAsInteger(10, number))
      faults.add(key.name + "=" + value + " is not a whole number in 64 bits");
    else if (number < key.low || number > key.high)
      faults.add(key.name + "=" + value + " is outside [" + Twine(key.low) + ", " +
                 Twine(key.high) + "]");
    else
      spec.*field = number;
  }
  void operator()(bool ModelSpec::*field) const {
    if (value != "0" && value != "1")
      faults.add(key.name + "=" + value + " is neither 0 nor 1");
    else
      spec.*field = value == "1";
  }
  void operator()(double ModelSpec::*field) const {
    double number;
    if (value.getAsDouble(number) || !(number >= 0) || number > 1e30)
      faults.add(key.name + "=" + value + " is not a number in [0, 1e30]");
    else
      spec.*field = number;
  }
  void operator()(std::string ModelSpec::*field) const {
    if (!key.words.empty()) {
      SmallVector<StringRef> words;
      key.words.split(words, '|');
      if (!is_contained(words, value)) {
        faults.add(key.name + "=" + value + " is none of " + key.words);
        return;
      }
    }
    if (key.name == "style")
      spec.style = value == "compact" ? Style::Compact : Style::Exporter;
    else if (key.name == "dtype")
      spec.dtype = StringSwitch<DType>(value)
                       .Case("fp64", DType::F64)
                       .Case("fp16", DType::F16)
                       .Case("bf16", DType::BF16)
                       .Default(DType::F32);
    else
      spec.*field = value.str();
  }
};

void apply(ModelSpec &spec, StringRef settings, Faults &faults) {
  SmallVector<StringRef> items;
  settings.split(items, ',');
  for (StringRef item : items) {
    auto [name, value] = item.split('=');
    if (item.contains('='))
      if (const Key *key = findKey(name))
        std::visit(SetValue{spec, *key, value, faults}, key->field);
  }
}

std::string divisorsNear(int64_t whole, int64_t part) {
  int64_t below = std::min(part, whole), above = part + 1;
  while (whole % below)
    --below;
  while (above < whole && whole % above)
    ++above;
  std::string text = std::to_string(below);
  if (above <= whole)
    text += " or " + std::to_string(above);
  return text;
}

void requireDivides(Faults &faults, StringRef partName, int64_t part, StringRef wholeName,
                    int64_t whole) {
  if (whole % part == 0)
    return;
  faults.add(partName + "=" + Twine(part) + " does not divide " + wholeName + "=" + Twine(whole) +
             " (remainder " + Twine(whole % part) + "); choose " + partName + "=" +
             divisorsNear(whole, part) + ", or another " + wholeName);
}

/// Fills what the user left to us from what they gave.
void derive(ModelSpec &spec) {
  if (!spec.opset)
    spec.opset = spec.exporter() ? 17 : 23;
  if (!spec.kvHeads)
    spec.kvHeads = spec.heads;
  if (!spec.ffn) {
    bool gated = spec.kind == Kind::Llama || spec.kind == Kind::Moe;
    // Gated layers keep the parameter count of an ungated one of 4 x hidden,
    // rounded up to a multiple of 64 where that is not larger than hidden.
    int64_t wide = (8 * spec.hidden / 3 + 63) / 64 * 64;
    spec.ffn = gated ? std::max(wide, spec.hidden) : 4 * spec.hidden;
  }
  if (spec.kind != Kind::Moe)
    return;
  if (!spec.group) {
    spec.group = std::min<int64_t>(spec.seq, 64);
    while (spec.seq % spec.group)
      --spec.group;
  }
  if (!spec.capacity) {
    int64_t fair = 5 * spec.group * spec.topK; // a quarter above an equal share
    spec.capacity = (fair + 4 * spec.experts - 1) / (4 * spec.experts);
  }
}

void check(const ModelSpec &spec, Faults &faults) {
  if (spec.heads) {
    requireDivides(faults, "heads", spec.heads, "hidden", spec.hidden);
    requireDivides(faults, "kv_heads", spec.kvHeads, "heads", spec.heads);
  }
  bool rotary = spec.kind == Kind::Llama || spec.kind == Kind::Moe;
  if (rotary && spec.hidden % spec.heads == 0 && spec.headDim() % 2)
    faults.add("rotary positions need an even head size, hidden/heads = " + Twine(spec.headDim()) +
               "; choose heads so that it is even");
  if (rotary && spec.ropeFactor < 1)
    faults.add("rope_factor is below 1; it makes waves longer, and 1 leaves them as they are");
  if (spec.kind == Kind::Vit)
    requireDivides(faults, "patch", spec.patch, "image", spec.image);
  if (spec.kind == Kind::Resnet && !resnetShape(spec.layers))
    faults.add("layers=" + Twine(spec.layers) +
               " is no depth of a residual network; choose layers=10, 18, 34, "
               "50, 101 or 152");
  if (spec.kind == Kind::Moe) {
    if (spec.topK > spec.experts)
      faults.add("top_k=" + Twine(spec.topK) + " exceeds experts=" + Twine(spec.experts) +
                 "; choose top_k <= experts");
    requireDivides(faults, "group", spec.group, "seq", spec.seq);
  }
  if (spec.normalize && spec.pooling == "none")
    faults.add("normalize=1 needs a pooled embedding; add pooling=mean or "
               "pooling=cls");
  if (!spec.weights.empty() && spec.init == "varied")
    faults.add("init=varied has no meaning with weights=FILE; drop one");
}

} // namespace

std::optional<ResnetShape> resnetShape(int64_t layers) {
  switch (layers) {
  case 10:
    return ResnetShape{{1, 1, 1, 1}, false};
  case 18:
    return ResnetShape{{2, 2, 2, 2}, false};
  case 34:
    return ResnetShape{{3, 4, 6, 3}, false};
  case 50:
    return ResnetShape{{3, 4, 6, 3}, true};
  case 101:
    return ResnetShape{{3, 4, 23, 3}, true};
  case 152:
    return ResnetShape{{3, 8, 36, 3}, true};
  default:
    return std::nullopt;
  }
}

Expected<ModelSpec> parseModelSpec(StringRef text) {
  auto [kindName, settings] = text.split(':');
  const KindInfo *kind = nullptr;
  std::vector<std::string> kinds;
  for (const KindInfo &info : kKinds) {
    kinds.push_back(info.name.str());
    if (info.name == kindName)
      kind = &info;
  }
  if (!kind)
    return createStringError(inconvertibleErrorCode(),
                             "--build: unknown kind '%s'; kinds are %s, as in --build "
                             "gpt2:layers=2,hidden=64,heads=4%s",
                             kindName.str().c_str(), join(kinds, " ").c_str(),
                             didYouMean(kindName, kinds).c_str());

  ModelSpec spec;
  spec.kind = kind->kind;
  spec.text = text.str();
  Faults faults(kindName);
  apply(spec, kind->defaults, faults);
  apply(spec, kCommonDefaults, faults);

  StringMap<StringRef> given;
  SmallVector<StringRef> order, items;
  if (!settings.empty())
    settings.split(items, ',');
  std::vector<std::string> valid = keysOf(*kind);
  for (StringRef item : items) {
    auto [name, value] = item.split('=');
    if (!item.contains('=') || value.empty())
      faults.add("'" + item + "' is not key=value");
    else if (!is_contained(valid, name))
      faults.add("unknown key '" + name + "'; valid keys are " + join(valid, " ") +
                 didYouMean(name, valid));
    else if (!given.try_emplace(name, value).second)
      faults.add("key '" + name + "' is given twice; keep one");
    else
      order.push_back(name);
  }
  // A preset is a base that single keys override, wherever it stands.
  if (auto it = given.find("preset"); it != given.end()) {
    const Preset *found = nullptr;
    std::vector<std::string> names;
    for (const Preset &preset : kind->presets) {
      names.push_back(preset.name.str());
      if (preset.name == it->second)
        found = &preset;
    }
    if (found)
      apply(spec, found->settings, faults);
    else
      faults.add("unknown preset '" + it->second + "'; " + kindName +
                 (names.empty() ? " has none" : " has " + join(names, " ")) +
                 didYouMean(it->second, names));
  }
  for (StringRef name : order)
    if (name != "preset")
      std::visit(SetValue{spec, *findKey(name), given[name], faults}, findKey(name)->field);
  if (faults.any())
    return faults.take();
  derive(spec);
  check(spec, faults);
  if (faults.any())
    return faults.take();
  return spec;
}

std::string describeKinds() {
  std::string text;
  raw_string_ostream os(text);
  for (const KindInfo &kind : kKinds) {
    os << kind.name << ":" << kind.defaults << "\n";
    for (const Preset &preset : kind.presets)
      os << "    preset=" << preset.name << "  " << preset.settings << "\n";
  }
  os << "every kind:" << kCommonDefaults << "\nkeys:\n";
  for (const Key &key : kKeys) {
    os << "    " << key.name;
    os.indent(key.name.size() < 12 ? 12 - key.name.size() : 1) << key.help;
    if (!key.words.empty())
      os << " (" << key.words << ")";
    os << "\n";
  }
  return text;
}

} // namespace weft::builders
