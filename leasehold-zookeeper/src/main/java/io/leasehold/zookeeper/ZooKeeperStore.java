package io.leasehold.zookeeper;

import io.leasehold.Guarantees;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.LossCause;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
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
import io.leasehold.spi.toolkit.QueuePlace;
import io.leasehold.spi.toolkit.TimeLimit;
import io.leasehold.spi.toolkit.TimedReplies;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Locks in ZooKeeper: the operations of the SPI on {@linkplain QueueEntry places} in queues, and on the
 * {@linkplain Sessions sessions} that keep them.
 *
 * <p>Safe for use by any thread. Replies complete on the driver's event threads.
 */
final class ZooKeeperStore implements LockStore {

    /** The largest number of bytes of paths in one request; the members accept 1 MB by default. */
    private static final int MAX_BATCH_BYTES = 256 * 1024;

    private final ZooKeeperUri uri;
    private final LockRuntime runtime;
    private final Failures failures;
    private final TimedReplies replies;
    private final Sessions sessions;
    private final Places places;
    private final ZooKeeperAdmin admin;
    private final Map<OwnerToken, QueueEntry> byOwner = new ConcurrentHashMap<>();
    private volatile StoreSignals signals = StoreSignals.NONE;

    /** Creates a store that uses the driver itself, for tests. */
    ZooKeeperStore(ZooKeeperUri uri, LockRuntime runtime) {
        this(uri, runtime, new Driver(uri));
    }

    ZooKeeperStore(ZooKeeperUri uri, LockRuntime runtime, SessionCalls.Opener opener) {
        this.uri = uri;
        this.runtime = runtime;
        this.failures = new Failures(uri);
        this.replies = new TimedReplies(runtime, failures);
        this.places = new Places();
        this.sessions = new Sessions(uri, runtime, opener, places, this::isInUse);
        this.admin = new ZooKeeperAdmin(uri, runtime, sessions, replies);
    }

    /** Passes events of places and sessions on to the engine. */
    private final class Places implements PlaceEvents, Session.Listener {
        private final QueueHeads heads = new QueueHeads(uri.tokens());
        private final QueueEntry.Shared shared =
                new QueueEntry.Shared(uri, runtime, uri.tokens(), heads, failures, this);

        QueueEntry make(AcquireRequest request) {
            return new QueueEntry(shared, request);
        }

        @Override
        public void woken(QueueEntry place) {
            signals.wake(place.name());
        }

        @Override
        public void taken(QueueEntry place, LossCause cause) {
            byOwner.remove(place.owner(), place);
            lost(place, cause);
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

        private void lost(QueueEntry place, LossCause cause) {
            signals.lost(place.owner(), cause);
        }

        @Override
        public void suspended(Session session) {
            for (QueueEntry place : List.copyOf(byOwner.values())) {
                if (place.isIn(session) && place.isHeld()) {
                    signals.suspended(place.owner());
                }
            }
        }

        @Override
        public void resumed(Session session) {
            signals.reconnected();
        }

        @Override
        public void ended(Session session) {
            sessions.forget(session);
            List<QueueEntry> gone = byOwner.values().stream()
                    .filter(place -> place.endedWith(session))
                    .toList();
            // Remove all of them before one is notified: a notified attempt asks again at once, through a new entry.
            gone.forEach(place -> byOwner.remove(place.owner(), place));
            for (QueueEntry place : gone) {
                if (place.hasHeld()) {
                    lost(place, LossCause.SESSION_LOST);
                } else {
                    woken(place);
                }
            }
        }
    }

    /** The number of owner tokens that the store remembers. */
    int attempts() {
        return byOwner.size();
    }

    private boolean isInUse(Session session) {
        return byOwner.values().stream().anyMatch(place -> place.isIn(session));
    }

    /**
     * Checks that the ensemble answers, and that the tokens of all clients have the same base.
     *
     * @param whenSilent if no session begins within a second, finds the reason and throws it; runs on this thread
     * @throws LockStoreException if the check fails
     */
    void verify(Runnable whenSilent) {
        admin.verify(whenSilent);
    }

