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

    /**
     * Replaces the library in this directory in one step, so that a start at the same time finds the whole old or new file; not by a
     * library that cannot be loaded here, as from a file system that forbids to execute.
     */
    static Path unpack(Path directory) throws IOException {
        String name = LibraryLoaderUtil.getNativeLibName();
        String resource = LibraryLoaderUtil.getNativeLibResourcePath() + "/" + name;
        Path unpacked = Files.createTempFile(directory, name, ".part");
        try (InputStream content = LibraryLoaderUtil.class.getResourceAsStream(resource)) {
            if (content == null) {
                throw new FileNotFoundException("SQLite's driver has no " + resource);
            }
            Files.copy(content, unpacked, StandardCopyOption.REPLACE_EXISTING);
            try (FileChannel file = FileChannel.open(unpacked, StandardOpenOption.WRITE)) {
                file.force(true);
            }
            System.load(unpacked.toAbsolutePath().toString());
            return Files.move(unpacked, directory.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(unpacked);
        }
    }
}
