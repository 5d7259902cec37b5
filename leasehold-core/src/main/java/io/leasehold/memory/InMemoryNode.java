package io.leasehold.memory;

import io.leasehold.Guarantee;
import io.leasehold.Guarantees;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.memory.NameState.Held;
import io.leasehold.memory.NameState.Place;
import io.leasehold.node.Ballot;
import io.leasehold.node.Birth;
import io.leasehold.node.LockNode;
import io.leasehold.node.Membership;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.ExportRequest;
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
import io.leasehold.spi.toolkit.Glob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A node in this process, which applies the grant rule of {@link LockNode} to a map.
 *
 * <p>Several clients may share one instance, in one process or in a simulation. Its clock is the runtime's wall clock at its
 * creation plus the monotonic time since, so it never jumps.
 *
 * <p>As every node, it keeps the fence of a name for a while after its last use, so that a clock that was set back or a
 * node that restarts never grants a token twice. A node of {@code memory:} needs no such memory: nothing outlives it. It
 * forgets a name once it has neither a holder nor waiters and the clock has passed its fence. The highest fence that it has
 * forgotten is the floor for all names, so that the tokens of each name increase.
 *
 * <p>All state is guarded by {@code this}; signals are sent outside of it.
 */
public final class InMemoryNode implements LockNode, StoreAdmin {

    private static final int SWEEP_EVERY = 4_096;

    private final LockRuntime runtime;
    private final Incarnation incarnation;
    private final long birthMicros;
    private final long birthAtNanos;
    private final NodeListeners listeners = new NodeListeners();
    private final Map<LockName, NameState> entries = new TreeMap<>();
    private final InMemoryPermits permits;
    private final InMemoryReaders readers;
    private final MemberMarker marker;
    private final boolean forgets;
    /** The highest fence of all names that were forgotten; never ahead of the clock. */
    private long forgottenFence;

    private int requestsSinceSweep;

    /** Creates an empty node. */
    public InMemoryNode(LockRuntime runtime) {
        this(runtime, NodeImage.EMPTY);
    }

    /**
     * Creates a node that restarts, or takes over, with the saved state of another one, as a new incarnation.
     *
     * @param runtime the runtime of the saved node; the times of keys refer to its clock
     */
    public InMemoryNode(LockRuntime runtime, NodeImage image) {
        this(runtime, image, false);
    }

    /** Creates a node that forgets each name after its use: no other node continues with its state. */
    static InMemoryNode ofOneProcess(LockRuntime runtime) {
        return new InMemoryNode(runtime, NodeImage.EMPTY, true);
    }

    private InMemoryNode(LockRuntime runtime, NodeImage image, boolean forgets) {
        this.runtime = runtime;
        this.forgets = forgets;
        this.marker = image.marker();
        this.entries.putAll(image.entries());
        this.birthMicros = runtime.wallMillis() * 1_000;
        this.birthAtNanos = runtime.nanoTime();
        byte[] id = new byte[8];
        runtime.randomBytes(id);
        this.incarnation = new Incarnation(java.util.HexFormat.of().formatHex(id));
        this.readers = new InMemoryReaders(this::entry, incarnation);
        this.permits = new InMemoryPermits(
                this, runtime, this::serverMicros, listeners, incarnation, image.permits(), forgets);
    }

    @Override
    public Optional<StorePermits> permits() {
        return Optional.of(permits);
    }

    /** The current state, as a disk or a replica would have it. */
    public synchronized NodeImage image() {
        if (forgets) {
            throw new IllegalStateException("a node that forgets unused names has no image: their fences are gone");
        }
        return new NodeImage(entries, permits.states(), marker);
    }

    @Override
    public boolean isAtomicOver(List<LockName> names) {
        return true;
    }

    @Override
    public CompletableFuture<NodeReply> probe(long timeoutNanos) {
        return CompletableFuture.completedFuture(new NodeReply.Stale(0, incarnation, serverMicros()));
    }

