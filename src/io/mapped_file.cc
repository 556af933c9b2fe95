#include "io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace weir {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

tl::unexpected<Error> SystemError(const std::string& path, std::string_view what) {
  const int number = errno;
  const auto code = number == ENOENT || number == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Fail(code,
              fmt::format("{} '{}': {}", what, path, std::generic_category().message(number)));
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait forever.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return SystemError(path, "cannot open");
  struct stat status {};
  if (fstat(file.fd, &status) != 0) return SystemError(path, "cannot examine");
  if (!S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is {}, not a regular file", path,
                            S_ISDIR(status.st_mode) ? "a directory" : "a device or pipe"));
  }
  if (status.st_size == 0) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is empty", path));
  }
  const auto length = static_cast<size_t>(status.st_size);
  void* memory = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (memory == MAP_FAILED) return SystemError(path, "cannot map");
  return MappedFile({static_cast<const std::byte*>(memory), length});
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::DropPages() const {
  if (!bytes_.empty()) {
    madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
  }
}

}  // namespace weir
