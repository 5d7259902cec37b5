package io.leasehold.memory;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.PermitCountException;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.memory.NameState.Held;
import io.leasehold.memory.NameState.Place;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StorePermits;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.TokenRange;
import io.leasehold.spi.toolkit.Glob;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The permits at an {@link InMemoryNode}: the rule of {@link StorePermits}, applied to a map. All state is guarded by
 * the node; signals are sent outside of the guard.
 */
final class InMemoryPermits implements StorePermits {

    private final Object guard;
    private final LockRuntime runtime;
    private final LongSupplier serverMicros;
    private final NodeListeners listeners;
    private final Incarnation incarnation;
    private final Map<LockName, PermitsState> states = new TreeMap<>();
    private final boolean forgets;
    /** The highest fence of all names that were forgotten. */
    private long forgottenFence;

    /**
     * Creates the permits of a node.
     *
     * @param guard the monitor of the node
     * @param serverMicros the clock of the node
     * @param saved the states of an earlier life, which are copied
     * @param forgets whether a name is forgotten after its use
     */
    InMemoryPermits(
            Object guard,
            LockRuntime runtime,
            LongSupplier serverMicros,
            NodeListeners listeners,
            Incarnation incarnation,
            Map<LockName, PermitsState> saved,
            boolean forgets) {
        this.guard = guard;
        this.runtime = runtime;
        this.serverMicros = serverMicros;
        this.listeners = listeners;
        this.incarnation = incarnation;
        this.forgets = forgets;
        saved.forEach((name, state) -> states.put(name, state.copy()));
    }

    /** Returns the states, which stay the property of this object. */
    Map<LockName, PermitsState> states() {
        return states;
    }

    private Serving step(List<Consumer<StoreSignals>> signals) {
        return new Serving(runtime.nanoTime(), serverMicros.getAsLong(), forgottenFence, signals);
    }

    /** Decides on a ballot: the count, the fence, then own or free in the order of the queue. */
    NodeReply decide(Ballot ballot, String store, List<Consumer<StoreSignals>> signals) {
        Serving step = step(signals);
        AcquireRequest request = ballot.request();
        LockName name = request.name();
        PermitsState state = states.computeIfAbsent(name.asPermits(), n -> new PermitsState());
        if (state.count > 0 && state.count != name.permitCount()) {
            return new NodeReply.Failed(
                    FailureKind.PERMANENT, new PermitCountException(name, store, name.permitCount(), state.count));
        }
        state.dropEnded(step.nowNanos());
        NodeReply unacceptable = step.unacceptable(ballot, fenceOf(state), fenceOf(state), incarnation);
        if (unacceptable != null) {
            return unacceptable;
        }
        if (state.count == 0) {
            state.count = name.permitCount();
            state.version = state.count;
        }
        List<Integer> slots = state.slotsOf(request.owner());
        if (slots.isEmpty()) {
            serve(name, state, request.owner(), step);
            slots = state.line.isFirst(request.owner()) ? state.lowestFree(ballot.reserve()) : List.of();
        }
        if (slots.isEmpty()) {
            return busy(ballot, state, step);
        }
        if (ballot.candidate() <= fenceOf(state)) {
            // Others were served before, with larger tokens.
            return new NodeReply.Stale(fenceOf(state), incarnation, step.serverMicros());
        }
        grant(state, slots, ballot, step.nowNanos());
        // A waiter that was only woken has stopped the hand-over of further free slots.
        serve(name.asPermits(), state, null, step);
        return new NodeReply.Yes(incarnation, step.serverMicros(), slots);
    }

    private long fenceOf(PermitsState state) {
        return Math.max(state.line.fence, forgottenFence);
    }

    private static void grant(PermitsState state, List<Integer> slots, Ballot ballot, long nowNanos) {
        AcquireRequest request = ballot.request();
        long endsAtNanos = nowNanos + request.ttlNanos();
        // The slots of an owner token have one end.
        Held own = state.held.get(slots.get(0));
        if (own != null && own.endsAtNanos() - endsAtNanos > 0) {
            endsAtNanos = own.endsAtNanos();
        }
        hold(state, slots, request.owner(), request.holderId(), ballot.candidate(), endsAtNanos);
        state.line.fence = ballot.tokens().last();
        state.line.waiters.remove(request.owner());
    }

