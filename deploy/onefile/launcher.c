/* The first part of the one file: unpacks Python and the product once into a cache of this user, then starts them.
 *
 * Linked statically: it needs no library of the host. The file's end describes the rest, see build.py:
 *
 *   this program | zlib stream of all files' bytes, one after another | index | trailer
 *
 * The index has a line for each file or directory: "MODE SIZE PATH\n". MODE is octal, or `d` for a directory.
 * The cache is a directory KEY, the hash of the index and the stream. It is made under another name and renamed, so it
 * is whole or not there. Another user can write neither it nor a directory above it; else the next place is tried.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define MAGIC "KRAFTONE"
#define KEY_LENGTH 32
#define UNFINISHED ".new-"
#define FORGOTTEN_AFTER_S 3600
#define DAMAGED "%s is not whole: compare its sha256 with the published one"

struct trailer {
    uint64_t data_offset, data_size, index_offset, index_size;
    char key[KEY_LENGTH];
    char magic[8];
};

static char self[PATH_MAX]; /* the one file */
static int self_fd;
static struct trailer trailer;
static char *index_text;
static char reasons[8192]; /* one line for each place that cannot be used */
static char unfinished[PATH_MAX]; /* the directory that is being filled, or nothing */

static void remove_tree(const char *path);

/* Print why this start ends, and end it. Files that it has unpacked would fill the disk, a copy for each start. */
static void fail(const char *format, ...) {
    va_list words;
    va_start(words, format);
    fputs("kraft: ", stderr);
    vfprintf(stderr, format, words);
    fputs("\n", stderr);
    va_end(words);
    if (*unfinished)
        remove_tree(unfinished);
    exit(2);
}

static void note(const char *place, const char *why) {
    size_t used = strlen(reasons);
    snprintf(reasons + used, sizeof reasons - used, "\n  %s: %s", place, why);
}

static void join(char *result, const char *first, const char *second) {
    if (snprintf(result, PATH_MAX, "%s/%s", first, second) >= PATH_MAX)
        fail("the path %s/%s is too long", first, second);
}

static void read_whole(void *target, size_t size, uint64_t offset) {
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(self_fd, (char *)target + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            fail(DAMAGED, self);
        done += (size_t)got;
    }
}

static void open_self(void) {
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length > 0)
        self[length] = 0;
    else if (!realpath((const char *)getauxval(AT_EXECFN), self)) /* no /proc here */
        fail("this file's own path is unknown: mount /proc, or call it by its whole path");
    self_fd = open(self, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (self_fd < 0 || fstat(self_fd, &status))
        fail("%s: %s", self, strerror(errno));
    if ((size_t)status.st_size < sizeof trailer)
        fail(DAMAGED, self);
    uint64_t end = (uint64_t)status.st_size - sizeof trailer;
    read_whole(&trailer, sizeof trailer, end);
    if (memcmp(trailer.magic, MAGIC, sizeof trailer.magic) || trailer.index_offset > end ||
        trailer.index_size != end - trailer.index_offset || trailer.data_offset > trailer.index_offset ||
        trailer.data_size != trailer.index_offset - trailer.data_offset)
        fail(DAMAGED, self);
    index_text = malloc(trailer.index_size + 1);
    if (!index_text)
        fail("not enough memory");
    read_whole(index_text, trailer.index_size, trailer.index_offset);
    index_text[trailer.index_size] = 0;
}

struct entry {
    int is_directory;
    mode_t mode;
    uint64_t size;
    char path[PATH_MAX];
};

/* Read the next line of the index into `entry`; return 0 after the last. */
static int next_entry(const char **at, const char *root, struct entry *entry) {
    if (!**at)
        return 0;
    char *end;
    entry->is_directory = **at == 'd';
    entry->mode = entry->is_directory ? 0700 : (mode_t)strtoul(*at, NULL, 8);
    const char *space = strchr(*at, ' ');
    const char *line_end = strchr(*at, '\n');
    if (!space || !line_end)
        fail(DAMAGED, self);
    entry->size = strtoull(space + 1, &end, 10);
    if (snprintf(entry->path, sizeof entry->path, "%s/%.*s", root, (int)(line_end - end - 1), end + 1) >= PATH_MAX)
        fail("the path %s is too long", root);
    *at = line_end + 1;
    return 1;
}

