// Reading of .npy files and of states through their transforms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "base/Convert.h"

#include "weft/runtime/Npy.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace weft::runtime;

namespace {

class Files : public testing::Test {
protected:
  void SetUp() override {
    char pattern[] = "/tmp/weft-test-XXXXXX";
    folder = mkdtemp(pattern);
  }
  void TearDown() override {
    std::string command = "rm -rf '" + folder + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
  std::string write(const std::string &name, const std::string &bytes) {
    std::string path = folder + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string folder;
};

TEST_F(Files, NpyHeadersRoundTrip) {
  for (unsigned type = 0; type < kNumDTypes; ++type)
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {7}, {2, 3}, {0, 4}, {1, 2, 3, 4}}) {
      std::string path = folder + "/x.npy";
      Status status = createNpy(path, DType(type), shape);
      ASSERT_TRUE(status.ok()) << status.text();
      NpyFile file;
      status = NpyFile::open(path, file);
      ASSERT_TRUE(status.ok()) << status.text();
      EXPECT_EQ(file.dtype(), DType(type));
      EXPECT_EQ(file.shape(), shape);
      EXPECT_EQ(npyHeader(DType(type), shape).size() % 64, 0u);
    }
}

TEST_F(Files, NpyOfOthersIsReadOrRefusedByName) {
  auto open = [&](const std::string &dictionary, const std::string &data) {
    std::string text = dictionary + "\n";
    std::string header = std::string("\x93NUMPY\x01\x00", 8);
    header += char(text.size());
    header += char(0);
    NpyFile file;
    Status status = NpyFile::open(write("o.npy", header + text + data), file);
    return status.ok() ? shapeText(file.shape()) + " " + dtypeName(file.dtype())
                       : status.text().substr(status.text().find("' ") + 2);
  };
  std::string four(16, 'x');
  EXPECT_EQ(open("{'descr':'<f4','fortran_order':False,'shape':(2,2)}", four), "2x2 f32");
  EXPECT_EQ(open("{'shape': (4,), 'fortran_order': True, 'descr': '<i4'}", four), "4 i32");
  EXPECT_EQ(open("{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }", four),
            "is big-endian; save it in little-endian order");
  EXPECT_EQ(open("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", four),
            "is in Fortran order; save it in C order");
  EXPECT_EQ(open("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", four),
            "has dtype '<c8', which is not supported");
  EXPECT_EQ(open("{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", four),
            "is cut off: its header promises 20 bytes of data, it has 16");
  EXPECT_EQ(open("{'descr': '<f4', 'fortran_order': False, "
                 "'shape': (99999999999, 99999999999), }",
                 four),
            "has an impossible shape");
  EXPECT_EQ(open("{}", four), "has no plain dtype; structured arrays are not supported");
}

TEST_F(Files, HostileNpyNeverCrashes) {
  std::string good = npyHeader(DType::F32, {3, 5}) + std::string(60, 'z');
  std::mt19937_64 random(3);
  int accepted = 0;
  const int trials = std::getenv("WEFT_TEST_FULL") ? 20000 : 600;
  for (int trial = 0; trial < trials; ++trial) {
    std::string bad = good;
    for (int flips = 1 + int(random() % 4); flips > 0; --flips)
      bad[random() % bad.size()] = char(random());
    if (random() % 4 == 0)
      bad.resize(random() % bad.size());
    NpyFile file;
    if (NpyFile::open(write("bad.npy", bad), file).ok()) {
      ++accepted;
      EXPECT_LE(file.numElements() * dtypeBytes(file.dtype()), int64_t(bad.size()));
    }
  }
  EXPECT_GT(accepted, trials / 20);
}

TEST(Convert, HalvesRoundToNearestEven) {
  // Every half becomes itself again.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    Float16 half;
    half.bits = uint16_t(bits);
    float value = half;
    if (value == value) {
      EXPECT_EQ(Float16(value).bits, bits);
    } else {
      EXPECT_NE(float(Float16(value)), float(Float16(value)));
    }
    BFloat16 brain;
    brain.bits = uint16_t(bits);
    if (float(brain) == float(brain)) {
      EXPECT_EQ(BFloat16(float(brain)).bits, bits);
    }
  }
  EXPECT_EQ(Float16(1 + 0x1p-11f).bits, 0x3c00); // a tie, to even
  EXPECT_EQ(Float16(1 + 0x3p-11f).bits, 0x3c02); // a tie, to even
  EXPECT_EQ(Float16(1 + 0x1.1p-11f).bits, 0x3c01);
  EXPECT_EQ(Float16(65519.f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.f).bits, 0x7c00);  // rounds to infinity
  EXPECT_EQ(Float16(0x1p-25f).bits, 0x0000); // a tie, to even
  EXPECT_EQ(Float16(0x1.8p-25f).bits, 0x0001);
  EXPECT_EQ(Float16(-0x1p-24f).bits, 0x8001);
  EXPECT_EQ(BFloat16(1 + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1 + 0x3p-8f).bits, 0x3f82);
}

