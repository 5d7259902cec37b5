package io.leasehold.engine;

import io.leasehold.DistributedLock;
import io.leasehold.Guarantees;
import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLease;
import io.leasehold.MultiLock;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.LockAdmin;
import io.leasehold.spi.Grant;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client: wires the parts together, and ends them in order. */
public final class EngineClient implements LockClient {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(5);
    private static final long QUIET_CHECK_NANOS = 2_000_000;

    private final EngineContext wiring;
    private final Workers workers;
    private final WaitSettings defaults;
    private final LocalQueues desks;
    private final ReentrantHolds reentrantHolds = new ReentrantHolds();
    /** Attempts on several locks that are not over. */
    private final Set<MultiAcquire> several = ConcurrentHashMap.newKeySet();
    /** Calls that have looked whether the client is closed, and whose attempt may not be at a desk yet. */
    private final AtomicInteger entering = new AtomicInteger();

    private final CompletableFuture<Void> quiet = new CompletableFuture<>();
    private final CloseEnds closeEnds = new CloseEnds();
    private volatile boolean closing;
    private volatile @Nullable Thread closer;
    private volatile LockRuntime.Timer exit = () -> {};

    /**
     * A client of the store, which it owns from now on, as it owns the runtime.
     *
     * @param workers where the work of {@code holdWhile} runs; null for the runtime's own threads
     */
    public EngineClient(
            LockRuntime runtime,
            LockStore store,
            LockOptions defaults,
            String label,
            List<LockListener> listeners,
            boolean withAcquisitionStacks,
            @Nullable Executor workers) {
        this.workers = Workers.of(runtime, workers);
        this.defaults = WaitSettings.of(accepted(defaults, store), store);
        TimerQueue timeline = new TimerQueue(runtime);
        this.desks = new LocalQueues(timeline);
        HoldTable holds = new HoldTable();
        String holderId = HolderId.of(runtime, label);
        this.wiring = new EngineContext(
                runtime,
                timeline,
                store,
                new Events(listeners),
                new ReleaseRetrier(runtime, timeline, store),
                new RenewalBatcher(runtime, timeline, store),
                holds,
                new SuspendWatch(runtime, timeline, holds),
                new LeakWatch(withAcquisitionStacks),
                new ClientAnnouncer(runtime, timeline, store, holds, holderId),
                holderId);
        store.listen(new Ear());
    }

    /** What the store pushes. */
    private final class Ear implements StoreSignals {
        @Override
        public void wake(LockName name) {
            desks.wake(name);
        }

        @Override
        public void handedOver(HandOver handOver) {
            desks.handedOver(handOver);
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            wiring.holds().find(owner).forEach(grant -> grant.takenAway(cause));
        }

        @Override
        public void takenAway(LockName name) {
            HeldGrant held = desks.held(name);
            if (held != null) {
                held.suspectTakenAway();
            }
        }

        @Override
        public void suspended(OwnerToken owner) {
            wiring.holds().find(owner).forEach(HeldGrant::contactLost);
        }

        @Override
        public void reconnected() {
            wiring.undoer().reconnected();
            desks.wakeAll();
        }

        @Override
        public void nodeChanged(LockListener.NodeChanged event) {
            wiring.events().tell(listener -> listener.nodeChanged(event));
        }
    }

    private static LockOptions accepted(LockOptions options, LockStore store) {
        Duration told = options.ttl().plus(options.lockDelay());
        if (told.compareTo(store.maxTtl()) > 0) {
            String what = options.lockDelay().isZero() ? "" : " with a lock delay of " + options.lockDelay();
            throw new UnsafeStoreException(
                    "ttl " + options.ttl() + what + " is above the largest that " + store.description() + " accepts: "
                            + store.maxTtl() + " (LockClient.maxTtl())",
                    null);
        }
        return options;
    }

    AcquireAttempt enter(LockName name, WaitSettings settings, long maxWaitNanos) {
        return enter(name, settings, maxWaitNanos, wiring.leaks().askedHere());
    }

    /** As part of what was asked for there, if that is remembered. */
    AcquireAttempt enter(LockName name, WaitSettings settings, long maxWaitNanos, @Nullable Throwable asked) {
        accepted(settings.options(), wiring.store());
        return entering(() -> {
            AcquireAttempt waiter = new AcquireAttempt(name, settings, maxWaitNanos, wiring, desks, asked);
            try {
                desks.enter(waiter);
            } catch (RuntimeException | Error e) {
                // Its caller is told of that, and nobody of its result: it must not stay in line.
                waiter.giveUp();
                throw e;
            }
            if (closing) {
                // close() may have looked before this waiter came.
                waiter.clientClosing();
            }
            return waiter;
        });
    }

