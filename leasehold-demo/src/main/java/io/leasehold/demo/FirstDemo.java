package io.leasehold.demo;

import io.leasehold.cli.output.Terminal;
import io.leasehold.demo.history.Histories;
import io.leasehold.demo.history.HistoryEvent;
import io.leasehold.demo.history.HistoryVerdict;
import io.leasehold.servers.RedisServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * {@code demo first}: processes compete for one lock, its holder is killed, and another takes over when the dead holder's
 * lease has ended. This class directs and observes; the verdict comes from the histories alone. For one thread.
 */
public final class FirstDemo {

    /** Far longer than any step on a busy machine. */
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private static final long POLL_MILLIS = 20;
    private static final long SIGNAL_MILLIS = 300;
    /** The delay with which events are shown, so that those of several files appear in order. */
    private static final long SETTLE_NANOS = 60_000_000;

    private final DemoSettings settings;
    private final Timeline timeline;
    private final List<String> names = new ArrayList<>();
    private final List<WorkerProcess> workers = new ArrayList<>();
    private final List<HistoryEvent> unsettled = new ArrayList<>();
    private final Map<String, HistoryEvent> last = new HashMap<>();
    private final Map<String, Integer> incrementsInTurn = new HashMap<>();
    private final Set<String> losersInTurn = new HashSet<>();
    private long counter;
    private int turns;
    private @Nullable Death death;

    /** The killed holder. */
    private record Death(String worker, long atNanos, long validUntilNanos, int turnsBefore) {}

    /** Creates a demonstration with these settings and this output. */
    public FirstDemo(DemoSettings settings, Terminal terminal, Map<String, String> environment)
            throws InterruptedException {
        this.settings = settings;
        for (int i = 1; i <= settings.workers(); i++) {
            names.add("w" + i);
        }
        this.timeline = new Timeline(terminal, Colours.wanted(environment), names);
    }

    /**
     * Plays it.
     *
     * @return whether the histories prove that the lock kept its promise
     * @throws DemoFailure if it could not be completed
     */
    public boolean play() throws DemoFailure, IOException, InterruptedException {
        try (Stage stage = Stage.open()) {
            try {
                introduce();
                start(stage);
                fight();
                return judge(stage);
            } catch (DemoFailure | IOException | RuntimeException e) {
                // Ctrl-C in a terminal reaches the workers, too, perhaps before this process has begun to end.
                Thread.sleep(SIGNAL_MILLIS);
                if (stage.isCleared()) {
                    Thread.sleep(Long.MAX_VALUE);
                }
                throw e;
            }
        }
    }

    private void introduce() {
        timeline.text(
                Ink.BOLD,
                settings.workers()
                        + " processes want to add 1 to the same file: read the number, pause, write it back.");
        if (settings.withLock()) {
            timeline.text(
                    Ink.PLAIN,
                    "A lock in Redis lets one at a time in. It is a lease of "
                            + settings.ttl().toSeconds() + " s, renewed while its holder lives.");
        } else {
            timeline.text(Ink.YELLOW, "This time WITHOUT the lock: all processes come in at once. Watch the number.");
        }
    }

    private void start(Stage stage) throws DemoFailure, IOException, InterruptedException {
        RedisServer redis = stage.startRedis();
        timeline.text(Ink.DIM, "Started: Redis " + redis.version() + " on 127.0.0.1:" + redis.port());
        for (String name : names) {
            workers.add(stage.startWorker(name, redis.uri(), settings));
        }
        StringBuilder pids = new StringBuilder("Processes:");
        workers.forEach(worker ->
                pids.append(' ').append(worker.name()).append(" = pid ").append(worker.pid()));
        timeline.text(Ink.DIM, pids.toString());
        String legend = settings.withLock() ? "███ holds the lock   · waits for it   ✗ dead" : "███ at work   ✗ dead";
        timeline.text(Ink.DIM, legend);
        await("all processes to be ready", () -> last.size() == workers.size());
        timeline.begin(System.nanoTime());
        tellAll(WorkerControl.GO);
    }

    private void fight() throws DemoFailure, IOException, InterruptedException {
        await("the first turns", () -> turns >= settings.turnsBeforeKill());
        tellAll(WorkerControl.KEEP);
        await("a holder to kill", () -> keeper() != null);
        WorkerProcess victim = keeper();
        if (victim == null) {
            throw new IllegalStateException("the holder has gone");
        }
        killHolder(victim);
        tellAll(WorkerControl.SHARE);
        int before = turns;
        await("the turns after the kill", () -> turns >= before + settings.turnsAfterKill());
        tellAll(WorkerControl.STOP);
        for (WorkerProcess worker : workers) {
            worker.awaitEnd(PATIENCE.toSeconds());
        }
        Thread.sleep(Duration.ofNanos(SETTLE_NANOS).toMillis() + 1);
        follow();
    }

    /** A holder beyond its turn: it keeps the lock, as instructed, and cannot be releasing it now. */
    private @Nullable WorkerProcess keeper() {
        for (WorkerProcess worker : workers) {
            if (incrementsInTurn.getOrDefault(worker.name(), 0) > settings.incrementsPerTurn()) {
                return worker;
            }
        }
        return null;
    }

