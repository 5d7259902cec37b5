package io.leasehold.engine;

import io.leasehold.DistributedLock;
import io.leasehold.Election;
import io.leasehold.Guarantees;
import io.leasehold.Lease;
import io.leasehold.LeaseTicket;
import io.leasehold.LockClient;
import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.MultiLock;
import io.leasehold.Permits;
import io.leasehold.SharedLock;
import io.leasehold.admin.LockAdmin;
import io.leasehold.spi.Claim;
import io.leasehold.spi.DoubtedHold;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** A client: connects its parts, and closes them in order. */
public final class EngineClient implements LockClient {

    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(5);

    private final EngineContext context;
    private final LocalQueues queues;
    private final WaitSettings defaults;
    private final Attempts attempts;
    /** The thread that closes the client, or has closed it. */
    private final AtomicReference<@Nullable Thread> closer = new AtomicReference<>();

    private volatile LockRuntime.Timer exit = () -> {};

    /**
     * Creates a client that owns the store and the runtime.
     *
     * @param workers the executor for the work of {@code holdWhile}; null for the runtime's own threads
     */
    public EngineClient(
            LockRuntime runtime,
            LockStore store,
            LockOptions defaults,
            String label,
            List<LockListener> listeners,
            boolean withAcquisitionStacks,
            @Nullable Executor workers) {
        this.defaults = WaitSettings.of(Attempts.accepted(defaults, store), store);
        TimerQueue timeline = new TimerQueue(runtime);
        this.queues = new LocalQueues(timeline);
        HoldTable holds = new HoldTable();
        String holderId = HolderId.of(runtime, label);
        this.context = new EngineContext(
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
        this.attempts = new Attempts(context, queues, Workers.of(runtime, workers));
        store.listen(new Signals());
    }

    /** Receives the store's signals. */
    private final class Signals implements StoreSignals {
        @Override
        public void wake(LockName name) {
            queues.wake(name);
        }

        @Override
        public void handedOver(HandOver handOver) {
            queues.handedOver(handOver);
        }

        @Override
        public boolean claimed(Claim claim) {
            return queues.claimed(claim);
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            context.holds().find(owner).forEach(grant -> grant.on(new GrantMachine.TakenAway(cause)));
        }

        @Override
        public void takenAway(LockName name) {
            LocalQueues.Passable held = queues.held(name);
            if (held != null) {
                held.on(new GrantMachine.SuspectedForce());
                return;
            }
            LockName shared = name.isPermits() ? name : name.asRead();
            context.holds().all().stream()
                    .filter(hold -> hold.name().equals(shared))
                    .forEach(hold -> hold.on(new GrantMachine.SuspectedForce()));
        }

        @Override
        public void doubted(List<DoubtedHold> holds) {
            for (DoubtedHold hold : holds) {
                Futures.guarded("the doubt about a lease", () -> doubted(hold));
            }
            context.renewals().flush();
        }

        private void doubted(DoubtedHold hold) {
            for (HoldTable.Held grant : context.holds().find(hold.owner())) {
                if (grant.name().equals(hold.name())) {
                    grant.on(new GrantMachine.Doubted());
                }
            }
        }

        @Override
        public void suspended(OwnerToken owner) {
            context.holds().find(owner).forEach(grant -> grant.on(new GrantMachine.ContactLost()));
        }

        @Override
        public void reconnected() {
            context.retrier().reconnected();
            queues.wakeAll();
        }

        @Override
        public void nodeChanged(LockListener.NodeChanged event) {
            context.events().tell(listener -> listener.nodeChanged(event));
        }
    }

    Attempts attempts() {
        return attempts;
    }

    @Override
    public DistributedLock named(LockName name) {
        return new NamedLock(exclusive(name), defaults, attempts);
    }

    @Override
    public MultiLock all(LockName... names) {
        if (names.length == 0) {
            throw new IllegalArgumentException("all() was given no lock name; it needs at least one");
        }
        for (LockName name : names) {
            exclusive(name);
        }
        return new NamedLocks(Arrays.asList(names), defaults, attempts);
    }

    /** Returns the name, and refuses that of permits or readers: they are no exclusive lock. */
    private static LockName exclusive(LockName name) {
        if (Objects.requireNonNull(name, "name").isRead()) {
            throw new IllegalArgumentException("\"" + name + "\" is the name of the readers of a lock, and not of an"
                    + " exclusive lock; use readWrite(name.asExclusive()).read(), or LockName.exactly for a lock of"
                    + " this text");
        }
        if (Objects.requireNonNull(name, "name").isPermits()) {
            throw new IllegalArgumentException("\"" + name + "\" is a name of permits, and not of an exclusive lock;"
                    + " use permits(name, count), or LockName.exactly for a lock of this text");
        }
        return name;
    }

    @Override
    public Election election(LockName name) {
        LockOptions unlimited = defaults.options().maxHold(NamedElection.WITHOUT_LIMIT);
        return new NamedElection(exclusive(name), attempts.settings(unlimited), attempts);
    }

    @Override
    public Permits permits(LockName name, int count) {
        if (Objects.requireNonNull(name, "name").isRead()) {
            throw new IllegalArgumentException("\"" + name + "\" is the name of the readers of a lock, and not of"
                    + " permits; use readWrite(name.asExclusive()).read()");
        }
        return new NamedPermits(name.asPermits(count), defaults, attempts);
    }

    @Override
    public SharedLock readWrite(LockName name) {
        LeaseDowngrade.requireReaders(exclusive(name), context.store());
        return new NamedSharedLock(name, defaults, attempts);
    }

    @Override
    public boolean keepsReaders() {
        return context.store().keepsReaders();
    }

    @Override
    public Lease resume(LeaseTicket ticket, Duration maxWait) throws InterruptedException {
        return new TicketLock(ticket, defaults, attempts).attempt(maxWait).orElseThrow();
    }

    @Override
    public CompletableFuture<Lease> resumeAsync(LeaseTicket ticket, Duration maxWait) {
        return new TicketLock(ticket, defaults, attempts).acquireAsync(maxWait);
    }

    @Override
    public boolean keepsTickets() {
        return context.store().keepsTickets();
    }

    @Override
    public boolean namesSuccessors() {
        return context.store().namesSuccessors();
    }

    @Override
    public LockAdmin admin() {
        return new EngineAdmin(attempts, defaults.options());
    }

    @Override
    public Guarantees guarantees() {
        return context.store().guarantees();
    }

    @Override
    public Duration maxTtl() {
        return context.store().maxTtl();
    }

    @Override
    public String holderId() {
        return context.holderId();
    }

    @Override
    public String storeDescription() {
        return context.store().description();
    }

    @Override
    public void close() {
        close(CLOSE_PATIENCE);
    }

    @Override
    public void close(Duration patience) {
        Thread caller = Thread.currentThread();
        close(patience, grant -> grant.awaitsOtherThan(caller));
    }

    /**
     * Registers this client to be closed at an orderly exit of the process. The exit waits for all holders that were
     * notified.
     */
    public EngineClient closedByExit(Duration atMost) {
        exit = context.runtime().onExit(() -> {
            // The exit has come: nothing is left to cancel.
            exit = () -> {};
            close(atMost, HoldTable.Held::awaitsAnyThread);
        });
        return this;
    }

    /** Closes the client. If another thread has begun to close it, waits until that thread has finished. */
    private void close(Duration patience, Predicate<HoldTable.Held> isAwaited) {
        long patienceNanos = Timings.saturatedNanos(Objects.requireNonNull(patience, "patience"));
        Thread caller = Thread.currentThread();
        if (!closer.compareAndSet(null, caller)) {
            if (closer.get() != caller) {
                Futures.joinAtMost(context.runtime(), attempts.closed(), patienceNanos);
            }
            return;
        }
        attempts.refuse();
        try {
            new ClientClose(context, attempts).end(patienceNanos, isAwaited);
        } finally {
            attempts.closed().complete(null);
            exit.cancel();
        }
    }
}
