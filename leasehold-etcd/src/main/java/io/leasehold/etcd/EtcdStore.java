package io.leasehold.etcd;

import io.etcd.jetcd.KeyValue;
import io.grpc.ClientInterceptor;
import io.leasehold.CredentialsProvider;
import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.toolkit.CredentialsDesk;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.Failure;
import io.leasehold.spi.toolkit.QueuePlace;
import io.leasehold.spi.toolkit.TimeLimit;
import io.leasehold.spi.toolkit.TimedReplies;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Locks in etcd: the operations of the SPI on {@linkplain QueueEntry places} in queues.
 *
 * <p>Safe for use by any thread. Replies complete on the driver's threads.
 */
final class EtcdStore implements LockStore {

    private static final long CLOSE_NANOS = Duration.ofSeconds(1).toNanos();

    private final EtcdUri uri;
    private final LockRuntime runtime;
    private final EtcdCalls etcd;
    private final Failures failures;
    private final TimedReplies replies;
    private final EtcdQueues queues;
    private final EtcdAdmin admin;
    private final LeasePool leases;
    private final QueueEntry.Shared shared;
    private final Map<OwnerToken, QueueEntry> byOwner = new ConcurrentHashMap<>();
    private volatile StoreSignals signals = StoreSignals.NONE;

    EtcdStore(EtcdUri uri, LockRuntime runtime) {
        this(uri, runtime, List.of());
    }

    /** Creates a store whose calls pass these interceptors, with which tests make calls fail. */
    EtcdStore(EtcdUri uri, LockRuntime runtime, List<ClientInterceptor> interceptors) {
        this(uri, runtime, new Etcd(uri, null, interceptors), false);
    }

    EtcdStore(EtcdUri uri, CredentialsProvider credentials, LockRuntime runtime) {
        this(
                uri,
                runtime,
                new Etcd(uri, new Login(new CredentialsDesk(credentials, uri.toString(), runtime)), List.of()),
                true);
    }

    EtcdStore(EtcdUri uri, LockRuntime runtime, EtcdCalls etcd, boolean withProvider) {
        this.uri = uri;
        this.runtime = runtime;
        this.etcd = etcd;
        this.failures = new Failures(uri, withProvider);
        this.replies = new TimedReplies(runtime, failures);
        Keys keys = new Keys(uri.prefix());
        QueueHeads heads = new QueueHeads(etcd, uri.tokens());
        this.queues = new EtcdQueues(etcd, keys, uri.readers());
        this.admin = new EtcdAdmin(uri, runtime, etcd, keys, queues, heads, replies);
        this.leases = new LeasePool(etcd, runtime);
        this.shared = new QueueEntry.Shared(uri, etcd, leases, uri.tokens(), keys, heads, runtime, new Signals());
    }

    /** Passes events of places on to the engine. */
    private final class Signals implements QueueEntry.Events {
        @Override
        public void woken(QueueEntry place) {
            signals.wake(place.name());
        }

        @Override
        public void taken(QueueEntry place, LossCause cause) {
            signals.lost(place.owner(), cause);
        }

        @Override
        public void suspended(QueueEntry place) {
            signals.suspended(place.owner());
        }

        @Override
        public void downgraded(QueueEntry place, OwnerToken former) {
            byOwner.put(place.owner(), place);
            byOwner.remove(former, place);
        }

        @Override
        public void over(QueueEntry place) {
            byOwner.remove(place.owner(), place);
        }
    }

    /** The number of owner tokens that the store remembers. */
    int attempts() {
        return byOwner.size();
    }

    /**
     * Checks that the cluster answers, and that the tokens of all clients have the same base.
     *
     * @throws io.leasehold.LockStoreException if the check fails
     */
    void verify() {
        admin.verify();
    }

    /** As {@link #verify}, but writes nothing, and refuses a prefix that no key has. */
    void verifyExisting() {
        admin.verifyExisting();
    }

    @Override
    public void close() {
        try {
            giveUpLeases();
        } finally {
            etcd.close();
        }
    }

