package io.leasehold.simulator;

import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.memory.NodeImage;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.PassingSignals;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreAdmin;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.SuccessorReply;
import io.leasehold.spi.SuccessorRequest;
import io.leasehold.testkit.virtual.ClockShape;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A server: a node that can crash, return with its whole state, none of it or most of it, and be replaced by a lagging
 * replica. It reports grants and hand-overs to an owner token that it has already ended. For the thread of its world.
 */
public final class SimulatedNode implements LockNode, StoreAdmin {

    private static final int MAX_LAG = 8;

    /** A waiter loses its place if it does not retry for two rechecks and this time. */
    private static final Duration SILENCE = Duration.ofSeconds(1);

    private final VirtualRuntime host;
    private final UnaryOperator<LockNode> variant;
    private final Consumer<String> problems;
    private final List<String> seen = new ArrayList<>(0);
    /** The images on disks and replicas, oldest first; kept only if writes may be lost. */
    private final Deque<NodeImage> written = new ArrayDeque<>();

    private final boolean keepsImages;
    private final Map<StoreSignals, StoreSignals> listeners = new LinkedHashMap<>();
    private final Set<OwnerToken> ended = new HashSet<>();
    private final Set<OwnerToken> waited = new HashSet<>();
    /** Attempts that have ended and had waited. */
    private final Set<String> endedAttempts = new HashSet<>();

    private final List<HandOver> pushes = new ArrayList<>(1);
    /** The end of the place of a waiting attempt that does not retry. */
    private final Map<String, Long> silentFromNanos = new HashMap<>();

    private final KeptGrants grants;
    /** The waiters that it may hand a lock over to, by attempt. */
    private final Map<String, Claimant> claimants = new HashMap<>();

    private record Claimant(OwnerToken owner, long claimNanos) {}

    private final ModelTrace trace;
    private InMemoryNode memory;
    private LockNode node;
    private boolean down;
    private Duration wrong = Duration.ZERO;

    /** Creates a fresh, empty node in a separate process. */
    public SimulatedNode(VirtualRuntime host) {
        this(host, node -> node);
    }

    /**
     * Creates a fresh, empty node with a change, to see its effect.
     *
     * @param variant wraps each of its lives
     */
    public SimulatedNode(VirtualRuntime host, UnaryOperator<LockNode> variant) {
        this(host, variant, true, problem -> {});
    }

    SimulatedNode(
            VirtualRuntime host, UnaryOperator<LockNode> variant, boolean keepsImages, Consumer<String> problems) {
        this.host = host;
        this.variant = variant;
        this.keepsImages = keepsImages;
        this.problems = ((Consumer<String>) seen::add).andThen(problems);
        this.trace = new ModelTrace(this.problems);
        this.grants = new KeptGrants(host);
        this.memory = new InMemoryNode(host);
        this.node = variant.apply(memory);
        remember();
    }

    /** Its process. */
    public VirtualRuntime host() {
        return host;
    }

    /** The violations of the rules by requests and replies, as text. */
    public List<String> problems() {
        return List.copyOf(seen);
    }

    private void remember() {
        if (keepsImages) {
            written.addLast(memory.image());
            if (written.size() > MAX_LAG + 1) {
                written.removeFirst();
            }
        }
    }

    /** Steps its clock. */
    public void stepClock(Duration by) {
        wrong = wrong.plus(by);
        // Keys expire by the first; after a restart it reports the time by the second.
        host.monotonicClock(new ClockShape.Step(by));
        host.wallClock(new ClockShape.Step(by));
    }

    /** Corrects its clock. */
    void correctClock() {
        if (!wrong.isZero()) {
            stepClock(wrong.negated());
        }
    }

    /** Takes the node down for a while; it returns with its state. */
    public void crash(Duration away) {
        NodeImage all = memory.image();
        goDown(away, () -> startWith(all));
    }

    /** Takes the node down for a while; it returns empty. */
    public void crashAndLoseAll(Duration away) {
        goDown(away, this::forget);
    }

    /** Simulates an empty restart behind a proxy: the state is lost, but the connections stay. */
    public void forget() {
        written.clear();
        trace.forgets();
        startAfterLoss(null);
    }

    /** Takes the node down for a while; it returns without its last writes. */
    public void crashAndLoseLast(int writes, Duration away) {
        NodeImage older = older(writes);
        goDown(away, () -> startAfterLoss(older));
    }

    /** Replaces the node by another one that lacks the last writes. */
    public void failOver(int writes) {
        startAfterLoss(older(writes));
    }