TEST(Convert, NaNStaysNaN) {
  // Also one whose payload is only in the bits that are dropped.
  for (uint32_t word : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u}) {
    float nan;
    std::memcpy(&nan, &word, 4);
    EXPECT_TRUE(std::isnan(float(BFloat16(nan)))) << word;
    EXPECT_TRUE(std::isnan(float(Float16(nan)))) << word;
    EXPECT_TRUE(std::isnan(float(roundedOnce<BFloat16>(nan)))) << word;
    EXPECT_TRUE(std::isnan(float(roundedOnce<Float16>(nan)))) << word;
  }
}

TEST(Convert, DoublesAreRoundedOnce) {
  auto bits = [](double value, DType type) {
    uint16_t result = 0;
    convertElements(DType::F64, &value, type, &result, 1);
    return result;
  };
  // Just above and below the middle of two numbers, by less than a float sees.
  for (double sign : {1.0, -1.0})
    for (double tiny : {0x1p-40, 0x1p-52}) {
      uint16_t top = sign < 0 ? 0x8000 : 0;
      EXPECT_EQ(bits(sign * (1 + 0x1p-8 + tiny), DType::BF16), top | 0x3f81);
      EXPECT_EQ(bits(sign * (1 + 0x3p-8 - tiny), DType::BF16), top | 0x3f81);
      EXPECT_EQ(bits(sign * (1 + 0x1p-11 + tiny), DType::F16), top | 0x3c01);
      EXPECT_EQ(bits(sign * (1 + 0x3p-11 - tiny), DType::F16), top | 0x3c01);
    }
  EXPECT_EQ(bits(1 + 0x1p-8, DType::BF16), 0x3f80); // a tie, to even
  EXPECT_EQ(bits(0x1.0001p-25, DType::F16), 0x0001);
  EXPECT_EQ(bits(0x1p-25, DType::F16), 0x0000);
  EXPECT_EQ(bits(1e-300, DType::BF16), 0x0000);
  EXPECT_EQ(bits(-1e300, DType::BF16), 0xff80);
  EXPECT_EQ(bits(65519.9999999, DType::F16), 0x7bff);
  EXPECT_EQ(bits(HUGE_VAL, DType::F16), 0x7c00);
}