    /**
     * Revokes the leases that were left for later attempts. A lease whose revocation is not answered in time ends by
     * itself.
     */
    private void giveUpLeases() {
        CompletableFuture<Boolean> revoked = leases.close();
        if (revoked.isDone()) {
            return;
        }
        try {
            runtime.await(TimeLimit.within(runtime, CLOSE_NANOS, () -> revoked, error -> false, () -> false));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public StoreAdmin admin() {
        return admin;
    }

    @Override
    public StoreOperations operations() {
        return new EtcdOperations(uri, etcd, runtime);
    }

    @Override
    public String description() {
        return uri.toString();
    }

    @Override
    public Guarantees guarantees() {
        return QueuePlace.GUARANTEES;
    }

    @Override
    public void listen(StoreSignals listener) {
        signals = listener;
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        QueueEntry place = byOwner.computeIfAbsent(request.owner(), owner -> new QueueEntry(shared, request));
        return replies.acquire(request, () -> place.ask(request), place::end);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        List<CompletableFuture<RenewReply.Item>> asked = batch.items().stream()
                .map(item -> renew(item, batch.timeoutNanos()))
                .toList();
        return CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new))
                .thenApply(nothing -> new RenewReply(
                        asked.stream().map(CompletableFuture::join).toList()));
    }

    private CompletableFuture<RenewReply.Item> renew(RenewBatch.Item item, long limitNanos) {
        QueueEntry place = known(item.owner(), List.of(item.name()));
        return replies.renew(
                item, limitNanos, () -> place != null ? place.renew(item.ttlNanos()) : renewElsewhere(item));
    }

    /** The place of this owner token, if it is one of these locks, as the writer or the reader that the name says. */
    private @Nullable QueueEntry known(OwnerToken owner, List<LockName> names) {
        QueueEntry place = byOwner.get(owner);
        return place != null && names.contains(place.name()) ? place : null;
    }

    private CompletableFuture<RenewReply.Item> renewElsewhere(RenewBatch.Item item) {
        long sentAtNanos = runtime.nanoTime();
        long unsureNanos = uri.electionTimeout().toNanos();
        return queues.keepAlive(item.name(), item.owner())
                .thenApply(kept -> kept.<RenewReply.Item>map(leased -> new RenewReply.Renewed(
                                sentAtNanos - Math.max(0, item.ttlNanos() + unsureNanos - leased.ttlNanos())))
                        .orElseGet(RenewReply.NotOurs::new));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        QueueEntry place = known(request.owner(), request.names());
        return replies.release(
                request, () -> place != null ? place.end() : queues.removeOwner(request.names(), request.owner()));
    }

    /** Only if each revision has several tokens: a resumed lease keeps its place in the queue, and needs a larger one. */
    @Override
    public boolean keepsTickets() {
        return uri.readers();
    }

    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        QueueEntry place = known(request.owner(), List.of(request.name()));
        String what = "export of \"" + request.name() + "\"";
        return TimeLimit.within(
                runtime,
                request.timeoutNanos(),
                () -> place != null
                        ? place.export(request)
                        : queues.takenOver(request.name(), request.ticket())
                                .thenApply(key ->
                                        key.isPresent() ? new ExportReply.Exported() : new ExportReply.NotOurs()),
                error -> {
                    Failure failure = failures.of(what, error);
                    return new ExportReply.Failed(failure.kind(), failure.error());
                },
                () -> new ExportReply.Failed(FailureKind.UNKNOWN, failures.late(what, request.timeoutNanos())));
    }

    @Override
    public CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        return replies.acquire(
                request, () -> queues.first(request.name()).thenCompose(first -> resume(request, ticket, first)));
    }

    private CompletableFuture<AcquireReply> resume(
            AcquireRequest request, OwnerToken ticket, Optional<KeyValue> first) {
        QueueEntry known = byOwner.get(request.owner());
        EntryData data = first.map(QueueHeads::data).orElse(null);
        boolean isTicket = data != null && data.isTakenOverBy(ticket);
        if (data == null || (!isTicket && !data.isTakenOverBy(request.owner()))) {
            if (known != null) {
                known.end();
            }
            return CompletableFuture.completedFuture(
                    new AcquireReply.Busy(first.map(shared.heads()::holder).orElse(null), 0, List.of()));
        }
        KeyValue key = first.get();
        int generation = isTicket ? data.generation() + 1 : data.generation();
        QueueEntry place = byOwner.computeIfAbsent(
                request.owner(),
                owner -> new QueueEntry(
                        shared, request, key.getKey(), EntryData.takenOver(owner, request.holderId(), generation)));
        return place.resume(request, place.swap(key.getCreateRevision(), key.getValue()))
                .thenApply(reply -> {
                    if (reply instanceof AcquireReply.Busy) {
                        place.end();
                    }
                    return reply;
                });
    }

    @Override
    public boolean keepsReaders() {
        return uri.readers();
    }

    @Override
    public CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        return replies.acquire(request, () -> {
            QueueEntry reader = byOwner.get(request.owner());
            QueueEntry place = reader != null ? reader : byOwner.get(writer);
            return place != null
                    ? place.downgrade(request)
                    : CompletableFuture.completedFuture(new AcquireReply.Busy(null, 0, List.of()));
        });
    }
}
