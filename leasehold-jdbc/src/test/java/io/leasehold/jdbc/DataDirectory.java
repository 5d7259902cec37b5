package io.leasehold.jdbc;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The data directory of a server that is stopped. */
final class DataDirectory {

    private DataDirectory() {}

    /** Creates the directory that is copied. */
    interface Making {
        void make(Path directory) throws IOException;
    }

    /**
     * Creates a directory once, to be copied; two processes that create it at once do not see each other's unfinished
     * work.
     */
    static synchronized Path template(Path template, Making making) throws IOException {
        if (Files.isDirectory(template)) {
            return template;
        }
        Files.createDirectories(template.getParent());
        Path made = Files.createTempDirectory(template.getParent(), "making");
        making.make(made);
        try {
            return Files.move(made, template, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            if (Files.isDirectory(template)) {
                return template; // another process was first
            }
            throw e;
        }
    }

    static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> tree = Files.walk(from)) {
            for (Path source : tree.toList()) {
                Path target = to.resolve(from.relativize(source).toString());
                if (!Files.isDirectory(target)) {
                    Files.copy(source, target, StandardCopyOption.COPY_ATTRIBUTES);
                }
            }
        }
    }

    static void delete(Path root) throws IOException {
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path path, @Nullable IOException e) throws IOException {
                Files.delete(path);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