    /** As {@link #verify}, but writes nothing, and refuses a chroot that does not exist. */
    void verifyExisting(Runnable whenSilent) {
        admin.verifyExisting(whenSilent);
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
        QueueEntry place = byOwner.computeIfAbsent(request.owner(), owner -> places.make(request));
        // Before the session is open, so that an attempt that never gets one is forgotten as well.
        place.keepFor(request);
        return replies.acquire(
                request,
                () -> sessions.forTtl(request.ttlNanos(), request.timeoutNanos())
                        .thenCompose(session -> place.ask(request, session)),
                place::end);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        RenewReply.Item[] answers = new RenewReply.Item[batch.items().size()];
        Map<Session, List<Renewal>> bySession = new LinkedHashMap<>();
        List<CompletableFuture<Void>> asked = new ArrayList<>();
        for (int i = 0; i < answers.length; i++) {
            RenewBatch.Item item = batch.items().get(i);
            QueueEntry place = known(item.owner(), List.of(item.name()));
            Session session = place == null ? null : place.session();
            String node = place == null ? null : place.heldNode();
            if (place == null) {
                int index = i;
                asked.add(elsewhere(item, batch.timeoutNanos()).thenAccept(answer -> answers[index] = answer));
            } else if (session == null || node == null) {
                answers[i] = new RenewReply.NotOurs();
            } else {
                bySession.computeIfAbsent(session, s -> new ArrayList<>()).add(new Renewal(i, item, place, node));
            }
        }
        bySession.forEach((session, renewals) -> {
            for (List<Renewal> part : inParts(renewals)) {
                asked.add(renew(session, part, answers, batch.timeoutNanos()));
            }
        });
        return CompletableFuture.allOf(asked.toArray(CompletableFuture[]::new))
                .thenApply(nothing -> new RenewReply(Arrays.asList(answers)));
    }

    /**
     * Answers for a hold of another client with this owner token. The hold stays, but no session of this client can
     * promise for how long.
     */
    private CompletableFuture<RenewReply.Item> elsewhere(RenewBatch.Item item, long limitNanos) {
        long sentAtNanos = runtime.nanoTime();
        return replies.renew(
                item,
                limitNanos,
                () -> admin.holds(item.name(), item.owner(), limitNanos)
                        .thenApply(held -> held
                                ? new RenewReply.Renewed(sentAtNanos - item.ttlNanos())
                                : new RenewReply.NotOurs()));
    }

    /** One renewal of a batch, with its place and its node. */
    private record Renewal(int index, RenewBatch.Item item, QueueEntry place, String node) {}

    private static List<List<Renewal>> inParts(List<Renewal> renewals) {
        List<List<Renewal>> parts = new ArrayList<>();
        int bytes = MAX_BATCH_BYTES;
        for (Renewal renewal : renewals) {
            bytes += renewal.node().length() + 32;
            if (bytes > MAX_BATCH_BYTES) {
                bytes = 0;
                parts.add(new ArrayList<>());
            }
            parts.get(parts.size() - 1).add(renewal);
        }
        return parts;
    }

    /** Fills in the answers to these renewals; each renewal writes its own element of the array. */
    private CompletableFuture<Void> renew(
            Session session, List<Renewal> renewals, RenewReply.Item[] answers, long limitNanos) {
        String what = "renewal of \"" + renewals.get(0).item().name() + "\""
                + (renewals.size() == 1 ? "" : " and " + (renewals.size() - 1) + " more");
        long sentAtNanos = runtime.nanoTime();
        List<String> nodes = renewals.stream().map(Renewal::node).toList();
        return TimeLimit.<List<RenewReply.Item>>within(
                        runtime,
                        limitNanos,
                        () -> session.confirm(nodes).thenApply(there -> renewed(session, renewals, there, sentAtNanos)),
                        error -> same(renewals, failures.of(what, error).error()),
                        () -> same(renewals, failures.late(what, limitNanos)))
                .thenAccept(items -> {
                    for (int i = 0; i < items.size(); i++) {
                        answers[renewals.get(i).index()] = items.get(i);
                    }
                });
    }

    private static List<RenewReply.Item> renewed(
            Session session, List<Renewal> renewals, List<Boolean> there, long sentAtNanos) {
        List<RenewReply.Item> items = new ArrayList<>();
        for (int i = 0; i < renewals.size(); i++) {
            long ttlNanos = renewals.get(i).item().ttlNanos();
            if (there.get(i)) {
                renewals.get(i).place().renewed(sentAtNanos, ttlNanos);
                items.add(new RenewReply.Renewed(session.countedFromNanos(sentAtNanos, ttlNanos)));
            } else {
                items.add(new RenewReply.NotOurs());
            }
        }
        return items;
    }

    private static List<RenewReply.Item> same(List<Renewal> renewals, LockStoreException error) {
        return renewals.stream()
                .<RenewReply.Item>map(renewal -> new RenewReply.Failed(error))
                .toList();
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        QueueEntry place = known(request.owner(), request.names());
        return replies.release(
                request,
                () -> place != null
                        ? place.end()
                        : admin.removeOwner(request.names(), request.owner(), request.timeoutNanos()));
    }

    /** The place of this owner token, if it is one of these locks, as the writer or the reader that the name says. */
    private @Nullable QueueEntry known(OwnerToken owner, List<LockName> names) {
        QueueEntry place = byOwner.get(owner);
        return place != null && names.contains(place.name()) ? place : null;
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

    @Override
    public StoreAdmin admin() {
        return admin;
    }

    @Override
    public StoreOperations operations() {
        return new ZooKeeperOperations(uri, sessions, replies);
    }

    @Override
    public void close() {
        sessions.close();
    }
}