    /** Gives the slots to the owner token, each with the next fencing token. */
    private static void hold(
            PermitsState state, List<Integer> slots, OwnerToken owner, String holderId, long token, long endsAtNanos) {
        for (int i = 0; i < slots.size(); i++) {
            state.held.put(slots.get(i), new Held(owner, holderId, token + i, endsAtNanos));
        }
    }

    private NodeReply busy(Ballot ballot, PermitsState state, Serving step) {
        AcquireRequest request = ballot.request();
        if (request.isWaiting()) {
            long forgottenAtNanos = step.nowNanos()
                    + 2 * request.recheckNanos()
                    + Duration.ofSeconds(1).toNanos();
            Place before = state.line.waiters.get(request.owner());
            long sinceAtNanos = before == null ? step.nowNanos() : before.sinceAtNanos();
            state.line.keep(
                    request.owner(),
                    new Place(
                            request.holderId(),
                            false,
                            ballot.reserve(),
                            ballot.claimNanos(),
                            0,
                            sinceAtNanos,
                            forgottenAtNanos));
        }
        Held soonest = state.held.values().stream()
                .min((one, other) -> Long.signum(one.endsAtNanos() - other.endsAtNanos()))
                .orElse(null);
        return new NodeReply.Held(
                soonest == null ? null : soonest.asHolder(step.nowNanos()),
                request.isWaiting(),
                incarnation,
                step.serverMicros());
    }

    /**
     * Gives free slots to the waiters before this caller, in their order: hands over as many as the first one wants,
     * with tokens above the fence, or wakes a waiter that has requested no hand-over, and then stops. It also stops at a
     * waiter that wants more slots than are free.
     */
    private void serve(LockName name, PermitsState state, @Nullable OwnerToken caller, Serving step) {
        while (!state.line.waiters.isEmpty()) {
            Map.Entry<OwnerToken, Place> first =
                    state.line.waiters.entrySet().iterator().next();
            OwnerToken owner = first.getKey();
            Place place = first.getValue();
            if (owner.equals(caller)) {
                return;
            }
            if (place.reserve() > state.count) {
                // The count was lowered: the waiter is refused when it asks again, and must not block those behind it.
                state.line.waiters.remove(owner);
                step.signals().add(listener -> listener.wake(name));
                continue;
            }
            List<Integer> slots = state.lowestFree(place.reserve());
            if (slots.isEmpty()) {
                return;
            }
            if (place.claimNanos() == 0) {
                step.signals().add(listener -> listener.wake(name));
                return;
            }
            TokenRange tokens = TokenRange.of(Math.max(fenceOf(state) + 1, step.serverMicros()), place.reserve());
            hold(state, slots, owner, place.holderId(), tokens.first(), step.nowNanos() + place.claimNanos());
            state.line.fence = tokens.last();
            state.line.waiters.remove(owner);
            HandOver handOver = new HandOver(
                            name.asPermits(state.count), owner.attemptId(), tokens, step.serverMicros())
                    .ofSlots(slots);
            step.signals().add(listener -> listener.handedOver(handOver));
        }
    }

    /** Extends the permits, in whatever slots they are, if the owner token still holds any. */
    RenewReply.Item renew(RenewBatch.Item item, long nowNanos) {
        PermitsState state = states.get(item.name());
        if (state == null) {
            return new RenewReply.NotOurs();
        }
        state.dropEnded(nowNanos);
        List<Integer> slots = state.slotsOf(item.owner());
        slots.forEach(own -> state.held.computeIfPresent(own, (same, held) -> {
            long endsAtNanos = nowNanos + item.ttlNanos();
            return endsAtNanos - held.endsAtNanos() > 0
                    ? new Held(held.owner(), held.holderId(), held.token(), endsAtNanos)
                    : held;
        }));
        return !slots.isEmpty() ? new RenewReply.Renewed(nowNanos) : new RenewReply.NotOurs();
    }

    /** Ends the owner token; returns whether it held a permit. */
    boolean release(LockName name, ReleaseRequest request, List<Consumer<StoreSignals>> signals) {
        Serving step = step(signals);
        PermitsState state = states.computeIfAbsent(name.asPermits(), n -> new PermitsState());
        state.dropEnded(step.nowNanos());
        state.line.waiters.remove(request.owner());
        List<Integer> slots = state.slotsOf(request.owner());
        slots.forEach(state.held::remove);
        long most = Math.max(fenceOf(state), step.serverMicros()) + NameState.MAX_LEAD_MICROS;
        state.line.fence = Math.max(state.line.fence, Math.min(request.ballot(), most));
        serve(name.asPermits(), state, null, step);
        forgetUnused(name, state, step.serverMicros());
        return !slots.isEmpty();
    }

