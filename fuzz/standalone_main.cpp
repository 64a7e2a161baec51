// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without a fuzzer.
//
//   target [--runs=N] [--seed=S] [--keep=FILE] [FILE | DIRECTORY]...
//
// Replays the files given. Then, or with no files at all, runs N pseudo-random inputs, most of them
// made by damaging one of the files. N is 20000 without files, 0 with files, unless told. With
// --keep each of these is in FILE while it runs: after a failure, the one that failed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using input = std::vector<std::uint8_t>;

struct arguments {
    std::optional<unsigned long> runs;
    unsigned long seed = 1;
    std::filesystem::path keep;
    std::vector<std::filesystem::path> files;
};

arguments read_arguments(int argc, char** argv)
{
    arguments result;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument.starts_with("--runs=")) {
            result.runs = std::stoul(argument.substr(7));
        } else if (argument.starts_with("--seed=")) {
            result.seed = std::stoul(argument.substr(7));
        } else if (argument.starts_with("--keep=")) {
            result.keep = argument.substr(7);
        } else if (std::filesystem::is_directory(argument)) {
            for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
                if (entry.is_regular_file()) {
                    result.files.push_back(entry.path());
                }
            }
        } else {
            result.files.emplace_back(argument);
        }
    }
    std::sort(result.files.begin(), result.files.end());
    return result;
}

std::optional<input> read_file(const std::filesystem::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
        return std::nullopt;
    }
    return input(std::istreambuf_iterator<char>(stream), {});
}

void write_file(const std::filesystem::path& path, const input& bytes)
{
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
}

class generator {
public:
    generator(unsigned long seed, const std::vector<input>& samples)
        : random_(seed), samples_(samples)
    {}

    input next()
    {
        if (samples_.empty() || below(4) == 0) {
            input bytes(below(below(8) == 0 ? 4096 : 64));
            std::generate(bytes.begin(), bytes.end(), [this] { return byte(); });
            return bytes;
        }
        auto bytes = samples_[below(samples_.size())];
        for (auto changes = 1 + below(4); changes > 0; --changes) {
            damage(bytes);
        }
        return bytes;
    }

private:
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

    std::uint8_t byte()
    {
        // Lengths and flags live at the edges of the range.
        static constexpr std::uint8_t edges[]{0, 1, 2, 3, 4, 6, 0x7f, 0x80, 0xfe, 0xff};
        return below(3) == 0 ? edges[below(std::size(edges))]
                             : static_cast<std::uint8_t>(below(256));
    }

    void damage(input& bytes)
    {
        const auto at = below(bytes.size() + 1);
        const auto position = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        switch (below(4)) {
        case 0:
            bytes.insert(position, byte());
            break;
        case 1:
            bytes.erase(position, bytes.end());
            break;
        case 2:
            bytes.insert(bytes.end(), below(400), byte());
            break;
        default:
            if (at < bytes.size()) {
                bytes[at] = byte();
            }
        }
    }

    std::mt19937_64 random_;
    const std::vector<input>& samples_;
};

} // namespace

int main(int argc, char** argv)
{
    const auto arguments = read_arguments(argc, argv);
    std::vector<input> samples;
    for (const auto& path : arguments.files) {
        auto bytes = read_file(path);
        if (!bytes) {
            std::fprintf(stderr, "cannot read %s\n", path.c_str());
            return 2;
        }
        LLVMFuzzerTestOneInput(bytes->data(), bytes->size());
        samples.push_back(std::move(*bytes));
    }
    const auto runs = arguments.runs.value_or(samples.empty() ? 20000 : 0);
    generator inputs(arguments.seed, samples);
    for (unsigned long run = 0; run < runs; ++run) {
        const auto bytes = inputs.next();
        if (!arguments.keep.empty()) {
            write_file(arguments.keep, bytes);
        }
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    std::printf("%zu files, %lu generated inputs\n", samples.size(), runs);
    return 0;
}
