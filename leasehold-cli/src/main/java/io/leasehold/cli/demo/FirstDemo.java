package io.leasehold.cli.demo;

import io.leasehold.cli.demo.HistoryEvent.Kind;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Several processes fight for one lock on a real server; one that holds it is killed; another takes over when its lease
 * ends. What happens is shown while it happens, and judged afterwards by the history alone.
 */
public final class FirstDemo {

    static final String HISTORY = "history.txt";
    static final String COUNTER = "counter.txt";

    private static final int WORKERS = 4;
    private static final int SECTIONS_BEFORE_THE_KILL = 6;
    private static final int SECTIONS_AFTER_THE_TAKEOVER = 4;
    private static final long POLL_MILLIS = 10;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Path directory;
    private final boolean withLock;
    private final DemoScreen screen;
    private final HistoryFile history;
    private int shown;

    /** A demonstration whose files are to be in this directory. */
    public FirstDemo(Path directory, boolean withLock, DemoScreen screen) {
        this.directory = directory;
        this.withLock = withLock;
        this.screen = screen;
        this.history = new HistoryFile(directory.resolve(HISTORY));
    }

    /** The file that the verdict comes from. */
    public Path history() {
        return history.path();
    }

    /** Lets it happen. */
    public void play() throws IOException, InterruptedException {
        if (!withLock) {
            screen.headline(WORKERS + " processes, one counter in a file, no lock.");
            play(null);
            return;
        }
        try (RedisServer redis = RedisServer.start()) {
            screen.headline(WORKERS + " processes, one counter in a file, one lock on " + redis + ", leases of "
                    + DemoWorker.TTL.toSeconds() + " s.");
            play(redis.uri());
        }
    }

    private void play(@Nullable String store) throws IOException, InterruptedException {
        List<WorkerProcess> workers = new ArrayList<>();
        try {
            for (int number = 1; number <= WORKERS; number++) {
                workers.add(WorkerProcess.start(number, directory, store));
            }
            fight(workers);
        } finally {
            workers.forEach(WorkerProcess::tell);
            workers.forEach(WorkerProcess::close);
        }
        show();
    }

    private void fight(List<WorkerProcess> workers) throws IOException, InterruptedException {
        await(workers, events -> count(events, Kind.LEAVES) >= SECTIONS_BEFORE_THE_KILL);
        List<HistoryEvent> before = history.read();
        int entries = count(before, Kind.ENTERS);
        await(workers, events -> count(events, Kind.ENTERS) > entries);
        HistoryEvent holder = lastEntry(history.read());
        WorkerProcess victim = workers.get(holder.worker() - 1);
        victim.kill();
        history.append(new HistoryEvent(System.nanoTime(), victim.number(), Kind.KILLED, holder.token(), 0));
        int entriesAtKill = count(history.read(), Kind.ENTERS);
        await(workers, events -> count(events, Kind.ENTERS) > entriesAtKill);
        int leavesAtTakeover = count(history.read(), Kind.LEAVES);
        await(workers, events -> count(events, Kind.LEAVES) >= leavesAtTakeover + SECTIONS_AFTER_THE_TAKEOVER);
    }

    /** Shows what happens until something has happened, or it takes too long. */
    private void await(List<WorkerProcess> workers, Predicate<List<HistoryEvent>> happened)
            throws IOException, InterruptedException {
        long startedAtNanos = System.nanoTime();
        while (!happened.test(show())) {
            if (System.nanoTime() - startedAtNanos > PATIENCE_NANOS
                    || workers.stream().noneMatch(WorkerProcess::isAlive)) {
                throw new IOException("the workers have stopped working; what they said is in " + directory);
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
    }

    private List<HistoryEvent> show() throws IOException {
        List<HistoryEvent> events = history.read();
        screen.show(events, shown);
        shown = events.size();
        return events;
    }

    private static HistoryEvent lastEntry(List<HistoryEvent> events) {
        HistoryEvent last = events.get(0);
        for (HistoryEvent event : events) {
            if (event.kind() == Kind.ENTERS) {
                last = event;
            }
        }
        return last;
    }

    private static int count(List<HistoryEvent> events, Kind kind) {
        return (int) events.stream().filter(event -> event.kind() == kind).count();
    }

    /** Judges the history that was written. */
    public boolean judge() throws IOException {
        return judge(history.path(), screen);
    }

    /** Judges any history of a demonstration; whether it is good. */
    public static boolean judge(Path file, DemoScreen screen) throws IOException {
        HistoryVerdict verdict = HistoryVerdict.of(new HistoryFile(file).read());
        screen.show(verdict, file);
        return verdict.good();
    }
}