/* Return 1 if every file is there with its size. A cleaner of /tmp may have removed some. */
static int is_complete(const char *root) {
    const char *at = index_text;
    struct entry entry;
    struct stat status;
    while (next_entry(&at, root, &entry)) {
        if (lstat(entry.path, &status))
            return 0;
        if (entry.is_directory ? !S_ISDIR(status.st_mode)
                               : !S_ISREG(status.st_mode) || (uint64_t)status.st_size != entry.size)
            return 0;
    }
    return 1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static void remove_tree(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

/* Remove directories of starts that were killed while they unpacked. */
static void remove_forgotten(const char *cache) {
    DIR *directory = opendir(cache);
    struct dirent *found;
    while (directory && (found = readdir(directory))) {
        char path[PATH_MAX];
        struct stat status;
        join(path, cache, found->d_name);
        if (!strncmp(found->d_name, UNFINISHED, strlen(UNFINISHED)) && !lstat(path, &status) &&
            time(NULL) - status.st_mtime > FORGOTTEN_AFTER_S)
            remove_tree(path);
    }
    if (directory)
        closedir(directory);
}

struct source {
    z_stream stream;
    uint64_t offset, left;
    unsigned char compressed[1 << 16];
};

/* Give the stream its next compressed bytes, if it has used up the last ones, and inflate what fits. */
static int inflate_some(struct source *from) {
    if (!from->stream.avail_in) {
        size_t part = from->left < sizeof from->compressed ? from->left : sizeof from->compressed;
        if (part)
            read_whole(from->compressed, part, from->offset);
        from->offset += part;
        from->left -= part;
        from->stream.next_in = from->compressed;
        from->stream.avail_in = (uInt)part;
    }
    return inflate(&from->stream, Z_NO_FLUSH);
}

/* Fill `buffer` with the next `size` bytes of the files. */
static void inflate_next(struct source *from, unsigned char *buffer, size_t size) {
    from->stream.next_out = buffer;
    from->stream.avail_out = (uInt)size;
    while (from->stream.avail_out) {
        int status = inflate_some(from);
        if (status != Z_OK && !(status == Z_STREAM_END && !from->stream.avail_out))
            fail(DAMAGED, self);
    }
}

/* Read to the stream's end, where zlib compares the sum of all bytes. */
static void inflate_end(struct source *from) {
    unsigned char more;
    int status;
    from->stream.next_out = &more;
    from->stream.avail_out = 1;
    while ((status = inflate_some(from)) == Z_OK && from->stream.avail_out)
        ;
    if (status != Z_STREAM_END || !from->stream.avail_out || from->left || from->stream.avail_in)
        fail(DAMAGED, self);
    inflateEnd(&from->stream);
}

/* Write one file; return 0 if the system refuses, with errno. */
static int write_file(struct source *from, const struct entry *entry) {
    static unsigned char buffer[1 << 18];
    int fd = open(entry->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, entry->mode);
    if (fd < 0)
        return 0;
    for (uint64_t left = entry->size; left;) {
        size_t part = left < sizeof buffer ? left : sizeof buffer;
        inflate_next(from, buffer, part);
        for (size_t done = 0; done < part;) {
            ssize_t written = write(fd, buffer + done, part - done);
            if (written < 0 && errno == EINTR)
                continue;
            if (written <= 0) {
                int why = errno;
                close(fd);
                errno = why;
                return 0;
            }
            done += (size_t)written;
        }
        left -= part;
    }
    return !close(fd);
}

/* Write all files below `root`; return 0 if the system refuses, with errno. */
static int unpack(const char *root) {
    static struct source from;
    memset(&from, 0, sizeof from);
    from.offset = trailer.data_offset;
    from.left = trailer.data_size;
    if (inflateInit(&from.stream) != Z_OK)
        fail("not enough memory");
    const char *at = index_text;
    struct entry entry;
    int is_written = 1;
    while (is_written && next_entry(&at, root, &entry))
        is_written = entry.is_directory ? !mkdir(entry.path, 0700) : write_file(&from, &entry);
    if (is_written)
        inflate_end(&from);
    return is_written;
}

/* Return 1 if only this user and root can change `path` or a directory above it; `path` has no link in it. */
static int is_private(const char *path) {
    char above[PATH_MAX];
    struct stat status;
    if (lstat(path, &status) || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 022)
        return 0;
    snprintf(above, sizeof above, "%s", path);
    while (strcmp(above, "/")) {
        char *slash = strrchr(above, '/');
        slash[slash == above] = 0;
        if (lstat(above, &status) || (status.st_uid != 0 && status.st_uid != geteuid()))
            return 0;
        if (status.st_mode & 022 && !(status.st_mode & S_ISVTX))
            return 0;
    }
    return 1;
}

/* Unpack under a name of its own, then take KEY's place, whose files are not complete; return 0 with errno. */
static int make_tree(const char *cache, const char *root) {
    char fresh[PATH_MAX], stale[PATH_MAX];
    remove_forgotten(cache);
    join(fresh, cache, UNFINISHED "XXXXXX");
    if (!mkdtemp(fresh))
        return 0;
    strcpy(unfinished, fresh);
    int is_unpacked = unpack(fresh), why = errno;
    *unfinished = 0;
    if (!is_unpacked) {
        remove_tree(fresh);
        errno = why;
        return 0;
    }
    if (!rename(fresh, root))
        return 1;
    if (is_complete(root)) { /* another process was faster */
        remove_tree(fresh);
        return 1;
    }
    join(stale, cache, UNFINISHED "XXXXXX");
    if (mkdtemp(stale) && !rename(root, stale) && !rename(fresh, root)) {
        remove_tree(stale);
        return 1;
    }
    int is_there = is_complete(root);
    remove_tree(fresh);
    return is_there;
}

/* Return 1 and the files' directory in `root` if `base`, which exists, can hold the cache; else note why not. */
static int use(const char *base, const char *name, char *root) {
    char real[PATH_MAX], cache[PATH_MAX], key[KEY_LENGTH + 1];
    struct statvfs system;
    if (!realpath(base, real)) {
        note(base, strerror(errno));
        return 0;
    }
    join(cache, real, name);
    if (mkdir(cache, 0700) && errno != EEXIST) {
        note(cache, strerror(errno));
        return 0;
    }
    if (!is_private(cache)) {
        note(cache, "another user owns it or can write there, or a directory above it");
        return 0;
    }
    if (statvfs(cache, &system) || system.f_flag & ST_NOEXEC) {
        note(cache, "its file system is mounted noexec");
        return 0;
    }
    memcpy(key, trailer.key, KEY_LENGTH);
    key[KEY_LENGTH] = 0;
    join(root, cache, key);
    if (is_complete(root) || make_tree(cache, root))
        return 1;
    note(cache, strerror(errno));
    return 0;
}

/* Find or make the directory of all files. */
static void find_root(char *root) {
    const char *chosen = getenv("KRAFT_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char own[64], path[PATH_MAX];
    if (chosen && *chosen) {
        if (use(chosen, "kraft-quorum", root))
            return;
        fail("KRAFT_CACHE_DIR names a directory that cannot hold the unpacked files:%s", reasons);
    }
    if (cache && *cache == '/' && use(cache, "kraft-quorum", root))
        return;
    if (home && *home == '/' && home[1]) {
        join(path, home, ".cache");
        if (!mkdir(path, 0700) || errno == EEXIST) {
            if (use(path, "kraft-quorum", root))
                return;
        } else
            note(path, strerror(errno));
    }
    snprintf(own, sizeof own, "kraft-quorum-%lu", (unsigned long)geteuid());
    if (use("/var/tmp", own, root) || use("/tmp", own, root))
        return;
    fail("no directory can hold the unpacked files:%s\nSet KRAFT_CACHE_DIR to a directory that only you can write to, "
         "on a file system without noexec",
         reasons);
}

int main(int count, char **words) {
    char root[PATH_MAX], loader[PATH_MAX], libraries[PATH_MAX], python[PATH_MAX], entry[PATH_MAX];
    open_self();
    find_root(root);
    join(loader, root, "kraft");
    join(libraries, root, "lib");
    join(python, root, "bin/python3");
    join(entry, root, "entry.pyc");
    const char *start[] = {loader, "--inhibit-cache", "--library-path", libraries, "--argv0", python, python,
                           "-I",   "-S",              "-B",             entry,      self};
    const size_t fixed = sizeof start / sizeof *start;
    const char **all = calloc(fixed + (size_t)count + 1, sizeof *all);
    if (!all)
        fail("not enough memory");
    memcpy(all, start, sizeof start);
    for (int word = 1; word < count; word++)
        all[fixed + (size_t)word - 1] = words[word];
    unsetenv("LD_LIBRARY_PATH"); /* of other programs, with another C library */
    unsetenv("LD_PRELOAD");
    execv(loader, (char *const *)all);
    fail("%s: %s", loader, strerror(errno));
}
