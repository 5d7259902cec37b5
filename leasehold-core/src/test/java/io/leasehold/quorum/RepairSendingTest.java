package io.leasehold.quorum;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.LockNode;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.Grant;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests that a repair of a member counts from its sending: late answers to two repairs do not extend a hold beyond the
 * validity at a quorum.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class RepairSendingTest {

    private static final LockName NAME = LockName.exactly("n");
    private static final long TTL = TimeUnit.SECONDS.toNanos(20);
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final HandClock clock = new HandClock();
    private final List<InMemoryNode> nodes = new ArrayList<>();
    private final List<Runnable> lateRepairs = new ArrayList<>();
    private final List<Runnable> lateRenewals = new ArrayList<>();
    private boolean repairsAreLate;
    private boolean renewalsAreLate;

    private LockNode sometimesLate(InMemoryNode node, boolean neverLate) {
        return (LockNode) Proxy.newProxyInstance(
                RepairSendingTest.class.getClassLoader(),
                new Class<?>[] {LockNode.class},
                (proxy, method, arguments) -> {
                    Object answer = method.invoke(node, arguments);
                    boolean repair = method.getName().equals("acquire") && repairsAreLate;
                    boolean renewal = method.getName().equals("renew") && renewalsAreLate;
                    if (neverLate || !(repair || renewal)) {
                        return answer;
                    }
                    CompletableFuture<Object> later = new CompletableFuture<>();
                    (repair ? lateRepairs : lateRenewals)
                            .add(() -> later.complete(((CompletableFuture<?>) answer).join()));
                    return later;
                });
    }

    private QuorumStore store() {
        List<QuorumMember> members = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            InMemoryNode node = new InMemoryNode(clock);
            nodes.add(node);
            members.add(QuorumMember.of(sometimesLate(node, i == 0), "node-" + i));
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
        clock.answer(store.declareNew(SECOND));
        return store;
    }

    private CompletableFuture<RenewReply> renew(QuorumStore store, Grant grant) {
        return store.renew(new RenewBatch(List.of(new RenewBatch.Item(NAME, grant.owner(), TTL)), SECOND));
    }

    private void forget(int node, Grant grant) {
        nodes.get(node)
                .release(new ReleaseRequest(
                        List.of(NAME), grant.owner(), grant.tokens().last(), ReleaseRequest.Kind.UNDO, SECOND));
    }

    @Test
    void aRepairCountsFromItsSending() {
        QuorumStore store = store();
        AcquireReply reply = clock.answer(store.acquire(
                AcquireRequest.exclusive(List.of(NAME), OwnerToken.draw(clock), "host/1/x", TTL, SECOND)));
        Grant grant = ((AcquireReply.Granted) reply).grant();
        repairsAreLate = true;
        for (int node = 1; node <= 2; node++) {
            clock.pass(Duration.ofMillis(1));
            forget(node, grant);
            assertThat(clock.answer(renew(store, grant)).items().get(0)).isInstanceOf(RenewReply.Renewed.class);
        }
        assertThat(lateRepairs).as("both were repaired").hasSize(2);
        clock.pass(Duration.ofMillis(1));
        renewalsAreLate = true;
        long sentAtNanos = clock.nanoTime();
        CompletableFuture<RenewReply> last = renew(store, grant);
        clock.pass(Duration.ofMillis(3));
        lateRepairs.forEach(Runnable::run);
        lateRenewals.forEach(Runnable::run);
        RenewReply.Renewed renewed =
                (RenewReply.Renewed) clock.answer(last).items().get(0);
        assertThat(renewed.sentAtNanos()).isEqualTo(sentAtNanos);
        store.close();
    }
}