    @Override
    public CompletableFuture<NodeReply> acquire(Ballot ballot) {
        List<Consumer<StoreSignals>> signals = new ArrayList<>(0);
        NodeReply reply;
        synchronized (this) {
            sweepSometimes();
            LockName first = ballot.request().names().get(0);
            if (first.isPermits()) {
                reply = permits.decide(ballot, description(), signals);
            } else {
                reply = first.isRead() ? readers.decide(ballot, step(signals)) : decide(ballot, true, signals);
            }
        }
        listeners.send(signals);
        return CompletableFuture.completedFuture(reply);
    }

    @Override
    public synchronized CompletableFuture<NodeReply> acquire(Ballot ballot, Membership membership) {
        sweepSometimes();
        boolean reads = ballot.request().names().get(0).isRead();
        return atMember(
                membership,
                step -> reads ? readers.decideAsMember(ballot, step) : decide(ballot, false, step.signals()));
    }

    /** Decides after the checks of a member of a set, which never hands over. So it sends no signals. */
    private CompletableFuture<NodeReply> atMember(Membership membership, Function<Serving, NodeReply> decision) {
        NodeReply refusal = marker.refusal(membership, incarnation, serverMicros());
        return CompletableFuture.completedFuture(refusal != null ? refusal : decision.apply(step(new ArrayList<>(0))));
    }

    @Override
    public synchronized CompletableFuture<NodeReply> birth(Birth birth) {
        return CompletableFuture.completedFuture(marker.birth(birth, incarnation, serverMicros()));
    }

    /**
     * The grant rule over all names of the request: floor, then own or free, all or none.
     *
     * @param inOrder whether a free lock goes to its first waiter alone
     */
    private NodeReply decide(Ballot ballot, boolean inOrder, List<Consumer<StoreSignals>> signals) {
        AcquireRequest request = ballot.request();
        long nowNanos = runtime.nanoTime();
        long serverMicros = serverMicros();
        long lowest = Long.MAX_VALUE;
        long highest = forgottenFence;
        for (LockName name : request.names()) {
            NameState entry = entry(name);
            entry.dropSilentWaiters(nowNanos);
            lowest = Math.min(lowest, Math.max(forgottenFence, entry.fence));
            highest = Math.max(highest, entry.fence);
        }
        NodeReply unacceptable = step(signals).unacceptable(ballot, lowest, highest, incarnation);
        if (unacceptable != null) {
            return unacceptable;
        }
        for (LockName name : request.names()) {
            NameState entry = entry(name);
            Held held = entry.heldAt(nowNanos);
            boolean own = held != null && held.owner().equals(request.owner());
            boolean isNext = inOrder ? entry.isFirst(request.owner()) : entry.letsPass(ballot);
            if (!own && (entry.isHeld(nowNanos) || !isNext)) {
                step(signals).serve(name, entry);
                if (!inOrder) {
                    entry.forgetPlaceOf(request.holderId(), false);
                }
                return busy(ballot, entry, nowNanos, serverMicros);
            }
        }
        for (LockName name : request.names()) {
            if (!inOrder) {
                entry(name).forgetPlaceOf(request.holderId(), false);
            }
            entry(name).grant(ballot, nowNanos);
        }
        return new NodeReply.Yes(incarnation, serverMicros);
    }

    private NameState entry(LockName name) {
        return entries.computeIfAbsent(name, n -> new NameState());
    }

    private NodeReply busy(Ballot ballot, NameState entry, long nowNanos, long serverMicros) {
        AcquireRequest request = ballot.request();
        if (request.isWaiting()) {
            entry.enqueue(ballot, nowNanos);
        }
        return new NodeReply.Held(entry.holder(nowNanos), request.isWaiting(), incarnation, serverMicros);
    }

    @Override
    public boolean keepsTickets() {
        return true;
    }

    @Override
    public synchronized CompletableFuture<ExportReply> export(ExportRequest request) {
        NameState entry = entry(request.name());
        entry.raise(request.ballot(), serverMicros());
        boolean isKept = entry.export(request, runtime.nanoTime());
        forgetUnused(request.name(), entry);
        return CompletableFuture.completedFuture(isKept ? new ExportReply.Exported() : new ExportReply.NotOurs());
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket) {
        return resume(ballot, entry -> entry.resume(ballot, ticket, runtime.nanoTime()), null);
    }

    @Override
    public CompletableFuture<NodeReply> resume(Ballot ballot, OwnerToken ticket, Resume step, Membership membership) {
        return resume(ballot, entry -> entry.resume(ballot, ticket, step, runtime.nanoTime()), membership);
    }

