package io.leasehold.simulator.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.simulator.history.HistoryEvent.Access;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("quick")
final class HistoryFileTest {

    private static final List<HistoryEvent> EVENTS = List.of(
            new HistoryEvent.Acquired(5, "p 1", "a lock = {ü}\n€", 9007199254740991L, 77),
            new HistoryEvent.Extended(6, "p 1", "a lock = {ü}\n€", 9007199254740991L, 99),
            new HistoryEvent.Ended(7, "p 1", "a lock = {ü}\n€", 9007199254740991L, "LOST (EXPIRED)"),
            new HistoryEvent.Forced(7, "an operator", "a lock = {ü}\n€"),
            new HistoryEvent.Accessed(8, "r", "naive", Access.READ, 3, 17, true),
            new HistoryEvent.Accessed(9, "r", "naive", Access.WRITE, 3, 18, false));

    @TempDir
    Path directory;

    @Test
    void whatIsWrittenIsRead() {
        Path path = directory.resolve("one.history");
        try (HistoryFile file = HistoryFile.append(path)) {
            EVENTS.forEach(file::add);
        }
        assertThat(History.read(List.of(path)).events()).isEqualTo(EVENTS);
    }

    @Test
    void filesAreMergedByTime() {
        Path even = directory.resolve("even.history");
        Path odd = directory.resolve("odd.history");
        try (HistoryFile first = HistoryFile.append(even);
                HistoryFile second = HistoryFile.append(odd)) {
            for (HistoryEvent event : EVENTS) {
                (event.atNanos() % 2 == 0 ? first : second).add(event);
            }
        }
        assertThat(History.read(List.of(odd, even)).events()).isEqualTo(EVENTS);
    }

    @Test
    void aTornLastLineIsLeftOut() throws IOException {
        Path path = directory.resolve("torn.history");
        try (HistoryFile file = HistoryFile.append(path)) {
            EVENTS.forEach(file::add);
        }
        Files.writeString(path, "acquired at=12 by=p%201 lo", StandardOpenOption.APPEND);
        assertThat(History.read(List.of(path)).events()).isEqualTo(EVENTS);
    }

    @Test
    void aBrokenLineIsNamed() throws IOException {
        Path path = directory.resolve("broken.history");
        Files.writeString(path, "ended at=1 by=p lock=l token=1 how=x\nacquired at=x by=p lock=l token=1 until=2\n");
        assertThatThrownBy(() -> History.read(List.of(path)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("broken.history, line 2")
                .hasMessageContaining("at=x is no number");
    }
}