    @Override
    public boolean takesSeveral() {
        return true;
    }

    @Override
    public CompletableFuture<Optional<PermitsStatus>> describe(LockName name) {
        synchronized (guard) {
            return CompletableFuture.completedFuture(status(name, runtime.nanoTime()));
        }
    }

    private Optional<PermitsStatus> status(LockName name, long nowNanos) {
        PermitsState state = states.get(name);
        if (state == null || state.count == 0) {
            return Optional.empty();
        }
        state.dropEnded(nowNanos);
        return Optional.of(state.status(name.asPermits(), nowNanos));
    }

    @Override
    public CompletableFuture<List<PermitsStatus>> list(String glob, int limit) {
        Glob names = Glob.of(glob);
        List<PermitsStatus> found = new ArrayList<>();
        synchronized (guard) {
            long nowNanos = runtime.nanoTime();
            for (LockName name : states.keySet()) {
                if (found.size() < limit && names.matches(name)) {
                    status(name, nowNanos)
                            .filter(permits -> !permits.held().isEmpty())
                            .ifPresent(found::add);
                }
            }
        }
        return CompletableFuture.completedFuture(found);
    }

    /** Returns the waiters of the name, by owner token. */
    Map<OwnerToken, Place> waiters(LockName name, long nowNanos) {
        PermitsState state = states.get(name);
        if (state == null) {
            return Map.of();
        }
        state.dropEnded(nowNanos);
        return state.line.waiters;
    }

    @Override
    public CompletableFuture<Boolean> change(LockName name, int count, long version) {
        return stepped(step -> change(name, count, version, step));
    }

    /** Performs a step, and then sends its signals. */
    private CompletableFuture<Boolean> stepped(Predicate<Serving> work) {
        List<Consumer<StoreSignals>> signals = new ArrayList<>(1);
        boolean done;
        synchronized (guard) {
            done = work.test(step(signals));
        }
        listeners.send(signals);
        return CompletableFuture.completedFuture(done);
    }

    /** Changes the count; slots that become grantable are given to waiters. */
    private boolean change(LockName name, int count, long version, Serving step) {
        PermitsState state = states.computeIfAbsent(name.asPermits(), n -> new PermitsState());
        if (state.version != version) {
            return false;
        }
        state.count = count;
        // Above the versions of clients, so that it is not forgotten as a count that a client has set.
        state.version = Math.max(version, LockName.MAX_PERMITS) + 1;
        state.dropEnded(step.nowNanos());
        serve(name.asPermits(), state, null, step);
        return true;
    }

    @Override
    public CompletableFuture<Boolean> forceRelease(LockName name, int slot, @Nullable String holderId) {
        return stepped(step -> forceRelease(name, slot, holderId, step));
    }

    private boolean forceRelease(LockName name, int slot, @Nullable String holderId, Serving step) {
        PermitsState state = states.get(name);
        if (state == null) {
            return false;
        }
        state.dropEnded(step.nowNanos());
        Held removed = state.held.get(slot);
        if (removed == null || (holderId != null && !holderId.equals(removed.holderId()))) {
            return false;
        }
        state.line.fence = Math.max(fenceOf(state), step.serverMicros());
        state.slotsOf(removed.owner()).forEach(state.held::remove);
        step.signals().add(listener -> listener.lost(removed.owner(), LossCause.FORCE_RELEASED));
        serve(name.asPermits(), state, null, step);
        forgetUnused(name, state, step.serverMicros());
        return true;
    }

    private void forgetUnused(LockName name, PermitsState state, long serverMicros) {
        if (forgets && retire(state, serverMicros)) {
            states.remove(name);
        }
    }

    private boolean retire(PermitsState state, long floor) {
        if (!state.isUnused() || state.line.fence > floor) {
            return false;
        }
        if (forgets) {
            forgottenFence = Math.max(forgottenFence, state.line.fence);
        }
        return true;
    }

    /** Removes names that were not used since their fence was below this floor. */
    void sweep(long nowNanos, long floor) {
        for (Iterator<PermitsState> all = states.values().iterator(); all.hasNext(); ) {
            PermitsState state = all.next();
            state.dropEnded(nowNanos);
            if (retire(state, floor)) {
                all.remove();
            }
        }
    }
}