    Pending<MultiLease> enterAll(List<LockName> names, WaitSettings settings, long maxWaitNanos) {
        accepted(settings.options(), wiring.store());
        return entering(() -> {
            MultiAcquire waiter = new MultiAcquire(
                    names, settings, maxWaitNanos, this, wiring, wiring.leaks().askedHere());
            several.add(waiter);
            try {
                waiter.start();
            } catch (RuntimeException | Error e) {
                waiter.giveUp();
                throw e;
            }
            settled(waiter);
            if (closing) {
                waiter.clientClosing();
            }
            return waiter;
        });
    }

    /** Begins an attempt, unless the client is closed; close() waits until it can see it. */
    private <T> T entering(Supplier<T> begin) {
        entering.incrementAndGet();
        try {
            if (closing) {
                throw new IllegalStateException("lock client for " + storeDescription() + " is closed");
            }
            return begin.get();
        } finally {
            entering.decrementAndGet();
        }
    }

    /** Something of this attempt has ended, perhaps the last of it. */
    void settled(MultiAcquire waiter) {
        if (waiter.isOver()) {
            several.remove(waiter);
        }
    }

    /** Keeps a grant that was not obtained through a desk. */
    Lease keep(LockName name, Grant grant, WaitSettings settings, long mark, @Nullable Throwable asked) {
        HeldGrant keeper = new HeldGrant(name, grant, grant.tokens().last(), settings, wiring, desks);
        desks.granted(name, keeper, grant.tokens().last());
        try {
            return keeper.begin(mark, asked);
        } catch (RuntimeException | Error e) {
            keeper.endAtClose();
            throw e;
        }
    }

    /**
     * A thread that waits without limit for what it opened itself, and that is renewed, would wait for ever: unless another
     * thread releases it, which is taken to be possible once another thread has used the lease.
     */
    void refuseSelfWait(LockName name) {
        HeldGrant held = desks.held(name);
        if (held != null && held.waitsForEver(Thread.currentThread())) {
            throw new IllegalStateException("thread \"" + Thread.currentThread().getName() + "\" opened a lease on \""
                    + name + "\" and waits for it without limit: it would wait for itself. Release the lease first, use"
                    + " asReentrantLock(), or, if another thread is going to release it, wait with attempt(maxWait)");
        }
    }

    WaitSettings settings(LockOptions options) {
        return WaitSettings.of(options, wiring.store());
    }

    LockRuntime runtime() {
        return wiring.runtime();
    }

    Workers workers() {
        return workers;
    }

    CloseEnds closeEnds() {
        return closeEnds;
    }

    ReentrantHolds reentrantHolds() {
        return reentrantHolds;
    }

    @Override
    public DistributedLock named(LockName name) {
        return new NamedLock(Objects.requireNonNull(name, "name"), defaults, this);
    }

    @Override
    public MultiLock all(LockName... names) {
        if (names.length == 0) {
            throw new IllegalArgumentException("all() was given no lock name; it needs at least one");
        }
        return new NamedLocks(Arrays.asList(names), defaults, this);
    }

    @Override
    public LockAdmin admin() {
        return new EngineAdmin(wiring.runtime(), wiring.store(), defaults.options(), wiring.holderId());
    }

    @Override
    public Guarantees guarantees() {
        return wiring.store().guarantees();
    }

    @Override
    public Duration maxTtl() {
        return wiring.store().maxTtl();
    }

    @Override
    public String holderId() {
        return wiring.holderId();
    }

    @Override
    public String storeDescription() {
        return wiring.store().description();
    }

    @Override
    public void close() {
        close(CLOSE_PATIENCE);
    }

    @Override
    public void close(Duration patience) {
        Thread caller = Thread.currentThread();
        long patienceNanos = Timings.saturatedNanos(Objects.requireNonNull(patience, "patience"));
        boolean isFirst = true;
        try {
            isFirst = close(patienceNanos, grant -> grant.awaitsOtherThan(caller));
        } finally {
            // Also if the store could not be closed.
            if (isFirst) {
                exit.cancel();
            }
        }
        if (!isFirst && closer != caller) {
            awaitClosed(patienceNanos);
        }
    }

    /** From now on an orderly exit of the process closes this client, and waits for all holders that were told. */
    public EngineClient closedByExit(Duration atMost) {
        long patienceNanos = Timings.saturatedNanos(atMost);
        exit = wiring.runtime().onExit(() -> {
            if (!close(patienceNanos, HeldGrant::awaitsAnybody)) {
                awaitClosed(patienceNanos);
            }
        });
        return this;
    }

