package io.leasehold.cli.demo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;

/**
 * The file that all processes of a demonstration append to. One event is one line is one write, so that lines of several
 * processes never mix, and what a killed process wrote is there.
 */
final class HistoryFile {

    private final Path path;

    HistoryFile(Path path) {
        this.path = path;
    }

    Path path() {
        return path;
    }

    void append(HistoryEvent event) throws IOException {
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
            file.write(ByteBuffer.wrap((event.line() + "\n").getBytes(StandardCharsets.US_ASCII)));
        }
    }

    /** What is in it now, in the order of time; a line that is just being written is left out. */
    List<HistoryEvent> read() throws IOException {
        if (!Files.exists(path)) {
            return List.of();
        }
        String text = Files.readString(path, StandardCharsets.US_ASCII);
        return text.substring(0, text.lastIndexOf('\n') + 1)
                .lines()
                .map(HistoryEvent::parse)
                .sorted(Comparator.comparingLong(HistoryEvent::atNanos))
                .toList();
    }
}
