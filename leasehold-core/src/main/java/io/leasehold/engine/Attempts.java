package io.leasehold.engine;

import io.leasehold.Durations;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.MultiPermit;
import io.leasehold.Permit;
import io.leasehold.UnsafeStoreException;
import io.leasehold.WriteLease;
import io.leasehold.spi.Grant;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StorePermits;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of one client. It begins them unless the client is closed, and withdraws them when the client closes.
 * Safe for use by any thread.
 */
final class Attempts {

    private final EngineContext context;
    private final LocalQueues queues;
    private final Workers workers;
    private final ReentrantHolds reentrantHolds = new ReentrantHolds();
    /** Completes when the client is closed. */
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    /** The attempts on several locks or permits that are not over. */
    private final Set<PendingAttempt<?>> several = ConcurrentHashMap.newKeySet();
    /** The attempts to resume a lease that have not settled: a request of a withdrawn one may be in flight. */
    private final Set<ResumeAttempt> resumes = ConcurrentHashMap.newKeySet();

    private final SharedReads reads;
    private final UnansweredResumes unansweredResumes = new UnansweredResumes();
    /**
     * The number of calls that have checked whether the client is closed, and whose attempt may not be in a queue yet.
     */
    private final AtomicInteger entering = new AtomicInteger();

    private volatile boolean closing;

    Attempts(EngineContext context, LocalQueues queues, Workers workers) {
        this.context = context;
        this.queues = queues;
        this.workers = workers;
        this.reads = new SharedReads(context, queues);
    }

    EngineContext context() {
        return context;
    }

    Workers workers() {
        return workers;
    }

    CompletableFuture<Void> closed() {
        return closed;
    }

    ReentrantHolds reentrantHolds() {
        return reentrantHolds;
    }

    String storeDescription() {
        return context.store().description();
    }

    WaitSettings settings(LockOptions options) {
        return WaitSettings.of(options, context.store());
    }

    UnansweredResumes unansweredResumes() {
        return unansweredResumes;
    }

    static LockOptions accepted(LockOptions options, LockStore store) {
        Duration told = options.ttl().plus(options.lockDelay());
        if (told.compareTo(store.maxTtl()) > 0) {
            String what =
                    options.lockDelay().isZero() ? "" : " with a lock delay of " + Durations.text(options.lockDelay());
            throw new UnsafeStoreException(
                    "ttl " + Durations.text(options.ttl()) + what + " is above the largest that " + store.description()
                            + " accepts: " + Durations.text(store.maxTtl()) + " (LockClient.maxTtl())",
                    null);
        }
        return options;
    }

    /** Returns the refusal of a store that keeps no permits. */
    static UnsafeStoreException refused(LockName permits, LockStore store) {
        return new UnsafeStoreException(
                "permits \"" + permits + "\": " + store.description() + " does not keep permits; use a store that does,"
                        + " or one exclusive lock for each slot",
                null);
    }

    AcquireAttempt enter(LockName name, WaitSettings settings, long maxWaitNanos) {
        return enter(name, settings, maxWaitNanos, context.leaks().captureStack());
    }

    /** Enters an attempt with the stack of the caller, if stacks are recorded. */
    AcquireAttempt enter(LockName name, WaitSettings settings, long maxWaitNanos, @Nullable Throwable asked) {
        accepted(settings.options(), context.store());
        return begun(() -> new AcquireAttempt(name, settings, maxWaitNanos, context, queues, asked), queues::enter);
    }

    /**
     * Enters an attempt on permits.
     *
     * @throws UnsafeStoreException if the store does not keep permits
     */
    PendingAttempt<Permit> enterPermits(LockName name, WaitSettings settings, long maxWaitNanos) {
        requirePermits(name, settings);
        return formed(
                name,
                settings,
                maxWaitNanos,
                AttemptPart.WHOLE,
                (lease, attempt) -> new PermitHandle(lease, attempt.slots().get(0)));
    }

    private StorePermits requirePermits(LockName name, WaitSettings settings) {
        accepted(settings.options(), context.store());
        return context.store().permits().orElseThrow(() -> refused(name, context.store()));
    }

