package io.leasehold.engine;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.MemberSet;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.SuccessorRequest;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store that is opened in the background, with retries until that succeeds. Until then, it promises as little as a
 * store can, and answers each request with the failure that it cannot be reached. The engine retries such a request
 * until the patience of its caller ends. A refusal, such as a promise that is too weak or a wrong password, becomes the
 * answer to every request; the store is tried again less often, since an operator may mend it. Where a provider gives the
 * credentials, a refused log-in is no such refusal: the next one may have newer credentials.
 *
 * <p>{@code this} guards the fields; the store is opened and asked outside of the guard.
 */
public final class LazyStore implements LockStore {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");
    private static final long AGAIN_NANOS = Duration.ofSeconds(1).toNanos();
    private static final long REFUSED_NANOS = Duration.ofMinutes(1).toNanos();
    /** Less often than where no server answers: some servers lock an account after some refusals. */
    private static final long OTHER_LOGIN_NANOS = Duration.ofSeconds(10).toNanos();

    private static final Guarantees NOTHING_YET = new Guarantees(
            Guarantee.Exclusion.BEST_EFFORT,
            Guarantee.Fencing.BEST_EFFORT,
            Guarantee.Queueing.POLLING,
            Guarantee.Scope.PROCESS);

    private final LockRuntime runtime;
    private final String shown;
    private final boolean loginMayChange;
    private final Supplier<? extends LockStore> opener;
    private final CompletableFuture<Void> closed = new CompletableFuture<>();

    private volatile @Nullable LockStore opened;
    private volatile LockStoreException failure;
    private @Nullable Thread opening;

    /**
     * Creates a store that begins to open with {@link #listen}.
     *
     * @param shown the store for messages, without secrets
     * @param loginMayChange whether the next log-in may have other credentials
     * @param opener opens the store; may block
     */
    public LazyStore(LockRuntime runtime, String shown, boolean loginMayChange, Supplier<? extends LockStore> opener) {
        this.runtime = runtime;
        this.shown = shown;
        this.loginMayChange = loginMayChange;
        this.opener = opener;
        this.failure = new StoreUnavailableException("store " + shown + " has not been reached yet", null);
    }

    @Override
    public void listen(StoreSignals signals) {
        runtime.startThread("leasehold-connect", () -> openUntilDone(signals));
    }

    /** {@link #close} interrupts this thread: a store may wait for long while it opens. */
    private void openUntilDone(StoreSignals signals) {
        synchronized (this) {
            if (closed.isDone()) {
                return;
            }
            opening = Thread.currentThread();
        }
        try {
            openWithRetries(signals);
        } finally {
            synchronized (this) {
                opening = null;
            }
        }
    }

    private void openWithRetries(StoreSignals signals) {
        Class<?> away = null;
        String refusal = null;
        while (!closed.isDone()) {
            LockStoreException why;
            try {
                if (keep(opener.get(), signals) && (away != null || refusal != null)) {
                    LOG.info("the store {} is reached now", shown);
                }
                return;
            } catch (LockStoreException e) {
                why = e;
            } catch (RuntimeException | Error e) {
                why = new LockStoreException("store " + shown + " cannot be opened: " + e.getMessage(), e);
            }
            failure = why;
            // A state is logged once. Another reason of a refusal is another state, and so is another kind of outage,
            // whose
            // texts vary.
            boolean isAway = mayPass(why);
            String reason = String.valueOf(why.getMessage());
            boolean isNews = isAway ? why.getClass() != away : !reason.equals(refusal);
            if (isNews && !closed.isDone()) {
                away = isAway ? why.getClass() : null;
                refusal = isAway ? null : reason;
                logState(why);
                if (!isAway) {
                    reconnected(signals);
                }
            }
            if (!pausedBeforeNext(pauseNanos(why))) {
                return;
            }
        }
    }

