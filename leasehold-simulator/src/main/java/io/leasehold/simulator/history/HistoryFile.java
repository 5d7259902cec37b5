package io.leasehold.simulator.history;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The history of one process in an append-only file of lines. Each event is one write, so that a killed process loses
 * at most the line that it was writing, and the reader skips an incomplete last line.
 *
 * <p>Safe for all threads of the one process that writes it.
 */
public final class HistoryFile implements HistorySink, AutoCloseable {

    private final Path path;
    private final FileChannel channel;

    private HistoryFile(Path path, FileChannel channel) {
        this.path = path;
        this.channel = channel;
    }

    /**
     * Opens a file for appending.
     *
     * @throws UncheckedIOException if it cannot be written
     */
    public static HistoryFile append(Path path) {
        try {
            return new HistoryFile(
                    path,
                    FileChannel.open(
                            path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND));
        } catch (IOException e) {
            throw new UncheckedIOException("history file " + path + " cannot be opened for appending", e);
        }
    }

    @Override
    public synchronized void add(HistoryEvent event) {
        ByteBuffer line = ByteBuffer.wrap((HistoryLine.write(event) + "\n").getBytes(StandardCharsets.UTF_8));
        try {
            while (line.hasRemaining()) {
                channel.write(line);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("history file " + path + " cannot be written", e);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException("history file " + path + " cannot be closed", e);
        }
    }
}