    private void killHolder(WorkerProcess victim) throws IOException, InterruptedException, DemoFailure {
        victim.kill();
        long atNanos = System.nanoTime();
        Thread.sleep(Duration.ofNanos(SETTLE_NANOS).toMillis() + 1);
        follow();
        HistoryEvent lastWord = last.get(victim.name());
        if (lastWord == null || !lastWord.holds()) {
            throw new DemoFailure("process " + victim.name() + " lost the lock before it could be killed as its holder;"
                    + " this machine is too busy: try again");
        }
        timeline.dies(victim.name());
        timeline.line(
                atNanos,
                Ink.RED,
                victim.name() + " KILLED (SIGKILL) "
                        + (settings.withLock()
                                ? "while it holds the lock, and cannot release it"
                                : "in the middle of its work"));
        death = new Death(victim.name(), atNanos, lastWord.validUntilNanos(), turns);
        if (settings.withLock()) {
            timeline.line(
                    atNanos,
                    Ink.YELLOW,
                    "its lease runs for " + seconds(lastWord.validUntilNanos() - atNanos) + " or more; "
                            + words(timeline.waiting()) + " must wait");
        }
    }

    private boolean judge(Stage stage) throws IOException {
        HistoryVerdict verdict = Histories.judge(stage.directory(), names);
        new VerdictView(timeline).show(verdict, HistoryVerdict.ALL, "", names.size());
        boolean held = verdict.held(HistoryVerdict.ALL);
        if (held) {
            timeline.text(Ink.GREEN, "HELD: one holder at a time, also when one died holding the lock.");
            timeline.text(Ink.DIM, "Now see it without: leasehold demo --without-lock");
        } else if (settings.withLock()) {
            timeline.text(Ink.RED, "VIOLATED: the lock did not keep its promise.");
        } else {
            timeline.text(Ink.RED, "VIOLATED, as it must be without a lock. With it: leasehold demo");
        }
        return held;
    }

    private void tellAll(String word) {
        for (WorkerProcess worker : workers) {
            if (!worker.isKilled()) {
                worker.tell(word);
            }
        }
    }

    /** A condition to wait for. */
    private interface Condition {
        boolean holds();
    }

    private void await(String what, Condition condition) throws DemoFailure, IOException, InterruptedException {
        long sinceNanos = System.nanoTime();
        while (!condition.holds()) {
            if (System.nanoTime() - sinceNanos > PATIENCE.toNanos()) {
                throw new DemoFailure("waited in vain for " + what + ", for " + PATIENCE.toSeconds() + " s");
            }
            for (WorkerProcess worker : workers) {
                worker.requireAlive();
            }
            Thread.sleep(POLL_MILLIS);
            follow();
            countDown();
        }
    }

    private void countDown() {
        Death dead = death;
        if (dead != null && settings.withLock() && turns == dead.turnsBefore()) {
            long leftNanos = Math.max(0, dead.validUntilNanos() - System.nanoTime());
            timeline.passing(
                    String.format(Locale.ROOT, "          waiting for its lease to end: %.1f s", leftNanos / 1e9));
        }
    }

    /** Shows new events. */
    private void follow() throws IOException {
        for (WorkerProcess worker : workers) {
            unsettled.addAll(worker.history().readNew());
        }
        unsettled.sort(HistoryEvent::byTime);
        long settledNanos = System.nanoTime() - SETTLE_NANOS;
        while (!unsettled.isEmpty() && unsettled.get(0).atNanos() - settledNanos < 0) {
            HistoryEvent event = unsettled.remove(0);
            show(event, last.put(event.worker(), event));
        }
    }

    private void show(HistoryEvent event, @Nullable HistoryEvent before) {
        String worker = event.worker();
        switch (event.kind()) {
            case READY, WRITING, REJECTED, LOCKED_OUT -> {}
            case WAITING -> timeline.waits(worker);
            case ACQUIRED -> {
                timeline.holds(worker);
                incrementsInTurn.put(worker, 0);
                losersInTurn.remove(worker);
                turns++;
                showAcquired(event, before);
            }
            case INCREMENTED -> {
                incrementsInTurn.merge(worker, 1, Integer::sum);
                showLoss(event);
                counter = event.counter();
            }
            case RELEASED -> {
                timeline.leaves(worker);
                incrementsInTurn.put(worker, 0);
                timeline.line(event.atNanos(), Ink.DIM, worker + " is done; the number is " + counter);
            }
            case LOST -> {
                timeline.leaves(worker);
                incrementsInTurn.put(worker, 0);
                timeline.line(event.atNanos(), Ink.YELLOW, worker + " was too slow for its lease, and stopped in time");
            }
        }
    }

    /** One loss per turn is shown; the verdict counts all of them. */
    private void showLoss(HistoryEvent event) {
        if (event.counter() <= counter && losersInTurn.add(event.worker())) {
            String over = event.worker() + " writes " + event.counter() + " over " + counter;
            timeline.line(event.atNanos(), Ink.RED, over + ": an update is lost");
        }
    }

    private void showAcquired(HistoryEvent event, @Nullable HistoryEvent before) {
        String worker = event.worker();
        if (!settings.withLock()) {
            long others = timeline.holders() - 1;
            String company = others == 0 ? "" : ", and " + others + " more " + (others == 1 ? "is" : "are") + " at it";
            timeline.line(event.atNanos(), others == 0 ? Ink.PLAIN : Ink.YELLOW, worker + " is at work" + company);
            return;
        }
        Death dead = death;
        if (dead != null && turns == dead.turnsBefore() + 1) {
            timeline.line(event.atNanos(), Ink.GREEN, worker + " TAKES OVER, token " + event.fencingToken());
            timeline.line(
                    event.atNanos(),
                    Ink.GREEN,
                    "waited " + seconds(event.atNanos() - dead.atNanos())
                            + ": the dead holder's lease had to end first");
            return;
        }
        String waited = before == null ? "" : " after " + seconds(event.atNanos() - before.atNanos());
        timeline.line(
                event.atNanos(), Ink.PLAIN, worker + " holds the lock" + waited + ", token " + event.fencingToken());
    }

    private static String words(List<String> names) {
        return names.isEmpty() ? "the others" : String.join(", ", names);
    }

    private static String seconds(long nanos) {
        return HistoryVerdict.seconds(nanos);
    }
}
