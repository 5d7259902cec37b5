package io.leasehold.cli;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.sqlite.util.LibraryLoaderUtil;

/**
 * An entry point for the launcher: unpacks the native library of SQLite for this machine once, since the driver would unpack it at
 * each start.
 */
final class NativeLibrary {

    private NativeLibrary() {}

    /** Unpacks it into the directory that the argument names. */
    public static void main(String[] arguments) throws IOException {
        unpack(Path.of(arguments[0]));
    }

    private static void unpack(Path directory) throws IOException {
        String name = LibraryLoaderUtil.getNativeLibName();
        String resource = LibraryLoaderUtil.getNativeLibResourcePath() + "/" + name;
        try (InputStream content = LibraryLoaderUtil.class.getResourceAsStream(resource)) {
            if (content == null) {
                throw new FileNotFoundException("SQLite's driver has no " + resource);
            }
            replace(directory.resolve(name), content);
        }
    }

    /**
     * Replaces this library in one step, so that a start at the same time finds the whole old or new file; not by one that cannot be
     * loaded here, as a damaged one, or one on a file system that forbids to execute.
     */
    static void replace(Path library, InputStream content) throws IOException {
        Path unpacked = Files.createTempFile(library.toAbsolutePath().getParent(), "native", ".part");
        try {
            Files.copy(content, unpacked, StandardCopyOption.REPLACE_EXISTING);
            try (FileChannel file = FileChannel.open(unpacked, StandardOpenOption.WRITE)) {
                file.force(true);
            }
            System.load(unpacked.toString());
            Files.move(unpacked, library, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(unpacked);
        }
    }
}
