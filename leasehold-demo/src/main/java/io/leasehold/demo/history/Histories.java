package io.leasehold.demo.history;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The files that the workers of a demonstration have written. */
public final class Histories {

    private Histories() {}

    /** Judges what is in the files of these workers, and the counter, and nothing else. */
    public static HistoryVerdict judge(Path directory, List<String> workers) throws IOException {
        List<HistoryEvent> events = new ArrayList<>();
        for (String worker : workers) {
            events.addAll(new HistoryFile(directory, worker).readNew());
        }
        return HistoryVerdict.of(events, new CounterFile(directory).read());
    }
}
