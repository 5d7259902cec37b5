package io.leasehold.demo.history;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A number in a file, and nothing that protects it: what the lock is for. It always has the same width and is written in
 * one piece, so that whoever comes in between loses updates but never finds half a number.
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

    /** The number; 0 if nobody has written yet. */
    public long read() throws IOException {
        return Files.exists(file)
                ? Long.parseLong(
                        Files.readString(file, StandardCharsets.US_ASCII).strip())
                : 0;
    }

    /** Writes the number, whatever it was before. */
    public void write(long value) throws IOException {
        String text = text(value);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)), 0);
        }
    }

    /** The whole file, if this is the number. */
    public static String text(long value) {
        String digits = Long.toString(value);
        return "0".repeat(WIDTH - digits.length()) + digits + "\n";
    }
}