    /**
     * Enters an attempt on several permits at once.
     *
     * @throws UnsafeStoreException if the store does not keep permits
     */
    PendingAttempt<MultiPermit> enterPermits(LockName name, int number, WaitSettings settings, long maxWaitNanos) {
        if (requirePermits(name, settings).takesSeveral()) {
            AttemptPart all = new AttemptPart(null, () -> {}, false, number, false);
            return formed(
                    name,
                    settings,
                    maxWaitNanos,
                    all,
                    (lease, attempt) -> MultiPermitHandle.of(lease, attempt.slots()));
        }
        Throwable asked = context.leaks().captureStack();
        return begun(
                () -> new MultiPermitAttempt(name, number, settings, maxWaitNanos, this::enterPart, context, asked),
                attempt -> {
                    several.add(attempt);
                    attempt.result().whenComplete((end, error) -> several.remove(attempt));
                    attempt.start();
                });
    }

    /**
     * Enters a part of an attempt on several permits, which tells the listeners itself.
     *
     * @param repeated whether the attempt asks again if this part is busy
     */
    private AcquireAttempt enterPart(
            LockName name, WaitSettings settings, long maxWaitNanos, boolean repeated, @Nullable Throwable asked) {
        AttemptPart part = new AttemptPart(outcome -> {}, () -> {}, repeated, 1, true);
        return begun(
                () -> new AcquireAttempt(name, settings, maxWaitNanos, context, queues, asked, part), queues::enter);
    }

    /** Enters an attempt on an exclusive lock, whose lease can become that of a reader. */
    PendingAttempt<WriteLease> enterWrite(LockName name, WaitSettings settings, long maxWaitNanos) {
        accepted(settings.options(), context.store());
        return formed(
                name,
                settings,
                maxWaitNanos,
                AttemptPart.WHOLE,
                (lease, attempt) -> new WriteHandle(lease, this::downgrade));
    }

    /** Enters an attempt whose caller receives the lease in another form. */
    private <H extends Hold> PendingAttempt<H> formed(
            LockName name,
            WaitSettings settings,
            long maxWaitNanos,
            AttemptPart part,
            BiFunction<LeaseHandle, AcquireAttempt, H> form) {
        Throwable asked = context.leaks().captureStack();
        return begun(
                () -> new FormedAttempt<>(
                        new AcquireAttempt(name, settings, maxWaitNanos, context, queues, asked, part), form),
                attempt -> queues.enter(attempt.contender()));
    }

    /**
     * Enters an attempt on a read lease.
     *
     * @param readers the name of the readers
     * @throws UnsafeStoreException if the store does not keep readers
     */
    PendingAttempt<Lease> enterRead(LockName readers, WaitSettings settings, long maxWaitNanos) {
        accepted(settings.options(), context.store());
        LeaseDowngrade.requireReaders(readers, context.store());
        Throwable asked = context.leaks().captureStack();
        return begun(() -> new ReadAttempt(readers, settings, maxWaitNanos, context, asked), reads::enter);
    }

    PendingAttempt<MultiLease> enterAll(List<LockName> names, WaitSettings settings, long maxWaitNanos) {
        accepted(settings.options(), context.store());
        Throwable asked = context.leaks().captureStack();
        return begun(() -> new MultiAcquire(names, settings, maxWaitNanos, this, context, asked), attempt -> {
            several.add(attempt);
            attempt.start();
            settled(attempt);
        });
    }

    /** Begins to resume an exported lease. */
    PendingAttempt<Lease> resume(LeaseTicket ticket, WaitSettings settings, long maxWaitNanos) {
        LeaseExport.requireTickets(context.store(), "resume the lease on \"" + ticket.lockName() + "\"");
        accepted(settings.options(), context.store());
        Throwable asked = context.leaks().captureStack();
        return begun(() -> new ResumeAttempt(ticket, settings, maxWaitNanos, this, asked), attempt -> {
            resumes.add(attempt);
            attempt.start();
        });
    }

    /** Begins an attempt, unless the client is closed. A close waits until it can see the attempt. */
    private <A extends PendingAttempt<?>> A begun(Supplier<A> make, Consumer<A> start) {
        entering.incrementAndGet();
        try {
            requireOpen();
            A attempt = make.get();
            try {
                start.accept(attempt);
            } catch (RuntimeException | Error e) {
                // The caller receives this failure instead of a result: the attempt must not continue.
                attempt.giveUp();
                throw e;
            }
            if (closing) {
                // The close may have run its check before this attempt was visible.
                attempt.clientClosing();
            }
            return attempt;
        } finally {
            entering.decrementAndGet();
        }
    }