    private void logState(LockStoreException why) {
        if (mayPass(why)) {
            LOG.warn("the store {} is not reached yet; the client keeps trying: {}", shown, why.getMessage());
        } else {
            LOG.error(
                    "the store {} cannot be opened: every lock is refused until that is mended, and it is tried"
                            + " again once a minute",
                    shown,
                    why);
        }
    }

    /** Whether the next opening may succeed without an operator. */
    private boolean mayPass(LockStoreException why) {
        return why instanceof StoreUnavailableException || (loginMayChange && why instanceof StoreAccessException);
    }

    private long pauseNanos(LockStoreException why) {
        if (!mayPass(why)) {
            return REFUSED_NANOS;
        }
        return why instanceof StoreUnavailableException ? AGAIN_NANOS : OTHER_LOGIN_NANOS;
    }

    /** A failure here, such as a lack of memory, neither opens a second store nor ends the retries. */
    private static void reconnected(StoreSignals signals) {
        Futures.guarded("waking the waiters", signals::reconnected);
    }

    /** Keeps the opened store, unless this one was closed in the meantime; returns whether the store is kept. */
    private boolean keep(LockStore store, StoreSignals signals) {
        try {
            store.listen(signals);
        } catch (RuntimeException | Error e) {
            // No other object refers to this store, and another one may be opened later.
            Futures.guarded("closing a store that cannot be listened to", store::close);
            throw e;
        }
        synchronized (this) {
            if (!closed.isDone()) {
                opened = store;
            }
            opening = null;
        }
        if (opened == null) {
            // The interrupt was that of close, and this store has done nothing yet.
            Thread.interrupted();
            store.close();
        } else {
            reconnected(signals);
        }
        return opened != null;
    }

    private boolean pausedBeforeNext(long pauseNanos) {
        CompletableFuture<Void> next = new CompletableFuture<>();
        LockRuntime.Timer timer = TimerQueue.duty(() -> runtime.schedule(pauseNanos, () -> next.complete(null)));
        try {
            runtime.await(CompletableFuture.anyOf(next, closed));
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            timer.cancel();
        }
    }

    private <T> T asked(Function<LockStore, T> question, Supplier<T> otherwise) {
        LockStore store = opened;
        return store == null ? otherwise.get() : question.apply(store);
    }

    @Override
    public String description() {
        return asked(LockStore::description, () -> shown);
    }

    @Override
    public Guarantees guarantees() {
        return asked(LockStore::guarantees, () -> NOTHING_YET);
    }

    @Override
    public Duration maxTtl() {
        return asked(LockStore::maxTtl, LockStore.super::maxTtl);
    }

    @Override
    public boolean isAtomicOver(List<LockName> names) {
        return asked(store -> store.isAtomicOver(names), () -> names.size() == 1);
    }

    @Override
    public boolean isOfNodes() {
        return asked(LockStore::isOfNodes, () -> false);
    }

    /** Before the store was opened, it has no nodes that could be declared new. */
    @Override
    public Optional<MemberSet> members() {
        return asked(LockStore::members, Optional::empty);
    }

    /** Until the store is opened, it is unknown whether it keeps permits: then every request of an operator fails. */
    @Override
    public Optional<StorePermits> permits() {
        return asked(LockStore::permits, () -> Optional.of(new UnopenedPermits()));
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        return asked(
                store -> LazyStore.acquire(store, request),
                () -> CompletableFuture.completedFuture(notGranted(request)));
    }

    /** Requests a lock; an attempt on permits or readers may have begun before it was known whether the store keeps them. */
    private static CompletableFuture<AcquireReply> acquire(LockStore store, AcquireRequest request) {
        LockName first = request.names().get(0);
        if (first.isRead() && !store.keepsReaders()) {
            return CompletableFuture.completedFuture(refused(LeaseDowngrade.refused(first, store), request));
        }
        return first.isPermits() && store.permits().isEmpty()
                ? CompletableFuture.completedFuture(refused(Attempts.refused(first, store), request))
                : store.acquire(request);
    }

