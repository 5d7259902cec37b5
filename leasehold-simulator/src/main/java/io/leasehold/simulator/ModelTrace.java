package io.leasehold.simulator;

import io.leasehold.LockName;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The node of the formal model, transcribed: every step of a simulated node must be a step of {@code NodeAcquire},
 * {@code NodeRenew}, {@code NodeRelease} or {@code HandOver} in {@code verify/model/SingleNode.tla}, or one that
 * changes nothing there.
 *
 * <p>It is transcribed by hand, action for action, with the model's names; it shares no code with the node. It leaves
 * open what the model leaves open (order and dropping of waiters). It stops following a node that returns without its
 * last writes, since the model has no such step. It also stops after a clock was set back so far that an expired key
 * may live again: whether the key was deleted meanwhile is the node's choice.
 */
final class ModelTrace {

    private static final long RETENTION = 60_000_000L;
    private static final long BOUND = 7_500_000L;

    private final Consumer<String> problems;
    private final Map<LockName, State> states = new HashMap<>();
    private boolean following = true;
    private long steps;

    ModelTrace(Consumer<String> problems) {
        this.problems = problems;
    }

    /** The variables key, fence, queue and finished of one lock, and High of each owner token. */
    private static final class State {
        private @Nullable OwnerToken key;
        private long expAtNanos;
        private boolean expired;
        private long fence;
        private final Map<OwnerToken, Long> queue = new HashMap<>();
        private final Set<OwnerToken> finished = new HashSet<>();
        private final Map<OwnerToken, Long> high = new HashMap<>();

        /** Tick: an expired key is deleted. */
        void tick(long nowNanos) {
            if (key != null && nowNanos - expAtNanos >= 0) {
                key = null;
                expired = true;
            }
        }

        boolean mayLiveAgain(long nowNanos) {
            return key == null && expired && nowNanos - expAtNanos < 0;
        }

        long floor(long nt) {
            return Math.max(fence, nt - RETENTION);
        }
    }

    /** The number of compared steps. */
    long steps() {
        return steps;
    }

    /** Forget, in the model of a quorum. */
    void forgets() {
        states.clear();
    }

    void followsNoMore() {
        following = false;
    }

    /** The model knows exclusive locks only; the end of a reader that has not arrived before raises the fence, too. */
    private boolean follows(List<LockName> names) {
        following &= names.stream().noneMatch(name -> name.isRead() || name.isPermits());
        return following;
    }

    private State state(LockName name, long nowNanos) {
        State state = states.computeIfAbsent(name, n -> new State());
        state.tick(nowNanos);
        if (state.mayLiveAgain(nowNanos)) {
            followsNoMore();
        }
        return state;
    }

    private void require(boolean allowed, String action, LockName name, long nt) {
        if (!allowed && following) {
            problems.accept("model: " + action + " is no step of the model for \"" + name + "\" at TIME " + nt);
        }
    }

    /**
     * {@code acquire.lua}.
     *
     * @param pushes the wake-ups of waiters in the same step
     * @param nt the TIME of the node
     */
    void acquired(Ballot ballot, NodeReply reply, List<HandOver> pushes, long nowNanos, long nt) {
        if (!follows(ballot.request().names())) {
            return;
        }
        OwnerToken to = ballot.request().owner();
        boolean one = ballot.request().names().size() == 1;
        for (LockName name : ballot.request().names()) {
            steps++;
            State s = state(name, nowNanos);
            long last = ballot.tokens().last();
            s.high.merge(to, last, Math::max);
            boolean stale = ballot.candidate() <= s.floor(nt);
            boolean tooFar = last > Math.max(s.fence, nt) + BOUND;
            if (reply instanceof NodeReply.Yes) {
                require(!stale && !tooFar && (s.key == null || s.key.equals(to)), "NodeAcquire with yes", name, nt);
                long exp = nowNanos + ballot.request().ttlNanos();
                s.expAtNanos = to.equals(s.key) ? Math.max(s.expAtNanos, exp) : exp;
                s.key = to;
                s.expired = false;
                s.fence = Math.max(s.fence, last);
                s.queue.remove(to);
            } else if (reply instanceof NodeReply.Held held) {
                if (one) {
                    require(!stale && !tooFar, "NodeAcquire with busy", name, nt);
                }
                boolean handed = handOver(s, name, pushes, nowNanos, nt, to);
                require(
                        !one || handed || s.key == null || !s.key.equals(to),
                        "NodeAcquire with its own key busy",
                        name,
                        nt);
                if (held.queued()) {
                    s.queue.put(to, ballot.claimNanos());
                }
            } else if (reply instanceof NodeReply.Stale told && one) {
                require(stale, "a stale ballot above the floor", name, nt);
                require(told.floor() == s.floor(nt), "a floor of " + told.floor() + " told", name, nt);
            }
            require(s.key == null || !s.finished.contains(s.key), "S4: a key of an ended owner token", name, nt);
        }
    }

