package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.Ballot;
import io.leasehold.node.LockNode;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreSignals;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests that an owner token that was ended at the nodes is never proposed again: a late copy of its end would end the
 * new hold.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class FreshOwnerTest {

    private static final LockName NAME = LockName.exactly("n");
    private static final long TTL = TimeUnit.SECONDS.toNanos(20);
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final HandClock clock = new HandClock();
    private final Set<OwnerToken> ended = new HashSet<>();
    private final List<OwnerToken> proposed = new ArrayList<>();

    private LockNode watched(InMemoryNode node) {
        return (LockNode) Proxy.newProxyInstance(
                FreshOwnerTest.class.getClassLoader(), new Class<?>[] {LockNode.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("acquire")) {
                        OwnerToken owner = ((Ballot) arguments[0]).request().owner();
                        assertThat(ended).as("ended before").doesNotContain(owner);
                        proposed.add(owner);
                    } else if (method.getName().equals("release")) {
                        ended.add(((ReleaseRequest) arguments[0]).owner());
                    }
                    return method.invoke(node, arguments);
                });
    }

    private QuorumStore store() {
        List<QuorumMember> members = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            members.add(QuorumMember.of(watched(new InMemoryNode(clock)), "node-" + i));
        }
        QuorumStore store = new QuorumStore(members, QuorumSettings.standard(), clock);
        store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {}

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void reconnected() {}
        });
        store.declareNew(SECOND).join();
        return store;
    }

    private AcquireReply ask(QuorumStore store, OwnerToken owner) {
        return store.acquire(AcquireRequest.exclusive(List.of(NAME), owner, "host/1/x", TTL, SECOND)
                        .waiting(SECOND))
                .join();
    }

    /** By then, the store has removed the attempt. */
    @Test
    void anAttemptThatWasEndedAndAsksAgainIsAnotherAtTheNodes() {
        QuorumStore store = store();
        OwnerToken owner = OwnerToken.draw(clock);
        assertThat(ask(store, owner)).isInstanceOf(AcquireReply.Granted.class);
        store.release(new ReleaseRequest(List.of(NAME), owner, 0, ReleaseRequest.Kind.UNDO, SECOND))
                .join();
        assertThat(store.remembered()).isZero();
        assertThat(ask(store, owner)).isInstanceOf(AcquireReply.Granted.class);
        assertThat(new HashSet<>(proposed)).hasSize(2);
        assertThat(ended).hasSize(1);
        store.close();
    }
}