    private void startAfterLoss(@Nullable NodeImage image) {
        ended.clear();
        endedAttempts.clear();
        startWith(image);
    }

    /** TIME on the node. */
    long micros() {
        return memory.probe(0).join() instanceof NodeReply.Answered answered ? answered.serverMicros() : 0;
    }

    /** Whether it ever granted this token to this owner token, in any of its lives. */
    boolean everGranted(LockName name, long token, OwnerToken owner) {
        return grants.everGranted(name, token, owner);
    }

    /** Whether it has promised to keep this hold until then, in the world's time. */
    boolean keepsUntil(LockName name, OwnerToken owner, long worldNanos) {
        return grants.keepsUntil(name, owner, worldNanos);
    }

    /** The number of steps that were compared with the formal model. */
    long modelSteps() {
        return trace.steps();
    }

    private NodeImage older(int writes) {
        trace.followsNoMore();
        // A waiter of the older state may count as alive for longer than it said since, if the clock was set back.
        silentFromNanos.clear();
        for (int i = 0; i < writes && written.size() > 1; i++) {
            written.removeLast();
        }
        return written.isEmpty() ? memory.image() : written.getLast();
    }

    private void goDown(Duration away, Runnable start) {
        if (down) {
            return;
        }
        down = true;
        host.world().after(away, () -> {
            down = false;
            start.run();
        });
    }

    private void startWith(@Nullable NodeImage image) {
        memory = image == null ? new InMemoryNode(host) : new InMemoryNode(host, image);
        node = variant.apply(memory);
        remember();
        listeners.values().forEach(node::listen);
        listeners.keySet().forEach(StoreSignals::reconnected);
    }

    @SuppressWarnings("NullAway") // null means that there is no reply yet
    private <R> CompletableFuture<R> write(Supplier<CompletableFuture<R>> request) {
        if (down) {
            return new CompletableFuture<>();
        }
        pushes.clear();
        CompletableFuture<R> reply = request.get();
        R answer = reply.getNow(null);
        // A refused request has written nothing that could be lost.
        if (!(answer instanceof NodeReply) || answer instanceof NodeReply.Yes || answer instanceof NodeReply.Unborn) {
            remember();
        }
        return reply;
    }

    private CompletableFuture<NodeReply> granting(Ballot ballot, Supplier<CompletableFuture<NodeReply>> request) {
        return write(() -> {
            CompletableFuture<NodeReply> reply = request.get();
            OwnerToken owner = ballot.request().owner();
            if (ballot.claimNanos() > 0 && !ended.contains(owner)) {
                waited.add(owner);
            } else if (ballot.claimNanos() > 0) {
                endedAttempts.add(owner.attemptId());
            }
            NodeReply told = reply.getNow(null);
            if (told != null) {
                trace.acquired(ballot, told, pushes, host.nanoTime(), micros());
            }
            if (told instanceof NodeReply.Yes) {
                AcquireRequest asked = ballot.request();
                asked.names().forEach(name -> grants.granted(name, owner, ballot.tokens(), asked.ttlNanos()));
            } else if (told instanceof NodeReply.Held held && held.queued()) {
                claimants.put(owner.attemptId(), new Claimant(owner, ballot.claimNanos()));
                silentFromNanos.put(
                        owner.attemptId(),
                        host.nanoTime() + 2 * ballot.request().recheckNanos() + SILENCE.toNanos());
            }
            if (told instanceof NodeReply.Yes && ended.contains(owner)) {
                problems.accept("zombie: an ended owner token was granted "
                        + ballot.request().names() + " by " + host.name() + " at "
                        + host.world().elapsed());
            }
            return reply;
        });
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        return granting(ballot, () -> node.acquire(ballot));
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        return granting(ballot, () -> node.acquire(ballot, membership));
    }

    @Override
    public boolean namesSuccessors() {
        return node.namesSuccessors();
    }

    /** The model of a node keeps the order of arrival, so the trace ends with the first named successor. */
    @Override
    public CompletableFuture<SuccessorReply> nameSuccessor(SuccessorRequest request) {
        trace.followsNoMore();
        return write(() -> node.nameSuccessor(request));
    }

    @Override
    public boolean keepsTickets() {
        return node.keepsTickets();
    }