    /** Another thread closes the client: this one waits until it is closed. */
    private void awaitClosed(long patienceNanos) {
        if (closeEnds.isClosed()) {
            return;
        }
        CompletableFuture<Void> waited = new CompletableFuture<>();
        LockRuntime.Timer limit = wiring.runtime().schedule(patienceNanos, () -> waited.complete(null));
        Runnable forget = closeEnds.ends(waited);
        Futures.join(wiring.runtime(), waited);
        limit.cancel();
        forget.run();
    }

    /** Closes the client, unless that was begun before: false then. */
    private boolean close(long patienceNanos, Predicate<HeldGrant> isAwaited) {
        synchronized (quiet) {
            if (closing) {
                return false;
            }
            closing = true;
            closer = Thread.currentThread();
        }
        try {
            endEverything(patienceNanos, isAwaited);
        } finally {
            closer = null;
            closeEnds.closed();
        }
        return true;
    }

    /** Step by step, also if one of them fails: in the end the store is closed, and nobody waits for an answer. */
    private void endEverything(long patienceNanos, Predicate<HeldGrant> isAwaited) {
        endWaiting();
        List<HeldGrant> held = wiring.holds().all();
        held.forEach(grant -> Futures.guarded("telling a holder of the close", grant::clientClosing));
        Futures.guarded("the wait for holders", () -> awaitHolders(held, isAwaited, patienceNanos / 2));
        held.forEach(grant -> Futures.guarded("ending a lease at the close", grant::endAtClose));
        Futures.guarded("the wait for the last answers", () -> awaitQuiet(patienceNanos / 2));
        // The store waits for answers, too: the flag is put back when it has.
        boolean interrupted = Thread.interrupted();
        try {
            wiring.store().close();
        } finally {
            wiring.runtime().close();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void endWaiting() {
        several.forEach(waiter -> Futures.guarded("ending an attempt at the close", waiter::clientClosing));
        // The last in line first: otherwise each that leaves would let the next one send a request.
        List<AcquireAttempt> waiting = desks.all();
        for (int i = waiting.size() - 1; i >= 0; i--) {
            Futures.guarded("ending an attempt at the close", waiting.get(i)::clientClosing);
        }
    }

    /** Holders in other threads were told: they may finish what they are in the middle of, for half of the patience. */
    private void awaitHolders(List<HeldGrant> held, Predicate<HeldGrant> isAwaited, long patienceNanos) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        checkHolders(held, isAwaited, wiring.runtime().nanoTime() + patienceNanos, over);
        Futures.join(wiring.runtime(), over);
    }

    private void checkHolders(
            List<HeldGrant> held, Predicate<HeldGrant> isAwaited, long untilAtNanos, CompletableFuture<Void> over) {
        try {
            boolean awaited = held.stream().anyMatch(isAwaited);
            if (!awaited || wiring.runtime().nanoTime() - untilAtNanos >= 0) {
                over.complete(null);
            } else {
                wiring.runtime().schedule(QUIET_CHECK_NANOS, () -> checkHolders(held, isAwaited, untilAtNanos, over));
            }
        } catch (RuntimeException | Error e) {
            // Without a next look nobody would end the wait.
            LOG.error("the holders of a lock client that closes are awaited no more", e);
            over.complete(null);
        }
    }

    private void awaitQuiet(long patienceNanos) {
        LockRuntime.Timer limit = wiring.runtime().schedule(patienceNanos, () -> quiet.complete(null));
        checkQuiet();
        Futures.join(wiring.runtime(), quiet);
        limit.cancel();
    }

    /** Completes {@link #quiet} once every reply that something could follow from has come. */
    private void checkQuiet() {
        boolean isOver = quiet.isDone();
        try {
            isOver |= isQuiet();
        } catch (RuntimeException | Error e) {
            LOG.error("a look at what a lock client that closes waits for has failed; the next one is made", e);
        }
        if (isOver) {
            quiet.complete(null);
        } else {
            // Without a next look the limit ends the wait.
            Futures.guarded(
                    "the wait for the last answers",
                    () -> wiring.runtime().schedule(QUIET_CHECK_NANOS, this::checkQuiet));
        }
    }

    /**
     * Whether nothing is under way. It is looked for in the order in which it moves: who enters is at a desk before it has
     * entered, a grant is among the holds before its attempt is over, and its end is noted when it is decided, and with the
     * undoer before that is forgotten.
     */
    private boolean isQuiet() {
        boolean noneAsks = entering.get() == 0 && desks.isEmpty() && several.isEmpty();
        endStragglers();
        boolean noneEnds = wiring.holds().isNoneEnding();
        return noneAsks && noneEnds && wiring.undoer().isIdle();
    }

    /**
     * Grants that came after close() had told the holders; those it told are not among the holds any more. And what an
     * error has kept from being told.
     */
    private void endStragglers() {
        endWaiting();
        wiring.holds().all().forEach(grant -> {
            grant.clientClosing();
            grant.endAtClose();
        });
    }
}
