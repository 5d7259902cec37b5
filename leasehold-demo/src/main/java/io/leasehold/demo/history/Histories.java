package io.leasehold.demo.history;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The files of the workers of a demonstration. */
public final class Histories {

    private Histories() {}

    /** Judges only the files of these workers and the counter. */
    public static HistoryVerdict judge(Path directory, List<String> workers) throws IOException {
        List<HistoryEvent> events = new ArrayList<>();
        for (String worker : workers) {
            events.addAll(new HistoryFile(directory, worker).readNew());
        }
        return HistoryVerdict.of(events, new CounterFile(directory).read());
    }
}