    /** Processes the end of a part of this attempt, perhaps of the last one. */
    void settled(MultiAcquire attempt) {
        if (attempt.isOver()) {
            several.remove(attempt);
        }
    }

    /** Processes the end of this attempt: no request of it is in flight, and none follows. */
    void settled(ResumeAttempt attempt) {
        resumes.remove(attempt);
    }

    /** Holds a grant that was not obtained through a queue. */
    LeaseHandle keep(LockName name, Grant grant, WaitSettings settings, long mark, @Nullable Throwable asked) {
        return new HeldGrant(name, grant, 0, grant.tokens().last(), settings, context, queues).begin(mark, asked);
    }

    /** Ends the write lease, and begins a read lease in its place. Completes on any thread. */
    CompletableFuture<LeaseHandle> downgrade(LeaseHandle writer) {
        ActiveLease state = writer.state();
        LockName name = state.name();
        WaitSettings settings = state.owner().settings();
        Throwable asked = context.leaks().captureStack();
        LeaseDowngrade.Beginning reader = (grant, ballot, mark) -> reads.only(
                new HeldGrant(name.asRead(), grant, 0, ballot, settings, context, queues).begin(mark, null), asked);
        return state.convert("downgrade", () -> new LeaseDowngrade(name, state.keeping(), settings, context, reader));
    }

    /**
     * Refuses a wait without limit for a renewed lease that the thread itself opened. Such a wait would never end,
     * unless another thread releases the lease. Once another thread has used the lease, that is assumed to be possible.
     */
    void refuseSelfWait(LockName name) {
        if (isWriter(name)) {
            throw new IllegalStateException(thread() + " opened a lease on \"" + name
                    + "\" and waits for it without limit: it would wait for itself. Release the lease first, use"
                    + " asReentrantLock(), or, if another thread is going to release it, wait with attempt(maxWait)");
        }
        if (reads.blocksForever(name.asRead(), Thread.currentThread())) {
            throw new IllegalStateException(thread() + " holds a read lease of \"" + name
                    + "\" and waits for the exclusive lock without limit: it would wait for itself, and two readers"
                    + " that want to write would wait for each other. Release the read lease first, or acquire"
                    + " write() and then downgrade()");
        }
    }

    /** Does the same for a wait for a read lease. */
    void refuseSelfWaitOfReader(LockName lock) {
        if (isWriter(lock)) {
            throw new IllegalStateException(thread() + " holds the exclusive lock \"" + lock
                    + "\" and waits for a read lease of it without limit: it would wait for itself. Use downgrade() of"
                    + " the write lease, or asReadWriteLock()");
        }
        if (reads.blocksForever(lock.asRead(), Thread.currentThread())) {
            throw new IllegalStateException(thread() + " holds a read lease of \"" + lock
                    + "\" and waits for another one without limit: it would wait for itself if a writer waits in"
                    + " between. Use the lease that it has, asReadWriteLock(), or wait with attempt(maxWait)");
        }
    }

    private boolean isWriter(LockName name) {
        LocalQueues.Passable held = queues.held(name);
        return held != null && held.blocksForever(Thread.currentThread());
    }

    private static String thread() {
        return "thread \"" + Thread.currentThread().getName() + "\"";
    }

    /** Throws if the client is closed. */
    void requireOpen() {
        if (closing) {
            throw new IllegalStateException("lock client for " + storeDescription() + " is closed");
        }
    }

    /** Whether the client is closed or closing. */
    boolean isClosing() {
        return closing;
    }

    /** Refuses new attempts from now on. */
    void refuse() {
        closing = true;
    }

    /** Withdraws the waiting attempts. */
    void withdraw() {
        several.forEach(attempt -> Futures.guarded("ending an attempt at the close", attempt::clientClosing));
        resumes.forEach(attempt -> Futures.guarded("ending an attempt at the close", attempt::clientClosing));
        unansweredResumes.close();
        // Start with the last in the queue: otherwise, each attempt that leaves would let the next one send a request.
        List<LocalQueues.Contender> waiting = queues.all();
        for (int i = waiting.size() - 1; i >= 0; i--) {
            Futures.guarded("ending an attempt at the close", waiting.get(i)::clientClosing);
        }
    }

    /**
     * Whether no attempt is in progress. The order of the checks follows an attempt: it is in a queue before its
     * entering ends.
     */
    boolean isIdle() {
        return entering.get() == 0 && queues.isEmpty() && several.isEmpty() && resumes.isEmpty();
    }
}
