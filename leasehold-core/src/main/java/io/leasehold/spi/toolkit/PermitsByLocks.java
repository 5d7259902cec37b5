package io.leasehold.spi.toolkit;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.MemberSet;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PassingKeeper;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Adds permits to a store of exclusive locks: the permits of {@code db} are the locks {@code db#0}, {@code db#1}, … of
 * the same store. Requests for locks pass unchanged.
 *
 * <p><b>Guarantee.</b> Each slot is exclusive, and its fencing tokens increase, as the store promises of a lock. A
 * client asks only for slots below the count that it states, so the largest count in use bounds the holders. The store
 * keeps no count: a holder states its own in its holder id, and a request that is refused by a holder with another
 * count fails with {@link io.leasehold.PermitCountException}.
 *
 * <p><b>Requests.</b> A request asks for one slot after another, without waiting, until one is granted; busy means that
 * every slot has answered busy. Nothing is held while an attempt waits, and it has no place in a queue: it asks again
 * by its retry policy. The grant has another owner token than the request, in which its slot is encoded, so renewals
 * and releases need no memory. If an outcome is unknown, the next request with the same owner token first ends what the
 * last one may hold.
 *
 * <p>Safe for use by any thread.
 */
public final class PermitsByLocks extends PassingKeeper implements LockStore {

    private static final int MIN_SWEEP = 1_024;

    /** How long an unanswered end may be repeated beyond the ttl. */
    private static final long SLACK_NANOS = Duration.ofMinutes(1).toNanos();

    private final LockStore store;
    private final LockRuntime runtime;
    /** The holds that requests have, or may have, by the owner tokens of the request and of the slot. */
    private final Map<OwnerToken, Open> open = new ConcurrentHashMap<>();
    /** The size above which entries that were never ended are removed: those of holds that were lost. */
    private volatile int sweepAbove = MIN_SWEEP;

    /**
     * One hold, or possible hold.
     *
     * @param asker the owner token of the request
     * @param owner the owner token of the slot
     * @param untilAtNanos the time after which the store keeps nothing, unless it was renewed under its own owner token
     */
    private record Open(OwnerToken asker, SlotLock lock, OwnerToken owner, long untilAtNanos) {}

    /**
     * Adds permits to a store, which it closes.
     *
     * @param store keeps none of its own; it grants a request that does not wait under the request's owner token
     */
    public PermitsByLocks(LockStore store, LockRuntime runtime) {
        super(store);
        this.store = store;
        this.runtime = runtime;
    }

    // ---- acquiring

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        LockName name = request.names().get(0);
        if (!name.isPermits()) {
            return store.acquire(request);
        }
        if (name.text().getBytes(StandardCharsets.UTF_8).length > SlotLock.MAX_NAME_BYTES) {
            String message = "permits \"" + name + "\": at " + description() + " a name of permits has at most "
                    + SlotLock.MAX_NAME_BYTES + " bytes; use a shorter name";
            return CompletableFuture.completedFuture(
                    new AcquireReply.Failed(FailureKind.PERMANENT, new LockStoreException(message, null), 0));
        }
        Request asked = new Request(request, runtime.nanoTime() + request.timeoutNanos());
        Open before = open.get(request.owner());
        return before == null ? asked.walk(-1) : asked.afterTheEndOf(before);
    }

    /** One request for a permit. */
    private final class Request {

        private final AcquireRequest request;
        private final long untilAtNanos;
        private final CompletableFuture<AcquireReply> reply = new CompletableFuture<>();

        Request(AcquireRequest request, long untilAtNanos) {
            this.request = request;
            this.untilAtNanos = untilAtNanos;
        }

        private long leftNanos() {
            return untilAtNanos - runtime.nanoTime();
        }

        /**
         * Ends the hold that an earlier request may have, and then asks that slot first. Without this, the attempt
         * could hold two slots, of which it knows one.
         */
        CompletableFuture<AcquireReply> afterTheEndOf(Open before) {
            ReleaseRequest end = new ReleaseRequest(
                    request.names(),
                    request.owner(),
                    request.ballotSoFar(),
                    ReleaseRequest.Kind.UNDO,
                    request.timeoutNanos());
            return release(end)
                    .thenCompose(ended -> ended instanceof ReleaseReply.Failed failed
                            ? CompletableFuture.completedFuture(unended(failed))
                            : walk(before.lock().slot()));
        }

        private AcquireReply unended(ReleaseReply.Failed failed) {
            boolean isFinal = failed.kind() == FailureKind.PERMANENT;
            return new AcquireReply.Failed(
                    isFinal ? FailureKind.PERMANENT : FailureKind.UNKNOWN, failed.error(), request.ballotSoFar());
        }

        CompletableFuture<AcquireReply> walk(int firstSlot) {
            LockName permits = request.names().get(0);
            SlotWalk walk = new SlotWalk(permits, description(), OwnerToken.draw(runtime), firstSlot);
            follow(walk, walk.begin());
            return reply;
        }

        /** Takes steps until one has to wait; a loop, since a store may answer at once. */
        private void follow(SlotWalk walk, SlotWalk.Next first) {
            SlotWalk.Next next = first;
            while (next instanceof SlotWalk.Ask ask) {
                if (leftNanos() <= 0) {
                    next = walk.outOfTime();
                    continue;
                }
                CompletableFuture<AcquireReply> asked = ask(ask);
                if (!asked.isDone()) {
                    asked.thenAccept(answer -> follow(walk, decided(walk, ask, answer)))
                            .whenComplete((done, error) -> failed(error));
                    return;
                }
                next = decided(walk, ask, asked.join());
            }
            SlotWalk.Answer last = (SlotWalk.Answer) next;
            remember(last.open());
            reply.complete(last.reply());
        }

        /** The outcome of an answer that cannot be processed is unknown: the slot is ended before another is asked. */
        private SlotWalk.Next decided(SlotWalk walk, SlotWalk.Ask asked, @Nullable AcquireReply answer) {
            try {
                return walk.answered(Objects.requireNonNull(answer, "answer"));
            } catch (RuntimeException | Error e) {
                return new SlotWalk.Answer(broken(e, answer == null ? 0 : answer.ballot()), asked);
            }
        }

        /** Answers after a step that has failed: the engine waits for an answer. */
        private void failed(@Nullable Throwable error) {
            if (error != null) {
                reply.complete(broken(error, 0));
            }
        }

        private CompletableFuture<AcquireReply> ask(SlotWalk.Ask ask) {
            AcquireRequest slot = AcquireRequest.exclusive(
                            List.of(ask.lock().name()),
                            ask.owner(),
                            SlotLock.marked(
                                    request.holderId(), request.names().get(0).permitCount()),
                            request.ttlNanos(),
                            leftNanos())
                    .nodeTimeout(request.nodeTimeoutNanos());
            try {
                // Otherwise the votes on one slot could take the time for all, until a silent node answers.
                return store.acquire(request.isPatient() ? slot.patient() : slot)
                        .exceptionally(error -> broken(error, 0));
            } catch (RuntimeException | Error e) {
                return CompletableFuture.completedFuture(broken(e, 0));
            }
        }

        private AcquireReply broken(Throwable error, long ballot) {
            String message = "acquiring " + request.names() + " at " + description() + " failed: " + error;
            return new AcquireReply.Failed(FailureKind.UNKNOWN, new StoreUnavailableException(message, error), ballot);
        }

        private void remember(SlotWalk.@Nullable Ask kept) {
            if (kept == null) {
                return;
            }
            long nowNanos = runtime.nanoTime();
            if (open.size() > sweepAbove) {
                open.values().removeIf(one -> nowNanos - one.untilAtNanos() > 0);
                sweepAbove = Math.max(MIN_SWEEP, 2 * open.size());
            }
            Open one = new Open(
                    request.owner(), kept.lock(), kept.owner(), nowNanos + 2 * request.ttlNanos() + SLACK_NANOS);
            open.put(one.asker(), one);
            open.put(one.owner(), one);
        }
    }

    /** The number of owner tokens that it remembers. */
    int remembered() {
        return open.size();
    }

    // ---- granted permits

    /** Ends the slot of an owner token. One that holds nothing, and may hold nothing, has no slot: nothing is sent. */
    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        LockName name = request.names().get(0);
        if (!name.isPermits()) {
            return store.release(request);
        }
        OwnerToken owner = ownerAtSlot(request.owner());
        Optional<SlotLock> lock = SlotLock.boundBy(owner, name);
        if (lock.isEmpty()) {
            return CompletableFuture.completedFuture(new ReleaseReply.NotOurs());
        }
        return store.release(new ReleaseRequest(
                        List.of(lock.get().name()), owner, request.ballot(), request.kind(), request.timeoutNanos()))
                .thenApply(reply -> {
                    if (!(reply instanceof ReleaseReply.Failed)) {
                        forget(owner);
                    }
                    return reply;
                });
    }

    private OwnerToken ownerAtSlot(OwnerToken owner) {
        Open one = open.get(owner);
        return one == null ? owner : one.owner();
    }

    private void forget(OwnerToken owner) {
        Open one = open.remove(owner);
        if (one != null) {
            open.remove(one.asker(), one);
        }
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        if (batch.items().stream().noneMatch(item -> item.name().isPermits())) {
            return store.renew(batch);
        }
        List<RenewBatch.Item> sent = new ArrayList<>();
        List<Integer> places = new ArrayList<>();
        for (RenewBatch.Item item : batch.items()) {
            RenewBatch.Item atStore = item.name().isPermits() ? ofSlot(item) : item;
            places.add(atStore == null ? -1 : sent.size());
            if (atStore != null) {
                sent.add(atStore);
            }
        }
        CompletableFuture<RenewReply> renewed = sent.isEmpty()
                ? CompletableFuture.completedFuture(new RenewReply(List.of()))
                : store.renew(new RenewBatch(sent, batch.timeoutNanos()));
        return renewed.thenApply(reply -> new RenewReply(places.stream()
                .map(place ->
                        place < 0 ? new RenewReply.NotOurs() : reply.items().get(place))
                .toList()));
    }

    /** The renewal of the slot; null if the owner token has none. */
    private RenewBatch.@Nullable Item ofSlot(RenewBatch.Item item) {
        OwnerToken owner = ownerAtSlot(item.owner());
        return SlotLock.boundBy(owner, item.name())
                .map(lock -> new RenewBatch.Item(lock.name(), owner, item.ttlNanos(), item.nodeTimeoutNanos()))
                .orElse(null);
    }

    @Override
    public void listen(StoreSignals signals) {
        store.listen(new SlotSignals(Objects.requireNonNull(signals, "signals")));
    }

    // ---- operations

    @Override
    public Optional<StorePermits> permits() {
        return Optional.of(new SlotPermits(store));
    }

    @Override
    public StoreAdmin admin() {
        return new SlotAdmin(store);
    }

    @Override
    public Optional<MemberSet> members() {
        return store.members();
    }

    // ---- the store's own

    @Override
    public CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        return store.resume(request, ticket);
    }

    @Override
    public CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        return store.downgrade(request, writer);
    }

    @Override
    public Duration maxTtl() {
        return store.maxTtl();
    }

    @Override
    public boolean isOfNodes() {
        return store.isOfNodes();
    }
}
