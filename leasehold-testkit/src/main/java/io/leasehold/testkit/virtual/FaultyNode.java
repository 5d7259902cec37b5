package io.leasehold.testkit.virtual;

import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.SuccessorRequest;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A node that a client reaches over two {@link VirtualLink}s: requests and replies are delayed, lost, doubled and
 * reordered, while the node behind them is the real one.
 *
 * <p>A request whose reply does not come within its time limit is answered with {@link FailureKind#UNKNOWN}, on the
 * client's own clock; one that is {@linkplain #refuseConnections refused} with {@link FailureKind#NO_EFFECT}. A request
 * that arrives twice is executed twice. Signals travel over the link of the replies. A crashed client sends nothing and
 * is never answered.
 */
public final class FaultyNode implements LockNode, StoreAdmin {

    private static final long ADMIN_TIMEOUT_NANOS = Duration.ofSeconds(5).toNanos();

    private final LockNode node;
    private final VirtualRuntime client;
    private final VirtualLink requests;
    private final VirtualLink replies;
    private final Map<StoreSignals, StoreSignals> listeners = new HashMap<>();
    private PausePlan pauses = PausePlan.NEVER;
    /** Since when the connections are unbroken, by the client's clock. */
    private long connectedAtNanos;

    private boolean refusing;
    private long refused;
    private long reset;
    private long late;

    /**
     * Puts links between a client and a node.
     *
     * @param node the node itself, one object for each client
     * @param client the process of the client
     * @param host the process of the node: while it is frozen, nothing is answered
     */
    public FaultyNode(LockNode node, VirtualRuntime client, VirtualRuntime host) {
        this.node = Objects.requireNonNull(node, "node");
        this.client = Objects.requireNonNull(client, "client");
        this.requests = new VirtualLink(host);
        this.replies = new VirtualLink(client);
        this.connectedAtNanos = client.nanoTime();
    }

    /** The way to the node. */
    public VirtualLink requests() {
        return requests;
    }

    /** The way back. */
    public VirtualLink replies() {
        return replies;
    }

    /** Sets the faults of both ways. */
    public void faults(LinkFaults faults) {
        requests.faults(faults);
        replies.faults(faults);
    }

    /** Sets the plan of the client's pauses at its yield points. */
    public void pauses(PausePlan plan) {
        this.pauses = Objects.requireNonNull(plan, "plan");
    }

    /** Requests that were refused. */
    public long refused() {
        return refused;
    }

    /** Requests whose connection broke after they were sent. */
    public long reset() {
        return reset;
    }

    /** Replies that came after their time limit. */
    public long late() {
        return late;
    }

    /** Makes later requests fail at once without effect, as if no server listened at the port. */
    public void refuseConnections() {
        refusing = true;
    }

    /** Sends later requests again. */
    public void acceptConnections() {
        refusing = false;
    }

    @Override
    public String description() {
        return node.description();
    }

    @Override
    public Guarantees guarantees() {
        return node.guarantees();
    }

    @Override
    public boolean isAtomicOver(List<LockName> names) {
        return node.isAtomicOver(names);
    }

    /** The life of the node that sends a message; null if it does not tell at once. */
    private @Nullable Incarnation incarnation() {
        CompletableFuture<NodeReply> reply = node.probe(0);
        return reply.isDone() && reply.join() instanceof NodeReply.Answered answered ? answered.incarnation() : null;
    }

    @Override
    public void listen(StoreSignals signals) {
        StoreSignals delayed = new StoreSignals() {
            @Override
            public void wake(LockName name) {
                replies.send(() -> signals.wake(name));
            }

            @Override
            public void handedOver(HandOver handOver) {
                Incarnation server = incarnation();
                replies.send(() -> signals.handedOver(
                        handOver.over(server == null ? null : new HandOver.Channel(server, connectedAtNanos))));
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                replies.send(() -> signals.lost(owner, cause));
            }

            @Override
            public void suspended(OwnerToken owner) {
                replies.send(() -> signals.suspended(owner));
            }

            @Override
            public void reconnected() {
                replies.send(signals::reconnected);
            }
        };
        listeners.put(signals, delayed);
        node.listen(delayed);
    }

    @Override
    public void unlisten(StoreSignals signals) {
        StoreSignals delayed = listeners.remove(signals);
        if (delayed != null) {
            node.unlisten(delayed);
        }
    }

    @Override
    public CompletableFuture<NodeReply> probe(long timeoutNanos) {
        return call(timeoutNanos, () -> node.probe(timeoutNanos), NodeReply.Failed::new);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        return call(ballot.request().timeoutNanos(), () -> node.acquire(ballot), NodeReply.Failed::new);
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        return call(ballot.request().timeoutNanos(), () -> node.acquire(ballot, membership), NodeReply.Failed::new);
    }

    @Override
    public CompletableFuture<NodeReply> birth(Birth birth) {
        return call(birth.timeoutNanos(), () -> node.birth(birth), NodeReply.Failed::new);
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        long sentAtNanos = client.nanoTime();
        long pauseNanos = pauses.drawNanos(PausePlan.YieldPoint.IN_RENEWAL);
        if (pauseNanos > 0) {
            client.freeze(Duration.ofNanos(pauseNanos));
        }
        return this.<RenewReply>call(
                        batch.timeoutNanos(), () -> node.renew(batch), (kind, error) -> RenewReply.failed(batch, error))
                .thenApply(reply -> sentAt(reply, sentAtNanos));
    }

    /** The node knows when a batch arrived, on its own clock; what counts is when it was sent, on the client's. */
    private static RenewReply sentAt(RenewReply reply, long sentAtNanos) {
        return new RenewReply(reply.items().stream()
                .map(item -> item instanceof RenewReply.Renewed ? new RenewReply.Renewed(sentAtNanos) : item)
                .toList());
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        return call(request.timeoutNanos(), () -> node.release(request), ReleaseReply.Failed::new);
    }

    /** The operations on permits, without faults; requests for permits have them like others. */
    @Override
    public Optional<StorePermits> permits() {
        return node.permits();
    }

    @Override
    public boolean namesSuccessors() {
        return node.namesSuccessors();
    }

    @Override
    public CompletableFuture<SuccessorReply> nameSuccessor(SuccessorRequest request) {
        return call(request.timeoutNanos(), () -> node.nameSuccessor(request), SuccessorReply.Failed::new);
    }

    @Override
    public boolean keepsTickets() {
        return node.keepsTickets();
    }

    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        return call(request.timeoutNanos(), () -> node.export(request), ExportReply.Failed::new);
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket) {
        return call(ballot.request().timeoutNanos(), () -> node.resume(ballot, ticket), NodeReply.Failed::new);
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket, Resume step, Membership membership) {
        return call(
                ballot.request().timeoutNanos(),
                () -> node.resume(ballot, ticket, step, membership),
                NodeReply.Failed::new);
    }

    @Override
    public boolean keepsReaders() {
        return node.keepsReaders();
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer) {
        return call(ballot.request().timeoutNanos(), () -> node.downgrade(ballot, writer), NodeReply.Failed::new);
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer, Membership membership) {
        return call(
                ballot.request().timeoutNanos(),
                () -> node.downgrade(ballot, writer, membership),
                NodeReply.Failed::new);
    }

    @Override
    public StoreAdmin admin() {
        return this;
    }

    @Override
    public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return ask(() -> node.admin().readers(name, limit));
    }

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return ask(() -> node.admin().describe(name));
    }

    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        return ask(() -> node.admin().list(glob, limit));
    }

    @Override
    public CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        return ask(() -> node.admin().waiters(name, limit));
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        return ask(() -> node.admin().forceRelease(name, holderId));
    }

    @Override
    public void close() {
        node.close();
    }

    /** Creates the reply for a failure. */
    private interface Failure<R> {
        R of(FailureKind kind, StoreUnavailableException error);
    }

    private <R> CompletableFuture<R> call(long timeoutNanos, Supplier<CompletableFuture<R>> work, Failure<R> failure) {
        CompletableFuture<R> reply = new CompletableFuture<>();
        if (client.hasCrashed()) {
            return reply;
        }
        if (refusing) {
            refused++;
            client.deliver(0, () -> reply.complete(failure.of(FailureKind.NO_EFFECT, unavailable("refused"))));
            return reply;
        }
        Runnable unanswered =
                () -> reply.complete(failure.of(FailureKind.UNKNOWN, unavailable("did not answer in time")));
        if (client.world().chance(requests.faults().resetting())) {
            reset++;
            connectedAtNanos = client.nanoTime();
            requests.send(() -> work.get()
                    .whenComplete((answer, error) -> client.deliver(
                            0,
                            () -> reply.complete(failure.of(
                                    FailureKind.UNKNOWN, unavailable("closed the connection after the request"))))));
            client.schedule(timeoutNanos, unanswered);
            return reply;
        }
        transfer(timeoutNanos, work, reply, unanswered);
        return reply;
    }

    private <R> CompletableFuture<R> ask(Supplier<CompletableFuture<R>> work) {
        CompletableFuture<R> reply = new CompletableFuture<>();
        if (client.hasCrashed()) {
            return reply;
        }
        transfer(
                ADMIN_TIMEOUT_NANOS,
                work,
                reply,
                () -> reply.completeExceptionally(unavailable("did not answer in time")));
        return reply;
    }

    private <R> void transfer(
            long timeoutNanos, Supplier<CompletableFuture<R>> work, CompletableFuture<R> reply, Runnable onTimeout) {
        LockRuntime.Timer timer = client.schedule(timeoutNanos, onTimeout);
        Runnable send = () -> requests.send(() -> work.get()
                .whenComplete((answer, error) -> answer(timeoutNanos, () -> {
                    timer.cancel();
                    if (error != null) {
                        reply.completeExceptionally(error);
                    } else {
                        reply.complete(answer);
                    }
                })));
        long pauseNanos = pauses.drawNanos(PausePlan.YieldPoint.BEFORE_SEND);
        if (pauseNanos > 0) {
            client.freeze(Duration.ofNanos(pauseNanos));
            client.deliver(0, send);
        } else {
            send.run();
        }
    }

    private void answer(long timeoutNanos, Runnable arrival) {
        Runnable taken = () -> {
            long pauseNanos = pauses.drawNanos(PausePlan.YieldPoint.AFTER_REPLY);
            if (pauseNanos > 0) {
                client.freeze(Duration.ofNanos(pauseNanos));
                client.deliver(0, arrival);
            } else {
                arrival.run();
            }
        };
        if (client.world().chance(replies.faults().lateness())) {
            late++;
            client.deliver(timeoutNanos + client.world().randomBelow(Math.max(1, timeoutNanos)), taken);
        } else {
            replies.send(taken);
        }
    }

    private StoreUnavailableException unavailable(String what) {
        return new StoreUnavailableException(
                "node " + node.description() + " " + what + " (fault of the virtual network)", null);
    }
}