TEST(Convert, IntegersAreRoundedOnce) {
  auto bits = [](auto value, DType from) {
    uint16_t result = 0;
    convertElements(from, &value, DType::BF16, &result, 1);
    return result;
  };
  // One beside the middle of two numbers, which neither a float nor a double sees.
  EXPECT_EQ(bits(int32_t(0x40400001), DType::I32), 0x4e81);
  EXPECT_EQ(bits(int32_t(0x40bfffff), DType::I32), 0x4e81);
  const int64_t middle = (int64_t(1) << 62) + (int64_t(1) << 54);
  EXPECT_EQ(bits(middle, DType::I64), 0x5e80); // a tie, to even
  EXPECT_EQ(bits(middle + 1, DType::I64), 0x5e81);
  EXPECT_EQ(bits(-middle - 1, DType::I64), 0xde81);
  EXPECT_EQ(bits(middle + (int64_t(1) << 55) - 1, DType::I64), 0x5e81);
  EXPECT_EQ(bits(2 * uint64_t(middle) + 1, DType::U64), 0x5f01);
  EXPECT_EQ(bits(std::numeric_limits<int64_t>::min(), DType::I64), 0xdf00);
  EXPECT_EQ(bits(std::numeric_limits<uint64_t>::max(), DType::U64), 0x5f80);
}

TEST(Convert, FloatsToIntegersSaturate) {
  const double values[] = {-1e30, -129, -128.9, -1.9, 0.9, 127.9, 128, 1e30, std::nan("")};
  int8_t narrow[9];
  convertElements(DType::F64, values, DType::I8, narrow, 9);
  const int8_t expected[] = {-128, -128, -128, -1, 0, 127, 127, 127, 0};
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(narrow[i], expected[i]) << values[i];
  const float big = 0x1p63f;
  int64_t wide;
  convertElements(DType::F32, &big, DType::I64, &wide, 1);
  EXPECT_EQ(wide, INT64_MAX);
  // In a wide type a NaN is not cut down to 0 by chance.
  int32_t middle = 1;
  convertElements(DType::F64, &values[8], DType::I32, &middle, 1);
  convertElements(DType::F64, &values[8], DType::I64, &wide, 1);
  EXPECT_EQ(middle, 0);
  EXPECT_EQ(wide, 0);
}

// A state through random transforms, sharded at random, against the same
// transforms done one after another on whole arrays.
/// Behind a header that is not padded elements lie at any address.
TEST(Convert, SourcesNeedNotBeAligned) {
  std::vector<char> bytes(1 + 5 * sizeof(int64_t));
  const int64_t wanted[] = {1, -2, 300, -40000, 5000000000};
  std::memcpy(bytes.data() + 1, wanted, sizeof wanted);
  double found[5];
  convertElements(DType::I64, bytes.data() + 1, DType::F64, found, 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(found[i], double(wanted[i]));
    EXPECT_EQ(elementAt<int64_t>(bytes.data() + 1, i), wanted[i]);
  }
}

