package io.leasehold.cli.demo;

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
final class CounterFile {

    private static final int WIDTH = 12;

    private final Path file;

    CounterFile(Path directory) {
        file = directory.resolve("counter");
    }

    long read() throws IOException {
        return Files.exists(file)
                ? Long.parseLong(
                        Files.readString(file, StandardCharsets.US_ASCII).strip())
                : 0;
    }

    void write(long value) throws IOException {
        String digits = Long.toString(value);
        String text = "0".repeat(WIDTH - digits.length()) + digits + "\n";
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)), 0);
        }
    }
}
