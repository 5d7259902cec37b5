package io.leasehold.servers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The directory of one server's configuration, log and data: one that the user named, which is kept, or a temporary one.
 *
 * <p>Files that start with {@code redis.conf} or {@code server.log} are the launcher's own; all others are data.
 */
final class ServerDirectory {
    private final Path path;
    private final boolean temporary;

    private ServerDirectory(Path path, boolean temporary) {
        this.path = path;
        this.temporary = temporary;
    }

    /** The named directory, created if need be; a new temporary one for null. */
    static ServerDirectory open(@Nullable Path named) {
        try {
            if (named == null) {
                return new ServerDirectory(Files.createTempDirectory("leasehold-redis-"), true);
            }
            return new ServerDirectory(Files.createDirectories(named.toAbsolutePath()), false);
        } catch (IOException e) {
            throw new ServerException("cannot create a data directory" + (named == null ? "" : " '" + named + "'"), e);
        }
    }

    Path path() {
        return path;
    }

    boolean isTemporary() {
        return temporary;
    }

    /** Writes the configuration, readable by the owner only since it holds passwords. */
    void writeConfiguration(List<String> lines) {
        Path file = path.resolve(RedisProcess.CONFIGURATION);
        try {
            Files.deleteIfExists(file);
            Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            Files.write(file, lines);
        } catch (IOException e) {
            throw new ServerException("cannot write '" + file + "'", e);
        }
    }

    /** Copies all data files to a new temporary directory. */
    Path copyData() {
        try {
            Path copy = Files.createTempDirectory("leasehold-redis-copy-");
            for (Path entry : dataEntries()) {
                copyTree(entry, copy.resolve(entry.getFileName()));
            }
            return copy;
        } catch (IOException e) {
            throw new ServerException("cannot copy the data in '" + path + "'", e);
        }
    }

    /** Removes all data files and puts those of the copy in their place. */
    void replaceData(Path copy) {
        deleteData();
        try (Stream<Path> entries = Files.list(copy)) {
            for (Path entry : entries.toList()) {
                copyTree(entry, path.resolve(entry.getFileName()));
            }
        } catch (IOException e) {
            throw new ServerException("cannot restore the data in '" + path + "' from '" + copy + "'", e);
        }
    }

    void deleteData() {
        try {
            for (Path entry : dataEntries()) {
                deleteTree(entry);
            }
        } catch (IOException | UncheckedIOException e) {
            throw new ServerException("cannot delete the data in '" + path + "'", e);
        }
    }

    void deleteIfTemporary() {
        if (temporary) {
            try {
                deleteTree(path);
            } catch (IOException e) {
                throw new ServerException("cannot delete '" + path + "'", e);
            }
        }
    }

    /** The data file matching the glob that was written last. */
    Path newestData(String glob) {
        try (Stream<Path> files = Files.walk(path)) {
            var matcher = path.getFileSystem().getPathMatcher("glob:" + glob);
            return files.filter(Files::isRegularFile)
                    .filter(file -> matcher.matches(file.getFileName()))
                    .max((a, b) ->
                            Long.compare(a.toFile().lastModified(), b.toFile().lastModified()))
                    .orElseThrow(() -> new ServerException("no file '" + glob + "' in '" + path + "'"));
        } catch (IOException e) {
            throw new ServerException("cannot search '" + path + "'", e);
        }
    }

    static void deleteTree(Path root) throws IOException {
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
                if (e instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw e;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException e) throws IOException {
                Files.deleteIfExists(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    private List<Path> dataEntries() throws IOException {
        try (Stream<Path> entries = Files.list(path)) {
            return entries.filter(entry -> !isOwn(entry.getFileName().toString()))
                    .toList();
        }
    }

    private static boolean isOwn(String name) {
        return name.startsWith(RedisProcess.CONFIGURATION) || name.equals("server.log");
    }

    private static void copyTree(Path from, Path to) throws IOException {
        try (Stream<Path> tree = Files.walk(from)) {
            for (Path source : tree.toList()) {
                try {
                    Files.copy(source, to.resolve(from.relativize(source)), StandardCopyOption.REPLACE_EXISTING);
                } catch (NoSuchFileException temporaryFileOfTheServer) {
                    // Redis writes temp-*.rdb and renames it; a file that vanished meanwhile is not part of the data.
                }
            }
        }
    }
}