    /** Answers for a store that is not open: its waiters ask again if the next opening may succeed. */
    private AcquireReply notGranted(AcquireRequest request) {
        LockStoreException why = failure;
        return mayPass(why)
                ? new AcquireReply.Failed(FailureKind.NO_EFFECT, why, request.ballotSoFar())
                : refused(why, request);
    }

    private static AcquireReply refused(LockStoreException why, AcquireRequest request) {
        return new AcquireReply.Failed(FailureKind.PERMANENT, why, request.ballotSoFar());
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return asked(
                store -> store.renew(batch),
                () -> CompletableFuture.completedFuture(
                        new RenewReply(Collections.nCopies(batch.items().size(), new RenewReply.Failed(failure)))));
    }

    /** Releases at the opened store; before it was opened, nothing can have been granted. */
    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        return asked(
                store -> store.release(request),
                () -> CompletableFuture.completedFuture(new ReleaseReply.NotOurs(List.of())));
    }

    /** Until the store is opened, whether it keeps tickets is unknown, and a request for one fails. */
    @Override
    public boolean keepsTickets() {
        return asked(LockStore::keepsTickets, () -> true);
    }

    /** Before the store was opened, nothing can have been granted. */
    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        return asked(
                store -> store.export(request), () -> CompletableFuture.completedFuture(new ExportReply.NotOurs()));
    }

    @Override
    public CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        return asked(
                store -> store.resume(request, ticket), () -> CompletableFuture.completedFuture(notGranted(request)));
    }

    /** Until the store is opened, whether it keeps readers is unknown, and a request for one fails. */
    @Override
    public boolean keepsReaders() {
        return asked(LockStore::keepsReaders, () -> true);
    }

    @Override
    public CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        return asked(
                store -> store.downgrade(request, writer),
                () -> CompletableFuture.completedFuture(notGranted(request)));
    }

    /** Until the store is opened, this is unknown, and there is no holder that could ask. */
    @Override
    public boolean namesSuccessors() {
        return asked(LockStore::namesSuccessors, () -> true);
    }

    @Override
    public CompletableFuture<SuccessorReply> nameSuccessor(SuccessorRequest request) {
        return asked(
                store -> store.nameSuccessor(request),
                () -> CompletableFuture.completedFuture(new SuccessorReply.NotOurs()));
    }

    @Override
    public StoreAdmin admin() {
        return asked(LockStore::admin, Unopened::new);
    }

    @Override
    public StoreOperations operations() {
        return asked(LockStore::operations, Unopened::new);
    }

    @Override
    public void close() {
        synchronized (this) {
            closed.complete(null);
            if (opening != null && opening != Thread.currentThread()) {
                opening.interrupt();
            }
        }
        LockStore store = opened;
        if (store != null) {
            store.close();
        }
    }

    private final class UnopenedPermits implements StorePermits {
        @Override
        public CompletableFuture<Optional<PermitsStatus>> describe(LockName name) {
            return CompletableFuture.failedFuture(failure);
        }

        @Override
        public CompletableFuture<List<PermitsStatus>> list(String glob, int limit) {
            return CompletableFuture.failedFuture(failure);
        }

        @Override
        public CompletableFuture<Boolean> change(LockName name, int count, long version) {
            return CompletableFuture.failedFuture(failure);
        }

        @Override
        public CompletableFuture<Boolean> forceRelease(LockName name, int slot, @Nullable String holderId) {
            return CompletableFuture.failedFuture(failure);
        }
    }

    private final class Unopened implements StoreAdmin, StoreOperations {
        /** Returns true: records may be kept. The engine asks the opened store again before each announcement. */
        @Override
        public boolean keepsClientRecords() {
            return true;
        }

        @Override
        public CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
            return failed();
        }

        @Override
        public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
            return failed();
        }

        @Override
        public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
            return failed();
        }

        @Override
        public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
            return failed();
        }

        @Override
        public CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
            return failed();
        }

        @Override
        public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
            return failed();
        }

        @Override
        public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
            return failed();
        }

        private <T> CompletableFuture<T> failed() {
            return CompletableFuture.failedFuture(failure);
        }
    }
}