    private synchronized CompletableFuture<NodeReply> resume(
            Ballot ballot, Predicate<NameState> swap, @Nullable Membership membership) {
        NodeReply refusal = membership == null ? null : marker.refusal(membership, incarnation, serverMicros());
        NameState entry = entry(ballot.request().name());
        NodeReply reply = refusal != null ? refusal : step(List.of()).resumed(ballot, entry, swap, incarnation);
        forgetUnused(ballot.request().name(), entry);
        return CompletableFuture.completedFuture(reply);
    }

    @Override
    public boolean keepsReaders() {
        return true;
    }

    @Override
    public CompletableFuture<NodeReply> downgrade(Ballot ballot, OwnerToken writer) {
        List<Consumer<StoreSignals>> signals = new ArrayList<>(0);
        NodeReply reply;
        synchronized (this) {
            reply = readers.downgrade(ballot, writer, step(signals));
        }
        listeners.send(signals);
        return CompletableFuture.completedFuture(reply);
    }

    @Override
    public synchronized CompletableFuture<NodeReply> downgrade(
            Ballot ballot, OwnerToken writer, Membership membership) {
        // Waiters are woken when the owner token of the writer ends, which follows at every member.
        return atMember(membership, step -> readers.downgrade(ballot, writer, step));
    }

    @Override
    public synchronized CompletableFuture<RenewReply> renew(RenewBatch batch) {
        long nowNanos = runtime.nanoTime();
        List<RenewReply.Item> answers = new ArrayList<>(batch.items().size());
        for (RenewBatch.Item item : batch.items()) {
            if (item.name().isPermits()) {
                answers.add(permits.renew(item, nowNanos));
                continue;
            }
            NameState entry = entries.get(item.name().asExclusive());
            answers.add(entry == null ? new RenewReply.NotOurs() : entry.renew(item, nowNanos));
        }
        return CompletableFuture.completedFuture(new RenewReply(answers));
    }

    @Override
    public CompletableFuture<ReleaseReply> release(ReleaseRequest request) {
        boolean released = false;
        boolean awaited;
        List<Consumer<StoreSignals>> signals = new ArrayList<>(0);
        synchronized (this) {
            for (LockName name : request.names()) {
                if (name.isPermits()) {
                    released |= permits.release(name, request, signals);
                    continue;
                }
                if (name.isRead()) {
                    LockName exclusive = name.asExclusive();
                    released |= readers.release(exclusive, request, step(signals));
                    forgetUnused(exclusive, entry(exclusive));
                    continue;
                }
                NameState entry = entry(name);
                released |= entry.end(request, runtime.nanoTime());
                entry.raise(request.ballot(), serverMicros());
                step(signals).serve(name, entry);
                forgetUnused(name, entry);
            }
            awaited = !signals.isEmpty();
        }
        listeners.send(signals);
        return CompletableFuture.completedFuture(
                released ? new ReleaseReply.Released(List.of(), awaited) : new ReleaseReply.NotOurs());
    }

    @Override
    public boolean namesSuccessors() {
        return true;
    }

    @Override
    public synchronized CompletableFuture<SuccessorReply> nameSuccessor(SuccessorRequest request) {
        NameState entry = entries.get(request.name());
        return CompletableFuture.completedFuture(
                entry == null ? new SuccessorReply.NotOurs() : entry.nameSuccessor(request, runtime.nanoTime()));
    }

    @Override
    public StoreAdmin admin() {
        return this;
    }

    @Override
    public synchronized CompletableFuture<Optional<HeldLock>> describe(LockName name) {
        long nowNanos = runtime.nanoTime();
        NameState entry = entries.get(name.asExclusive());
        Holder holder = entry == null ? null : entry.holder(nowNanos);
        return CompletableFuture.completedFuture(Optional.ofNullable(holder).map(h -> new HeldLock(name, h)));
    }

