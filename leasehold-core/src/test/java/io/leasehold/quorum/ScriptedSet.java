package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockListener.NodeChanged;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A set of scripted nodes, which are born already, and a client that records its signals. */
final class ScriptedSet {

    static final LockName NAME = LockName.exactly("n");
    static final List<LockName> NAMES = List.of(NAME);
    static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    static final long TTL = 20 * SECOND;

    final HandClock clock = new HandClock();
    final List<ScriptedNode> nodes = new ArrayList<>();
    final List<QuorumMember> members = new ArrayList<>();
    final List<LockName> woken = new ArrayList<>();
    final List<Long> wokenAtNanos = new ArrayList<>();
    final List<LossCause> lost = new ArrayList<>();
    final List<NodeChanged> changes = new ArrayList<>();
    final QuorumStore store;
    final StoreSignals ear;
    int reconnections;
    int takenAway;

    ScriptedSet(int size) {
        this(size, QuorumSettings.standard());
    }

    ScriptedSet(int size, QuorumSettings settings) {
        for (int i = 0; i < size; i++) {
            nodes.add(new ScriptedNode(clock));
            members.add(QuorumMember.of(nodes.get(i), "node-" + i));
        }
        store = new QuorumStore(members, settings, clock);
        ear = new StoreSignals() {
            @Override
            public void wake(LockName name) {
                woken.add(name);
                wokenAtNanos.add(clock.nanoTime());
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                lost.add(cause);
            }

            @Override
            public void takenAway(LockName name) {
                takenAway++;
            }

            @Override
            public void reconnected() {
                reconnections++;
            }

            @Override
            public void nodeChanged(NodeChanged event) {
                changes.add(event);
            }
        };
        store.listen(ear);
        clock.answer(store.declareNew(SECOND));
        nodes.forEach(node -> node.births.clear());
    }

    /** A set of nodes without a store. */
    static NodeSet nodes(List<ScriptedNode> scripted, HandClock clock) {
        List<QuorumMember> members = new ArrayList<>();
        for (int i = 0; i < scripted.size(); i++) {
            members.add(QuorumMember.of(scripted.get(i), "node-" + i));
        }
        return new NodeSet(members, QuorumSettings.standard(), clock);
    }

    static NodeReply.Failed failed(FailureKind kind) {
        return new NodeReply.Failed(kind, new StoreUnavailableException("no way (made by the test)", null));
    }

    static ReleaseReply.Failed unreleased(FailureKind kind) {
        return new ReleaseReply.Failed(kind, new StoreUnavailableException("no way (made by the test)", null));
    }

    OwnerToken owner() {
        return OwnerToken.draw(clock);
    }

    AcquireRequest request(OwnerToken owner) {
        return AcquireRequest.exclusive(NAMES, owner, "host/1/x", TTL, SECOND);
    }

    AcquireReply ask(AcquireRequest request) {
        return clock.answer(store.acquire(request));
    }

    Grant granted() {
        return granted(request(owner()));
    }

    Grant granted(AcquireRequest request) {
        AcquireReply reply = ask(request);
        assertThat(reply).isInstanceOf(AcquireReply.Granted.class);
        return ((AcquireReply.Granted) reply).grant();
    }

    /** Another client's hold at these nodes. */
    OwnerToken rival(int... at) {
        OwnerToken rival = owner();
        for (int node : at) {
            NodeReply reply = nodes.get(node)
                    .memory
                    .acquire(new io.leasehold.node.Ballot(
                            AcquireRequest.exclusive(NAMES, rival, "host/2/rival", TTL, SECOND),
                            clock.wallMillis() * 1_000 + 1_000,
                            1))
                    .join();
            assertThat(reply).isInstanceOf(NodeReply.Yes.class);
        }
        return rival;
    }

    CompletableFuture<RenewReply> renewing(Grant grant) {
        return store.renew(new RenewBatch(List.of(new RenewBatch.Item(NAME, grant.owner(), TTL)), SECOND));
    }

    RenewReply.Item renewed(Grant grant) {
        return clock.answer(renewing(grant)).items().get(0);
    }

    CompletableFuture<ReleaseReply> releasing(OwnerToken owner, long ballot, ReleaseRequest.Kind kind) {
        return store.release(new ReleaseRequest(NAMES, owner, ballot, kind, SECOND));
    }

    ReleaseReply released(Grant grant) {
        return clock.answer(releasing(grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.RELEASE));
    }

    void pass(long millis) {
        clock.pass(Duration.ofMillis(millis));
    }

    boolean keeps(int node) {
        return nodes.get(node).memory.describe(NAME).join().isPresent();
    }
}