    /** {@code renew.lua}. */
    void renewed(RenewBatch batch, RenewReply reply, long nowNanos, long nt) {
        for (int i = 0; following && i < batch.items().size(); i++) {
            steps++;
            RenewBatch.Item item = batch.items().get(i);
            State s = state(item.name(), nowNanos);
            boolean own = item.owner().equals(s.key);
            if (reply.items().get(i) instanceof RenewReply.Renewed) {
                require(own, "NodeRenew of another's key", item.name(), nt);
                s.expAtNanos = Math.max(s.expAtNanos, nowNanos + item.ttlNanos());
            } else {
                require(!own, "a refused renewal of its own key", item.name(), nt);
            }
        }
    }

    /** {@code release.lua}: release, undo and withdrawal. */
    void released(ReleaseRequest request, ReleaseReply reply, List<HandOver> pushes, long nowNanos, long nt) {
        if (!follows(request.names())) {
            return;
        }
        boolean mine = false;
        OwnerToken o = request.owner();
        for (LockName name : request.names()) {
            steps++;
            State s = state(name, nowNanos);
            // Raised(o) of the model: the fence is at the highest ballot of o afterwards, or at the bound.
            long high = s.high.getOrDefault(o, 0L);
            require(
                    Math.max(s.fence, request.ballot()) >= Math.min(high, Math.max(s.fence, nt) + BOUND),
                    "NodeRelease (" + request.kind() + ") that leaves the fence below " + high
                            + ", the highest ballot of its owner token,",
                    name,
                    nt);
            boolean own = o.equals(s.key);
            mine |= own;
            if (own) {
                s.key = null;
                s.expired = false;
            }
            if (request.kind() != ReleaseRequest.Kind.SUPERSEDED) {
                s.queue.remove(o);
            }
            s.fence = Math.max(s.fence, Math.min(request.ballot(), Math.max(s.fence, nt) + BOUND));
            s.finished.add(o);
            handOver(s, name, pushes, nowNanos, nt, o);
        }
        require(
                mine == (reply instanceof ReleaseReply.Released),
                "NodeRelease told otherwise",
                request.names().get(0),
                nt);
    }

    /** Whether the step handed the free lock to another client that waited for it, with tokens of the node's choice. */
    private boolean handOver(State s, LockName name, List<HandOver> pushes, long nowNanos, long nt, OwnerToken notTo) {
        for (HandOver push : pushes) {
            if (!push.name().equals(name)) {
                continue;
            }
            OwnerToken w = null;
            for (OwnerToken waiter : s.queue.keySet()) {
                w = waiter.attemptId().equals(push.attemptId()) ? waiter : w;
            }
            require(s.key == null && w != null && !w.equals(notTo), "HandOver", name, nt);
            if (w == null) {
                continue;
            }
            require(
                    push.tokens().first() == Math.max(s.fence + 1, push.serverMicros()),
                    "HandOver with tokens that are not above the fence and TIME",
                    name,
                    nt);
            require(!s.finished.contains(w), "S4: a hand-over to an ended owner token", name, nt);
            s.key = w;
            s.expired = false;
            s.expAtNanos = nowNanos + s.queue.getOrDefault(w, 0L);
            s.fence = push.tokens().last();
            s.queue.remove(w);
            return true;
        }
        return false;
    }
}
