package io.leasehold.demo.history;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * The history of one worker. The worker appends, one write per line, so that the history of a killed process is complete; the
 * reader follows at its own pace. Any thread may append; one thread reads.
 */
public final class HistoryFile {

    private final String worker;
    private final Path file;
    private long readTo;

    /** The history of this worker in this directory. */
    public HistoryFile(Path directory, String worker) {
        this.worker = worker;
        this.file = directory.resolve(worker + ".history");
    }

    /** Appends an event of this worker. */
    public void append(long atNanos, HistoryEvent.Kind kind, long fencingToken, long validUntilNanos, long counter)
            throws IOException {
        append(new HistoryEvent(worker, atNanos, kind, fencingToken, validUntilNanos, counter, HistoryEvent.NO_DETAIL));
    }

    /** Appends an event, which must be of this worker. */
    public synchronized void append(HistoryEvent event) throws IOException {
        byte[] line = (event.line() + "\n").getBytes(StandardCharsets.US_ASCII);
        Files.write(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** The events since the last call; an unfinished line is left for the next call. */
    public List<HistoryEvent> readNew() throws IOException {
        if (!Files.exists(file)) {
            return List.of();
        }
        byte[] bytes;
        try (RandomAccessFile opened = new RandomAccessFile(file.toFile(), "r")) {
            bytes = new byte[Math.toIntExact(opened.length() - readTo)];
            opened.seek(readTo);
            opened.readFully(bytes);
        }
        List<HistoryEvent> events = new ArrayList<>();
        int from = 0;
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] == '\n') {
                String line = new String(bytes, from, i - from, StandardCharsets.US_ASCII);
                HistoryEvent.parse(worker, line).ifPresent(events::add);
                from = i + 1;
            }
        }
        readTo += from;
        return events;
    }
}