    @Override
    public synchronized CompletableFuture<List<HeldLock>> list(String glob, int limit) {
        Glob names = Glob.of(glob);
        long nowNanos = runtime.nanoTime();
        List<HeldLock> found = new ArrayList<>();
        for (Map.Entry<LockName, NameState> e : entries.entrySet()) {
            Holder holder = e.getValue().holder(nowNanos);
            if (holder != null && found.size() < limit && names.matches(e.getKey())) {
                found.add(new HeldLock(e.getKey(), holder));
            }
        }
        return CompletableFuture.completedFuture(found);
    }

    @Override
    public synchronized CompletableFuture<List<QueuedWaiter>> waiters(LockName name, int limit) {
        long nowNanos = runtime.nanoTime();
        return CompletableFuture.completedFuture(places(name, nowNanos).stream()
                .limit(limit)
                .map(place -> new QueuedWaiter(place.holderId(), Duration.ofNanos(nowNanos - place.sinceAtNanos())))
                .toList());
    }

    /** Returns the places in the queue of this name, in their order. */
    private Collection<Place> places(LockName name, long nowNanos) {
        if (name.isPermits()) {
            return permits.waiters(name, nowNanos).values();
        }
        NameState entry = entries.get(name.asExclusive());
        return entry == null ? List.of() : entry.waitersAt(nowNanos);
    }

    @Override
    public synchronized CompletableFuture<List<Holder>> readers(LockName name, int limit) {
        NameState entry = entries.get(name.asExclusive());
        return CompletableFuture.completedFuture(
                entry == null ? List.of() : entry.readers.holders(runtime.nanoTime(), limit));
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, @Nullable String holderId) {
        List<Consumer<StoreSignals>> signals = new ArrayList<>(2);
        boolean removed = false;
        synchronized (this) {
            LockName exclusive = name.asExclusive();
            NameState entry = entries.get(exclusive);
            if (entry != null) {
                removed = (!name.isRead() && step(signals).forceRelease(exclusive, entry, holderId))
                        || readers.forceRelease(exclusive, entry, holderId, step(signals));
                forgetUnused(exclusive, entry);
            }
        }
        listeners.send(signals);
        return CompletableFuture.completedFuture(removed);
    }

    private Serving step(List<Consumer<StoreSignals>> signals) {
        return new Serving(runtime.nanoTime(), serverMicros(), forgottenFence, signals);
    }

    private long serverMicros() {
        return birthMicros + (runtime.nanoTime() - birthAtNanos) / 1_000;
    }

    private void forgetUnused(LockName name, NameState entry) {
        if (forgets && retire(entry, serverMicros())) {
            entries.remove(name);
        }
    }

    /** Whether to remove this entry: it has neither a holder nor waiters, and its fence is not above this floor. */
    private boolean retire(NameState entry, long floor) {
        if (entry.held != null || !entry.readers.isEmpty() || !entry.waiters.isEmpty() || entry.fence > floor) {
            return false;
        }
        if (forgets) {
            forgottenFence = Math.max(forgottenFence, entry.fence);
        }
        return true;
    }

    /** Returns the number of names of which something is kept. */
    synchronized int names() {
        return entries.size();
    }

    /**
     * Removes names whose fence is older than the clock by more than the retention, if there is one, so that one-off
     * names leave nothing behind.
     */
    private void sweepSometimes() {
        if (++requestsSinceSweep < Math.max(SWEEP_EVERY, entries.size())) {
            return;
        }
        requestsSinceSweep = 0;
        long nowNanos = runtime.nanoTime();
        long floor = serverMicros() - (forgets ? 0 : Serving.RETENTION_MICROS);
        permits.sweep(nowNanos, floor);
        entries.values().removeIf(entry -> {
            entry.dropSilentWaiters(nowNanos);
            entry.isHeld(nowNanos);
            return retire(entry, floor);
        });
    }

    @Override
    public String description() {
        return "memory:";
    }

    @Override
    public Guarantees guarantees() {
        return new Guarantees(
                Guarantee.Exclusion.WITHIN_DRIFT,
                Guarantee.Fencing.INCREASING,
                Guarantee.Queueing.FIFO,
                Guarantee.Scope.PROCESS);
    }

    @Override
    public void listen(StoreSignals signals) {
        listeners.add(signals);
    }

    @Override
    public void unlisten(StoreSignals signals) {
        listeners.remove(signals);
    }

    /** Does nothing: the node may have other clients. */
    @Override
    public void close() {}
}
