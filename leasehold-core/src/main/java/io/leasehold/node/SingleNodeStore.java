package io.leasehold.node;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Claim;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PassingKeeper;
import io.leasehold.spi.PassingSignals;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.Sending;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store that consists of one node. It proposes candidates for fencing tokens, and retries a stale one with a higher
 * ballot of the same owner token. The node hands locks over to waiters that requested it.
 *
 * <p>A candidate is {@code max(seen token + 1, ballot so far + 1, estimate of the node's clock in µs)}. A stale answer
 * contains the floor; the k-th ballot after it adds {@code reserve × 2^k}, so that contenders that received the same
 * floor diverge. Safe for all threads.
 */
public final class SingleNodeStore extends PassingKeeper implements LockStore {

    private static final Logger LOG = LoggerFactory.getLogger(SingleNodeStore.class);

    /**
     * The maximum number of ballots before a request is refused. Since the distance doubles, more of them are
     * pointless.
     */
    private static final int MAX_BALLOTS = 12;

    /** The maximum number of concurrent waiters whose places are kept; further waiters may lose theirs. */
    private static final int MAX_FLOORS = 10_000;

    private static final long RETRY_NANOS = 10_000_000L;

    /**
     * How far ahead of the estimate a ballot may be unless it answers a floor: half of the bound of every node, so that a
     * slightly later undo is never cut off at that bound.
     */
    private static final long MAX_LEAD_MICROS = 3_750_000L;

    private final LockNode node;
    private final LockRuntime runtime;
    /** The clock of each part of the node that has answered; parts are few. */
    private final Map<String, BallotClock> clocks = new ConcurrentHashMap<>();
    /** The floors that the node reported to waiters, if they are far ahead of its clock; bounded. */
    private final Map<OwnerToken, NodeReply.Stale> floors = new ConcurrentHashMap<>();

    /** The last answers to the waiters that no request is in flight for, by attempt id. */
    private final Map<String, Waiter> waiters = new ConcurrentHashMap<>();

    private volatile @Nullable StoreSignals listener;

    /** Creates a store from a node, which is closed with it. */
    public SingleNodeStore(LockNode node, LockRuntime runtime) {
        super(node);
        this.node = node;
        this.runtime = Objects.requireNonNull(runtime, "runtime");
    }

    /**
     * A waiter that the node has queued. A hand-over is counted from its last answer, and from no other.
     *
     * @param number how many permits it wants, if it does not wait for a lock
     */
    private record Waiter(
            LockName name, OwnerToken owner, int number, long claimNanos, Sending sending, QueuedAnswer answer) {

        /**
         * Whether the message gives what the waiter has requested. An operator may have changed the count of permits
         * since: the waiter then asks, and is refused with both numbers.
         */
        boolean wants(HandOver given) {
            if (!name.equals(given.name())) {
                return false;
            }
            return name.isPermits()
                    ? name.permitCount() == given.name().permitCount() && areWanted(given.slots(), given.tokens())
                    : given.slots().isEmpty();
        }

        /** Whether these are slots below the count, ascending, as many as wanted, with a token each. */
        private boolean areWanted(List<Integer> slots, TokenRange tokens) {
            int previous = -1;
            for (int slot : slots) {
                if (slot <= previous || slot >= name.permitCount()) {
                    return false;
                }
                previous = slot;
            }
            return slots.size() == number && tokens.last() - tokens.first() == number - 1;
        }
    }

    @Override
    public CompletableFuture<AcquireReply> acquire(AcquireRequest request) {
        forgetWaiter(request.owner());
        return ask(request, null);
    }

    @Override
    public CompletableFuture<AcquireReply> resume(AcquireRequest request, OwnerToken ticket) {
        return ask(request, ticket);
    }

    @Override
    public CompletableFuture<AcquireReply> downgrade(AcquireRequest request, OwnerToken writer) {
        return ask(request, writer);
    }

    private CompletableFuture<AcquireReply> ask(AcquireRequest request, @Nullable OwnerToken former) {
        LockName name = request.names().get(0);
        BallotClock clock = clockOf(name);
        OptionalLong estimate = estimate(clock);
        if (estimate.isPresent()) {
            return begin(request, former, runtime.nanoTime(), estimate.getAsLong());
        }
        long startAtNanos = runtime.nanoTime();
        return node.probe(name, request.timeoutNanos()).thenCompose(reply -> {
            if (reply instanceof NodeReply.Answered answered) {
                learn(clock, answered, startAtNanos);
                return begin(request, former, startAtNanos, estimate(clock).orElse(runtime.nanoTime()));
            }
            NodeReply.Failed failed = (NodeReply.Failed) reply;
            FailureKind kind = failed.kind() == FailureKind.UNKNOWN ? FailureKind.NO_EFFECT : failed.kind();
            return CompletableFuture.completedFuture(new AcquireReply.Failed(kind, failed.error(), 0));
        });
    }

    /**
     * One request with the progress of its ballots.
     *
     * @param former the owner token whose place the request takes: that of the ticket to resume, or of the writer that
     *     becomes a reader; null if the request is to acquire
     * @param startAtNanos when the first ballot began
     * @param stale the number of stale ballots
     */
    private record BallotSeries(
            AcquireRequest request, @Nullable OwnerToken former, long startAtNanos, int stale) {

        BallotSeries next() {
            return new BallotSeries(request, former, startAtNanos, stale + 1);
        }
    }

    private CompletableFuture<AcquireReply> begin(
            AcquireRequest request, @Nullable OwnerToken former, long startAtNanos, long estimate) {
        long most = Math.max(estimate, floorTold(request)) + MAX_LEAD_MICROS;
        if (request.ballotSoFar() >= most) {
            return CompletableFuture.completedFuture(new AcquireReply.Refused(
                    "the clock of " + node.description() + " went back: the attempt has proposed fencing token "
                            + request.ballotSoFar() + ", and the clock is at " + estimate,
                    0,
                    0,
                    List.of(),
                    true));
        }
        // The seen token is a hint; the node reports a floor that is really above the clock.
        long seen = request.seenToken() < most ? request.seenToken() : 0;
        long candidate = Math.max(Math.max(1, estimate), Math.max(seen, request.ballotSoFar()) + 1);
        return propose(new BallotSeries(request, former, startAtNanos, 0), candidate);
    }

    private CompletableFuture<AcquireReply> propose(BallotSeries series, long candidate) {
        AcquireRequest request = series.request();
        if (candidate >= TokenRange.LIMIT - request.reserve()) {
            return CompletableFuture.completedFuture(tokensExhausted(candidate));
        }
        Ballot ballot = new Ballot(request, candidate, request.reserve(), request.claimNanos());
        BallotClock clock = clockOf(request.names().get(0));
        Sending sending = Sending.now(runtime);
        long sentAtNanos = sending.nanos();
        return proposed(ballot, series.former())
                .exceptionally(error -> broken(ballot, error))
                .thenCompose(reply -> {
                    if (reply instanceof NodeReply.Answered answered) {
                        learn(clock, answered, sentAtNanos);
                    }
                    if (reply instanceof NodeReply.Yes) {
                        floors.remove(request.owner());
                    }
                    if (reply instanceof NodeReply.Stale stale && mayGoOn(series)) {
                        remember(request, stale);
                        long floor = Math.max(stale.floor(), estimate(clock).orElse(0));
                        long lead = (long) request.reserve() << series.stale();
                        BallotSeries next = series.next();
                        return propose(next, Math.max(candidate, floor) + lead);
                    }
                    if (reply instanceof NodeReply.Held held && held.queued()) {
                        rememberWaiter(ballot, sending, held);
                    }
                    return CompletableFuture.completedFuture(answer(ballot, sentAtNanos, reply));
                });
    }

    private CompletableFuture<NodeReply> proposed(Ballot ballot, @Nullable OwnerToken former) {
        if (former == null) {
            return node.acquire(ballot);
        }
        return ballot.request().name().isRead() ? node.downgrade(ballot, former) : node.resume(ballot, former);
    }

    private void rememberWaiter(Ballot ballot, Sending sending, NodeReply.Held held) {
        AcquireRequest request = ballot.request();
        if (ballot.claimNanos() > 0) {
            QueuedAnswer answer =
                    new QueuedAnswer(held.incarnation(), held.serverMicros(), sending.nanos(), request.recheckNanos());
            waiters.put(
                    request.owner().attemptId(),
                    new Waiter(
                            request.name(), request.owner(), ballot.reserve(), ballot.claimNanos(), sending, answer));
        }
    }

    private void forgetWaiter(OwnerToken owner) {
        if (!waiters.isEmpty()) {
            waiters.remove(owner.attemptId());
        }
    }

    /** Returns the claim that the hand-over proves, at most one for each answer; null if it proves none. */
    private @Nullable Claim claim(HandOver handOver) {
        Waiter waiter = waiters.remove(handOver.attemptId());
        if (waiter == null || !waiter.wants(handOver)) {
            return null;
        }
        QueuedAnswer answer = waiter.answer();
        OptionalLong fromNanos =
                answer.heldFromNanos(handOver, waiter.sending().countedFromNanos(runtime), runtime.nanoTime());
        return fromNanos.isEmpty()
                ? null
                : new Claim(
                        handOver,
                        new Grant(
                                waiter.owner(),
                                handOver.tokens(),
                                fromNanos.getAsLong(),
                                answer.server(),
                                handOver.slots()),
                        waiter.claimNanos());
    }

    /** Passes the signals of the node on; makes a claim of a hand-over that proves one. */
    private final class NodeSignals extends PassingSignals {

        NodeSignals(StoreSignals signals) {
            super(signals);
        }

        @Override
        public void handedOver(HandOver handOver) {
            if (!begins(handOver)) {
                super.handedOver(handOver);
            }
        }

        /**
         * Whether a lease begins from the message. After an exception, the waiter is woken, which is harmless if its
         * lease has begun.
         */
        private boolean begins(HandOver handOver) {
            try {
                Claim claim = claim(handOver);
                return claim != null && claimed(claim);
            } catch (RuntimeException | Error e) {
                LOG.error("no lease on \"{}\" could begin from a message; its waiter asks again", handOver.name(), e);
                return false;
            }
        }
    }

    /** The reported floor, for as long as the node remembers it. */
    private long floorTold(AcquireRequest request) {
        NodeReply.Stale told = floors.get(request.owner());
        if (told == null) {
            return 0;
        }
        BallotClock clock = clockOf(request.names().get(0));
        synchronized (clock) {
            return clock.isOf(told.incarnation()) ? told.floor() : 0;
        }
    }

    /** Remembers the floor. Without it a waiter would lose its place at each recheck while a clock that was set back is behind. */
    private void remember(AcquireRequest request, NodeReply.Stale stale) {
        if (request.isWaiting() && stale.floor() > stale.serverMicros()) {
            if (floors.size() >= MAX_FLOORS) {
                floors.clear();
            }
            floors.put(request.owner(), stale);
        }
    }

    private NodeReply broken(Ballot ballot, Throwable error) {
        return new NodeReply.Failed(
                FailureKind.UNKNOWN,
                new StoreUnavailableException(
                        "acquiring " + ballot.request().names() + " at " + node.description() + " failed: " + error,
                        error));
    }

    private boolean mayGoOn(BallotSeries series) {
        return series.stale() < MAX_BALLOTS
                && runtime.nanoTime() - series.startAtNanos() < series.request().timeoutNanos();
    }

    /** The node holds something for the owner token, but not what was requested: it must be ended. */
    private AcquireReply unusable(Ballot ballot, NodeReply.Yes yes) {
        String reason = node.description() + " granted the slots " + yes.slots() + " of permits \""
                + ballot.request().name() + "\", and " + ballot.reserve() + " were requested";
        return new AcquireReply.Refused(reason, RETRY_NANOS, ballot.tokens().last(), List.of(), true);
    }

    private AcquireReply answer(Ballot ballot, long sentAtNanos, NodeReply reply) {
        long highest = ballot.tokens().last();
        if (reply instanceof NodeReply.Yes yes) {
            if (ballot.request().names().get(0).isPermits() && yes.slots().size() != ballot.reserve()) {
                return unusable(ballot, yes);
            }
            return new AcquireReply.Granted(
                    new Grant(ballot.request().owner(), ballot.tokens(), sentAtNanos, yes.incarnation(), yes.slots()),
                    List.of());
        } else if (reply instanceof NodeReply.Held held) {
            return held.queued()
                    ? new AcquireReply.Queued(held.holder(), highest, List.of())
                    : new AcquireReply.Busy(held.holder(), highest, List.of());
        } else if (reply instanceof NodeReply.Refused refused) {
            return new AcquireReply.Refused(
                    refused.reason(), refused.retryNanos(), highest, List.of(), refused.spent());
        } else if (reply instanceof NodeReply.Stale stale) {
            return new AcquireReply.Refused(
                    "every fencing token proposed for " + ballot.request().names() + " at " + node.description()
                            + " was overtaken (fence " + stale.floor() + ")",
                    RETRY_NANOS,
                    highest,
                    List.of());
        }
        NodeReply.Failed failed = (NodeReply.Failed) reply;
        return new AcquireReply.Failed(failed.kind(), failed.error(), highest);
    }

    private AcquireReply tokensExhausted(long candidate) {
        return new AcquireReply.Failed(
                FailureKind.PERMANENT,
                new StoreUnavailableException(
                        "fencing token " + candidate + " at " + node.description()
                                + " would reach 2^53; the node's clock or a stored fence is absurd",
                        null),
                0);
    }

    private BallotClock clockOf(LockName name) {
        return clocks.computeIfAbsent(node.part(name), part -> new BallotClock());
    }

    private OptionalLong estimate(BallotClock clock) {
        synchronized (clock) {
            return clock.estimateMicros(runtime.nanoTime());
        }
    }

    private void learn(BallotClock clock, NodeReply.Answered answered, long sentAtNanos) {
        synchronized (clock) {
            clock.answered(answered.incarnation(), answered.serverMicros(), sentAtNanos, runtime.nanoTime());
        }
    }

    @Override
    public void listen(StoreSignals signals) {
        StoreSignals counting = new NodeSignals(signals);
        listener = counting;
        super.listen(counting);
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        floors.remove(request.owner());
        forgetWaiter(request.owner());
        return super.release(request);
    }

    @Override
    public void close() {
        StoreSignals signals = listener;
        if (signals != null) {
            node.unlisten(signals);
        }
        super.close();
    }
}
