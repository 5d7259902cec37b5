package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Tests of waiters that leave, in any way and at any moment: the store keeps nothing of them, and serves the next
 * caller.
 */
public interface LeavingTck extends SharesFront {

    /** The moment at which the waiter leaves. */
    enum Moment {
        /** Its request has not reached the store. */
        BEFORE_ITS_REQUEST_IS_SENT,
        /** The store has its request, and the waiter has no reply. */
        BETWEEN_REQUEST_AND_REPLY,
        /** It waits, and the store knows it. */
        AFTER_ITS_PLACE_IS_KNOWN,
        /** The lock became free, and the notification is on its way. */
        WHILE_IT_IS_TOLD
    }

    /** A waiter that can be made to leave. */
    interface Leaver {
        /** Begins to wait. */
        void begin() throws InterruptedException;

        /** Leaves; returns when it has said so, at the latest. */
        void leave() throws InterruptedException;

        /** Whether it can tell the store. Of one that is killed something may stay there until its turn has come and gone. */
        default boolean canTell() {
            return true;
        }
    }

    /** The time until a request that can be sent has been. */
    Duration SENT = Duration.ofMillis(60);

    /** The time for which the place of a waiter that left may stay; its own time at the store is much longer, or, after a kill, shorter. */
    Duration FORGOTTEN = Duration.ofSeconds(20);

    /** Its own polls are too far apart to hide an entry that was left behind. */
    private static LockOptions patient(LockOptions options) {
        return options.ttl(TckBench.LONG_TTL).recheck(TckBench.LONG_TTL);
    }

    /** By cancelling its future. */
    @Test
    default void whoCancelsLeavesNothing(TckBench bench) throws InterruptedException {
        for (Moment moment : Moment.values()) {
            StoreFront front = bench.front();
            LockClient client = bench.clientThrough(front, LeavingTck::patient);
            LockName name = nameOf(bench, moment);
            leaves(bench, front, moment, name, new Leaver() {
                private @Nullable CompletableFuture<Lease> waiting;

                @Override
                public void begin() {
                    waiting = client.named(name).acquireAsync();
                }

                @Override
                public void leave() {
                    if (waiting != null && !waiting.cancel(false) && !waiting.isCompletedExceptionally()) {
                        waiting.join().releaseAsync();
                    }
                }
            });
        }
    }

    /** By an interrupt. */
    @Test
    default void whoIsInterruptedLeavesNothing(TckBench bench) throws InterruptedException {
        for (Moment moment : Moment.values()) {
            StoreFront front = bench.front();
            LockClient client = bench.clientThrough(front, LeavingTck::patient);
            LockName name = nameOf(bench, moment);
            TaskErrors errors = new TaskErrors();
            Thread[] waiter = new Thread[1];
            leaves(bench, front, moment, name, new Leaver() {
                @Override
                public void begin() {
                    waiter[0] = errors.start("waiter", () -> {
                        try {
                            client.named(name).acquire().release();
                        } catch (InterruptedException left) {
                            return;
                        }
                    });
                }

                @Override
                public void leave() {
                    waiter[0].interrupt();
                }
            });
            errors.join(List.of(waiter[0]));
        }
    }

    /** By the end of its patience. */
    @Test
    default void whoseTimeIsOverLeavesNothing(TckBench bench) throws InterruptedException {
        for (Moment moment : Moment.values()) {
            StoreFront front = bench.front();
            LockClient client = bench.clientThrough(front, LeavingTck::patient);
            LockName name = nameOf(bench, moment);
            leaves(bench, front, moment, name, new Leaver() {
                private @Nullable CompletableFuture<Void> waiting;

                @Override
                public void begin() {
                    waiting = client.named(name)
                            .attemptAsync(SENT.multipliedBy(moment == Moment.AFTER_ITS_PLACE_IS_KNOWN ? 3 : 4))
                            .thenAccept(attempt -> {
                                if (attempt instanceof io.leasehold.Attempt.Acquired<Lease> acquired) {
                                    acquired.lease().releaseAsync();
                                }
                            });
                }

                @Override
                public void leave() {
                    if (waiting != null) {
                        waiting.exceptionally(failed -> null).join();
                    }
                }
            });
        }
    }

    /** By the close of its client. */
    @Test
    default void whoseClientIsClosedLeavesNothing(TckBench bench) throws InterruptedException {
        for (Moment moment : Moment.values()) {
            StoreFront front = bench.front();
            LockClient client = bench.clientThrough(front, LeavingTck::patient);
            LockName name = nameOf(bench, moment);
            leaves(bench, front, moment, name, new Leaver() {
                @Override
                public void begin() {
                    client.named(name).acquireAsync();
                }

                @Override
                public void leave() {
                    client.close();
                }
            });
        }
    }

    private static LockName nameOf(TckBench bench, Moment moment) {
        return bench.name(moment.name().toLowerCase(Locale.ROOT));
    }

    /** Brings a waiter to this moment, lets it leave, and then checks the entries at the store. */
    static void leaves(TckBench bench, StoreFront front, Moment moment, LockName name, Leaver leaver)
            throws InterruptedException {
        LockClient holder = bench.client(options -> options.ttl(TckBench.LONG_TTL));
        Lease held = holder.named(name).acquire();
        CompletableFuture<ReleaseOutcome> released = null;
        List<String> before = settled(bench, name);
        if (moment == Moment.BEFORE_ITS_REQUEST_IS_SENT) {
            front.holdRequests();
        } else if (moment == Moment.BETWEEN_REQUEST_AND_REPLY) {
            front.holdReplies();
        }
        leaver.begin();
        TckBench.sleepUntil(System.nanoTime(), SENT.multipliedBy(2));
        if (moment == Moment.WHILE_IT_IS_TOLD) {
            front.holdReplies();
            released = held.releaseAsync();
            TckBench.sleepUntil(System.nanoTime(), SENT);
        }
        TaskErrors errors = new TaskErrors();
        Thread leaving = errors.start("leaving", leaver::leave);
        TckBench.sleepUntil(System.nanoTime(), SENT);
        front.resume();
        errors.join(List.of(leaving));
        if (released == null) {
            if (leaver.canTell()) {
                keepsOnly(bench, name, before);
            }
            released = held.releaseAsync();
        }
        // A store that answers late on a busy machine must not be taken for one that fails.
        LockClient after = bench.client(options -> options.nodeTimeout(Duration.ofSeconds(8)));
        Lease next = TckBench.join(after.named(name).acquireAsync());
        assertEquals(ReleaseOutcome.RELEASED, TckBench.join(released));
        next.release();
        keepsOnly(bench, name, List.of());
    }

    /** The state that stays: a lock is held by a quorum before the last of the nodes has answered. */
    private static List<String> settled(TckBench bench, LockName name) throws InterruptedException {
        List<String> kept = bench.kept(name);
        List<String> before;
        do {
            before = kept;
            TckBench.sleepUntil(System.nanoTime(), SENT);
            kept = bench.kept(name);
        } while (!kept.equals(before));
        return kept;
    }

    private static void keepsOnly(TckBench bench, LockName name, List<String> expected) {
        long start = System.nanoTime();
        List<String> kept = bench.kept(name);
        while (!kept.equals(expected) && System.nanoTime() - start < FORGOTTEN.toNanos()) {
            TckBench.sleepUntil(System.nanoTime(), Duration.ofMillis(5));
            kept = bench.kept(name);
        }
        assertEquals(
                expected,
                kept,
                () -> "what the store keeps of \"" + name + "\" " + FORGOTTEN.toSeconds()
                        + " s after a waiter has left");
    }
}