    /** The model of a node has no tickets, so the trace ends with the first one. */
    @Override
    public CompletableFuture<ExportReply> export(ExportRequest request) {
        return write(() -> {
            trace.followsNoMore();
            ended.add(request.owner());
            return node.export(request);
        });
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket) {
        return granting(ballot, () -> node.resume(ballot, ticket));
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket, Resume step, Membership membership) {
        return granting(ballot, () -> node.resume(ballot, ticket, step, membership));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        return write(() -> {
            ended.add(request.owner());
            if (waited.remove(request.owner())) {
                endedAttempts.add(request.owner().attemptId());
            }
            CompletableFuture<ReleaseReply> reply = node.release(request);
            ReleaseReply told = reply.getNow(null);
            if (told != null) {
                trace.released(request, told, pushes, host.nanoTime(), micros());
            }
            return reply;
        });
    }

    @Override
    public CompletableFuture<NodeReply> birth(Birth birth) {
        return write(() -> node.birth(birth));
    }

    @Override
    public CompletableFuture<RenewReply> renew(RenewBatch batch) {
        return write(() -> {
            CompletableFuture<RenewReply> reply = node.renew(batch);
            RenewReply told = reply.getNow(null);
            if (told != null) {
                trace.renewed(batch, told, host.nanoTime(), micros());
                for (int i = 0; i < batch.items().size(); i++) {
                    RenewBatch.Item item = batch.items().get(i);
                    if (told.items().get(i) instanceof RenewReply.Renewed) {
                        grants.keeps(item.name(), item.owner(), item.ttlNanos());
                    }
                }
            }
            return reply;
        });
    }

    // ---- readers, which the formal model of an exclusive lock does not know

    @Override
    public boolean keepsReaders() {
        return node.keepsReaders();
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer) {
        trace.followsNoMore();
        return granting(ballot, () -> node.downgrade(ballot, writer));
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer, Membership membership) {
        trace.followsNoMore();
        return granting(ballot, () -> node.downgrade(ballot, writer, membership));
    }

    @Override
    public CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        return down ? new CompletableFuture<>() : node.admin().readers(name, limit);
    }

    /** The operations on permits, without faults; requests for permits have them like others. */
    @Override
    public Optional<StorePermits> permits() {
        return node.permits();
    }

    @Override
    public StoreAdmin admin() {
        return this;
    }

    @Override
    public CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        return down ? new CompletableFuture<>() : node.admin().waiters(name, limit);
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        // An operator's decision that may violate S1; the model has no such step.
        trace.followsNoMore();
        return write(() -> node.admin().forceRelease(name, holderId));
    }

    @Override
    public CompletableFuture<NodeReply> probe(long timeoutNanos) {
        return down ? new CompletableFuture<>() : node.probe(timeoutNanos);
    }

    @Override
    public CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        return down ? new CompletableFuture<>() : node.admin().describe(name);
    }

    @Override
    public CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        return down ? new CompletableFuture<>() : node.admin().list(glob, limit);
    }

    @Override
    public boolean isAtomicOver(List<LockName> names) {
        return node.isAtomicOver(names);
    }

    @Override
    public String description() {
        return host.name();
    }

    @Override
    public Guarantees guarantees() {
        return node.guarantees();
    }

    /** A hand-over is a grant for the claim time. */
    private void handed(HandOver handOver) {
        Claimant to = claimants.get(handOver.attemptId());
        if (to != null) {
            grants.granted(handOver.name(), to.owner(), handOver.tokens(), to.claimNanos());
        }
    }

    /** Also receives every hand-over, so that none to an ended owner token goes unnoticed. */
    private final class NodeListener extends PassingSignals {

        NodeListener(StoreSignals signals) {
            super(signals);
        }

        @Override
        public void handedOver(HandOver handOver) {
            if (listeners.values().iterator().next() == this) {
                pushes.add(handOver);
                handed(handOver);
                if (endedAttempts.contains(handOver.attemptId())) {
                    problems.accept("zombie: an ended owner token was handed " + handOver.name() + " by " + host.name()
                            + " at " + host.world().elapsed());
                }
                Long silentFrom = silentFromNanos.get(handOver.attemptId());
                if (silentFrom != null && host.nanoTime() - silentFrom > 0) {
                    problems.accept("liveness: a waiter that was silent for longer than two rechecks and " + SILENCE
                            + " was handed " + handOver.name() + " by " + host.name() + " at "
                            + host.world().elapsed());
                }
            }
            super.handedOver(handOver);
        }
    }

    @Override
    public void listen(StoreSignals signals) {
        NodeListener listener = new NodeListener(signals);
        listeners.put(signals, listener);
        node.listen(listener);
    }

    @Override
    public void unlisten(StoreSignals signals) {
        StoreSignals listener = listeners.remove(signals);
        if (listener != null) {
            node.unlisten(listener);
        }
    }

    @Override
    public void close() {
        // Other clients continue.
    }
}
