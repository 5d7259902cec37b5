package io.leasehold.demo.actor;

import io.leasehold.demo.history.HistoryEvent;
import io.leasehold.demo.history.HistoryEvent.Kind;
import io.leasehold.demo.history.HistoryFile;
import io.leasehold.fencing.StaleTokenException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Performs an actor's steps, and records each before its answer. For one thread. */
final class Part implements AutoCloseable {

    /** Far longer than any step on a busy machine. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String name;
    private final Words words;
    private @Nullable Scenery scenery;
    private ActorLock.@Nullable Hold hold;
    private CompletableFuture<String> loss = new CompletableFuture<>();
    private long value;
    private boolean armed;

    /** The state of an act. */
    private record Scenery(ActorLock lock, Guarded counter, HistoryFile history) {}

    Part(String name, Words words) {
        this.name = name;
        this.words = words;
    }

    /** Performs one step; returns the answer. */
    String play(String[] step) throws IOException, InterruptedException {
        return switch (step[0]) {
            case Words.ACT -> begin(Act.of(rest(step)));
            case Words.ACQUIRE -> acquire(Duration.ofMillis(Long.parseLong(step[1])));
            case Words.ARM -> {
                armed = true;
                yield Words.YES;
            }
            case Words.READ -> read();
            case Words.CHECK -> answer(hold().isValidFor(Duration.ofMillis(Long.parseLong(step[1]))), "");
            case Words.WRITE -> write();
            case Words.RELEASE -> release();
            case Words.HEAR -> hear();
            case Words.GIVE_UP -> {
                append(Kind.LOCKED_OUT, 0, HistoryEvent.NO_DETAIL);
                yield Words.YES;
            }
            case Words.WORK -> work(Integer.parseInt(step[1]));
            default -> throw new IllegalArgumentException("no such step: " + step[0]);
        };
    }

    private static String[] rest(String[] step) {
        String[] rest = new String[step.length - 1];
        System.arraycopy(step, 1, rest, 0, rest.length);
        return rest;
    }

    private String begin(Act act) throws IOException {
        close();
        Guarded counter = act.checking() ? Guarded.checking(act.directory()) : Guarded.naive(act.directory());
        scenery = new Scenery(act.open(name), counter, new HistoryFile(act.directory(), name));
        append(Kind.READY, 0, HistoryEvent.NO_DETAIL);
        return Words.YES;
    }

    private Scenery scenery() {
        if (scenery == null) {
            throw new IllegalStateException("no act has begun");
        }
        return scenery;
    }

    private ActorLock.Hold hold() {
        if (hold == null) {
            throw new IllegalStateException("the lock was never granted");
        }
        return hold;
    }

    private String acquire(Duration patience) throws IOException, InterruptedException {
        hold = null;
        append(Kind.WAITING, 0, HistoryEvent.NO_DETAIL);
        ActorLock.Answer answer = scenery().lock().acquire(patience, this::between);
        if (answer instanceof ActorLock.Denied denied) {
            return Words.DENIED + " " + denied.reason();
        }
        ActorLock.Hold granted = ((ActorLock.Granted) answer).hold();
        hold = granted;
        append(Kind.ACQUIRED, 0, HistoryEvent.NO_DETAIL);
        CompletableFuture<String> told = new CompletableFuture<>();
        loss = told;
        granted.onLost(cause -> {
            try {
                append(scenery().history(), granted, Kind.LOST, 0, cause);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } finally {
                told.complete(cause);
            }
        });
        return Words.ACQUIRED + " " + granted.fencingToken();
    }

    private void between(String done) throws InterruptedException {
        if (armed) {
            armed = false;
            words.say(Words.BETWEEN + " " + done);
            String told = words.next();
            if (!told.equals(Words.GO)) {
                throw new IllegalStateException("told to " + told + " between two steps");
            }
        }
    }

    private String read() throws IOException {
        try {
            value = scenery().counter().read(hold().fencingToken());
            return Words.YES + " " + value;
        } catch (StaleTokenException e) {
            return rejected(e);
        }
    }

    private String write() throws IOException {
        long next = value + 1;
        append(Kind.WRITING, next, HistoryEvent.NO_DETAIL);
        try {
            scenery().counter().write(hold().fencingToken(), next);
        } catch (StaleTokenException e) {
            return rejected(e);
        }
        append(Kind.INCREMENTED, next, HistoryEvent.NO_DETAIL);
        return Words.YES + " " + next;
    }

    private String rejected(StaleTokenException e) throws IOException {
        append(Kind.REJECTED, 0, HistoryEvent.NO_DETAIL);
        return Words.NO + " " + e.getMessage();
    }

    private String release() throws IOException, InterruptedException {
        append(Kind.RELEASED, 0, HistoryEvent.NO_DETAIL);
        return Words.YES + " " + hold().release(this::between);
    }

    private String hear() throws InterruptedException {
        try {
            return Words.YES + " " + loss.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            return Words.NO;
        }
    }

    /** Stops at the first failed turn; returns the number of turns and the slowest wait. */
    private String work(int turns) throws IOException, InterruptedException {
        long slowestNanos = 0;
        for (int done = 0; done < turns; done++) {
            long askedAtNanos = System.nanoTime();
            String acquired = acquire(PATIENCE);
            slowestNanos = Math.max(slowestNanos, System.nanoTime() - askedAtNanos);
            if (!acquired.startsWith(Words.ACQUIRED)) {
                return Words.NO + " after " + done + " turns: " + acquired;
            }
            if (read().startsWith(Words.YES) && hold().isValidFor(Duration.ofMillis(1))) {
                write();
            }
            release();
        }
        return Words.YES + " " + String.format(Locale.ROOT, "%.0f", slowestNanos / 1e6);
    }

    private static String answer(boolean yes, String more) {
        String word = yes ? Words.YES : Words.NO;
        return more.isEmpty() ? word : word + " " + more;
    }

    private void append(Kind kind, long counter, String detail) throws IOException {
        append(scenery().history(), hold, kind, counter, detail);
    }

    /** The time is read first, so that it never overstates the validity. */
    private void append(HistoryFile history, ActorLock.@Nullable Hold of, Kind kind, long counter, String detail)
            throws IOException {
        long atNanos = System.nanoTime();
        long token = of == null ? 0 : of.fencingToken();
        long validUntilNanos = of == null ? atNanos : atNanos + of.remainingNanos();
        history.append(new HistoryEvent(name, atNanos, kind, token, validUntilNanos, counter, detail));
    }

    @Override
    public void close() {
        hold = null;
        if (scenery != null) {
            scenery.lock().close();
        }
        scenery = null;
    }
}
