package io.leasehold.demo.history;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * An unprotected number in a file, to be guarded by the lock. It always has the same width and is written in one piece, so
 * that concurrent writers lose updates but never read half a number.
 */
public final class CounterFile {

    /** The file's name. */
    public static final String NAME = "counter";

    private static final int WIDTH = 12;

    private final Path file;

    /** The counter in this directory. */
    public CounterFile(Path directory) {
        file = directory.resolve(NAME);
    }

    /** Reads the number; 0 before the first write. */
    public long read() throws IOException {
        return Files.exists(file)
                ? Long.parseLong(
                        Files.readString(file, StandardCharsets.US_ASCII).strip())
                : 0;
    }

    /** Writes the number without a check. */
    public void write(long value) throws IOException {
        String text = text(value);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)), 0);
        }
    }

    /** The content of the file for this number. */
    public static String text(long value) {
        String digits = Long.toString(value);
        return "0".repeat(WIDTH - digits.length()) + digits + "\n";
    }
}