TEST_F(Files, StatesAreTheTransformedSource) {
  std::mt19937_64 random(11);
  int cases = 0;
  for (; cases < 200; ++cases) {
    std::vector<int64_t> shape(1 + random() % 3);
    int64_t count = 1;
    for (int64_t &size : shape)
      count *= size = 1 + int64_t(random() % 5);
    std::vector<float> source;
    for (int64_t i = 0; i < count; ++i)
      source.push_back(float(int(random() % 2000)) - 1000);
    ProgramBuilder::PieceDesc piece;
    piece.sourceShape = shape;
    piece.dtype = DType::F32;
    std::vector<float> value = source;
    for (int steps = int(random() % 4); steps > 0; --steps)
      switch (random() % 4) {
      case 0: { // transpose
        std::vector<int64_t> permutation;
        for (size_t i = 0; i < shape.size(); ++i)
          permutation.push_back(int64_t(i));
        std::shuffle(permutation.begin(), permutation.end(), random);
        piece.transforms.push_back({TransformKind::Transpose, DType::F32, permutation});
        std::vector<int64_t> next;
        for (int64_t from : permutation)
          next.push_back(shape[size_t(from)]);
        std::vector<float> moved(value.size());
        for (size_t i = 0; i < moved.size(); ++i) {
          std::vector<int64_t> at(shape.size());
          int64_t rest = int64_t(i);
          for (size_t d = next.size(); d-- > 0; rest /= next[d])
            at[size_t(permutation[d])] = rest % next[d];
          int64_t from = 0;
          for (size_t d = 0; d < shape.size(); ++d)
            from = from * shape[d] + at[d];
          moved[i] = value[size_t(from)];
        }
        shape = next, value = moved;
        break;
      }
      case 1: { // reshape: join all, or put a 1 in front
        if (random() % 2 || shape.size() > 4) {
          int64_t all = int64_t(value.size());
          shape = {all};
        } else {
          shape.insert(shape.begin(), 1);
        }
        piece.transforms.push_back({TransformKind::Reshape, DType::F32, shape});
        break;
      }
      case 2: { // broadcast of a leading 1
        if (shape[0] != 1)
          break;
        shape[0] = 3;
        piece.transforms.push_back({TransformKind::Broadcast, DType::F32, shape});
        std::vector<float> once = value;
        for (int i = 1; i < 3; ++i)
          value.insert(value.end(), once.begin(), once.end());
        break;
      }
      default: { // slice of the leading dimension, backwards or every second
        std::vector<int64_t> ints(3 * shape.size(), 1);
        bool backwards = random() % 2;
        int64_t size = backwards ? shape[0] : (shape[0] + 1) / 2;
        for (size_t d = 0; d < shape.size(); ++d) {
          ints[d] = 0;
          ints[shape.size() + d] = shape[d];
        }
        ints[0] = backwards ? shape[0] - 1 : 0;
        ints[shape.size()] = size;
        ints[2 * shape.size()] = backwards ? -1 : 2;
        piece.transforms.push_back({TransformKind::Slice, DType::F32, ints});
        int64_t inner = int64_t(value.size()) / shape[0];
        std::vector<float> kept;
        for (int64_t i = 0; i < size; ++i) {
          int64_t from = backwards ? shape[0] - 1 - i : 2 * i;
          kept.insert(kept.end(), value.begin() + from * inner, value.begin() + (from + 1) * inner);
        }
        shape[0] = size, value = kept;
      }
      }
    // Two pieces, one above the other, and a row of zeros below.
    std::vector<int64_t> whole = shape;
    whole[0] = 2 * shape[0] + 1;
    std::vector<float> exact = value;
    exact.insert(exact.end(), value.begin(), value.end());
    exact.resize(exact.size() / 2 / size_t(shape[0]) * size_t(whole[0]), 0.f);
    std::string path = write(
        "w.bin", "12345" + std::string(reinterpret_cast<char *>(source.data()), source.size() * 4));
    piece.path = path;
    piece.byteOffset = 5; // sources need not be aligned
    piece.hashes = {hashBytes(source.data(), source.size() * 4)};
    ProgramBuilder::PieceDesc second = piece;
    second.start.assign(shape.size(), 0);
    second.start[0] = shape[0];

    Harness h;
    Id axis = h.builder.addMeshAxis("t", 1 + int64_t(random() % 3));
    ProgramBuilder::PlacementDesc dims;
    std::vector<int64_t> local = whole;
    size_t split = random() % whole.size();
    for (size_t d = 0; d < whole.size(); ++d)
      dims.push_back({{whole[d], d == split ? ProgramBuilder::Ids{axis} : ProgramBuilder::Ids{}}});
    // Any upper bound of the local extents will do for the buffer.
    Id buffer = h.buffer("w", DType::F64, whole, BufferClass::Parameter);
    h.builder.addState("w", DType::F64, whole, h.builder.addPlacement(dims), buffer,
                       {piece, second});
    h.begin();
    ASSERT_OK(h.open());
    std::vector<double> found(exact.size());
    weft_status status{};
    ASSERT_EQ(weft_get_state(h.session, "w", found.data(), found.size() * 8, &status), 0)
        << status.text;
    for (size_t i = 0; i < exact.size(); ++i)
      ASSERT_EQ(found[i], double(exact[i])) << "case " << cases;
  }
  EXPECT_EQ(cases, 200);
}

} // namespace
