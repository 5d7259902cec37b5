package io.leasehold.engine;

import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One lease as the engine creates it, with a clock that stands still and callbacks that run in the submitting thread.
 */
final class HeldLease {

    static final LockName NAME = LockName.exactly("n");
    private static final OwnerToken OWNER = OwnerToken.fromHex("a".repeat(40));
    private static final WaitSettings SETTINGS = WaitSettings.of(LockOptions.defaults(), new AnsweringStore());

    final AnsweringStore store = new AnsweringStore();
    final LocalQueues queues;
    final HoldTable holds = new HoldTable();
    final EngineContext context;
    final HeldGrant keeper;
    LeaseHandle handle;
    final AtomicInteger told = new AtomicInteger();

    HeldLease() {
        this(NAME, true);
    }

    /** Creates a lease of a lock or of its readers, which has begun or not. */
    HeldLease(LockName name, boolean begun) {
        LockRuntime runtime = new Frozen();
        TimerQueue timeline = new TimerQueue(runtime);
        queues = new LocalQueues(timeline);
        context = new EngineContext(
                runtime,
                timeline,
                store,
                new Events(List.of()),
                new ReleaseRetrier(runtime, timeline, store),
                new RenewalBatcher(runtime, timeline, store),
                holds,
                new SuspendWatch(runtime, timeline, holds),
                new LeakWatch(false),
                new ClientAnnouncer(runtime, timeline, store, holds, "host/1/jcstress"),
                "host/1/jcstress");
        // A hold of readers has one token: it is never passed on.
        TokenRange tokens = TokenRange.of(1, name.isRead() ? 1 : 64);
        Grant grant = new Grant(OWNER, tokens, 0, Incarnation.DURABLE);
        keeper = new HeldGrant(name, grant, 0, tokens.last(), SETTINGS, context, queues);
        if (begun) {
            begin();
        }
    }

    void begin() {
        handle = keeper.begin(context.suspensions().mark(), null);
        handle.onLost(cause -> told.incrementAndGet());
    }

    /** Sends a signal of the store about the lock; it reaches the client's hold, if there is one. */
    void loseIfFound() {
        LocalQueues.Passable found = queues.held(NAME);
        if (found != null) {
            found.on(new GrantMachine.TakenAway(LossCause.NOT_OURS));
        }
    }

    /** Creates a waiter that uses a store of its own. */
    AcquireAttempt waiter(AnsweringStore asked) {
        EngineContext own = new EngineContext(
                context.runtime(),
                context.timeline(),
                asked,
                context.events(),
                context.retrier(),
                context.renewals(),
                context.holds(),
                context.suspensions(),
                context.leaks(),
                context.announcer(),
                context.holderId());
        return new AcquireAttempt(NAME, SETTINGS, Long.MAX_VALUE, own, queues, null);
    }

    void lose() {
        keeper.on(new GrantMachine.TakenAway(LossCause.NOT_OURS));
    }

    /** 1 released, 2 already lost, 3 unconfirmed, 0 not known yet. */
    int release() {
        return number(handle.state().release());
    }

    int outcome() {
        return number(handle.state().release());
    }

    static int number(CompletableFuture<ReleaseOutcome> release) {
        ReleaseOutcome outcome = release.getNow(null);
        return outcome == null ? 0 : outcome.ordinal() + 1;
    }

    /** Whether the client still has any state of it. */
    boolean isLeft() {
        return !holds.isEmpty() || !queues.isEmpty();
    }

    /** Time that stands still; timers never fire. */
    private static final class Frozen implements LockRuntime {
        @Override
        public long nanoTime() {
            return 0;
        }

        @Override
        public long wallMillis() {
            return 0;
        }

        @Override
        public Timer schedule(long delayNanos, Runnable task) {
            return () -> {};
        }

        @Override
        public void execute(Runnable task) {
            task.run();
        }

        @Override
        public void randomBytes(byte[] bytes) {}

        @Override
        public long randomBelow(long bound) {
            return 0;
        }

        @Override
        public void await(CompletableFuture<?> future) {
            future.join();
        }

        @Override
        public void close() {}
    }
}
