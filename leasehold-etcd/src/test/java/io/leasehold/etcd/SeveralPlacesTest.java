package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The work of one store for several places, and its behavior if the driver throws: for the second as for the first, and
 * the second time as the first time.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class SeveralPlacesTest {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration RECHECK = Duration.ofSeconds(20);
    private static final Duration LIMIT = Duration.ofSeconds(2);

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final EtcdUri uri = EtcdUri.parse(StoreUri.parse("etcd://h:2379/p?electionTimeout=2s"));
    private final Keys keys = new Keys(uri.prefix());
    private final List<String> heard = new ArrayList<>();
    private final EtcdStore store = open();

    private EtcdStore open() {
        EtcdStore opened = new EtcdStore(uri, runtime, etcd, false);
        opened.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                heard.add("wake " + name);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                heard.add("lost " + cause);
            }

            @Override
            public void suspended(OwnerToken owner) {
                heard.add("suspended");
            }

            @Override
            public void reconnected() {}
        });
        return opened;
    }

    private static LockName lock(String name) {
        return LockName.exactly(name);
    }

    private OwnerToken owner() {
        return OwnerToken.draw(runtime);
    }

    private AcquireReply ask(String name, OwnerToken owner) {
        CompletableFuture<AcquireReply> reply = store.acquire(
                AcquireRequest.exclusive(List.of(lock(name)), owner, "host/1/x", TTL.toNanos(), LIMIT.toNanos())
                        .waiting(RECHECK.toNanos()));
        assertThat(reply).isCompleted();
        return reply.join();
    }

    private OwnerToken held(String name) {
        OwnerToken owner = owner();
        assertThat(ask(name, owner)).isInstanceOf(AcquireReply.Granted.class);
        return owner;
    }

    private ByteSequence other(String name) {
        ByteSequence key = keys.of(lock(name), owner());
        etcd.put(key, "host/2/other", etcd.newLease(600));
        return key;
    }

    private static RenewBatch.Item item(String name, OwnerToken owner, Duration ttl) {
        return new RenewBatch.Item(lock(name), owner, ttl.toNanos(), 0);
    }

    private CompletableFuture<RenewReply> renewal(RenewBatch.Item... items) {
        return store.renew(new RenewBatch(List.of(items), LIMIT.toNanos()));
    }

    private List<RenewReply.Item> renewed(RenewBatch.Item... items) {
        CompletableFuture<RenewReply> reply = renewal(items);
        assertThat(reply).isCompleted();
        return reply.join().items();
    }

    private CompletableFuture<ReleaseReply> release(String name, OwnerToken owner) {
        return store.release(
                new ReleaseRequest(List.of(lock(name)), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
    }

    private List<String> askedBy(Runnable step) {
        int mark = etcd.asked.size();
        step.run();
        return etcd.askedSince(mark);
    }

    private void pass(Duration span) {
        runtime.runFor(span);
    }

    // ---- renewals

    @Test
    void ofABatchEachAnswerIsThatOfItsLock() {
        OwnerToken a = held("a");
        OwnerToken b = held("b");
        OwnerToken c = held("c");
        etcd.removeUnheard(keys.of(lock("b"), b));
        RenewReply.Item renewed = new RenewReply.Renewed(runtime.nanoTime());
        assertThat(renewed(item("c", c, TTL), item("x", owner(), TTL), item("b", b, TTL), item("a", a, TTL)))
                .containsExactly(renewed, new RenewReply.NotOurs(), new RenewReply.NotOurs(), renewed);
    }

    @Test
    void theLimitOfABatchIsThatOfEachOfItsLocks() {
        OwnerToken a = held("a");
        etcd.withhold("keepAlive");
        etcd.withhold("first");
        etcd.withhold("lease");
        CompletableFuture<RenewReply> late =
                renewal(item("a", a, TTL), item("x", owner(), TTL), item("a", a, Duration.ofSeconds(60)));
        pass(LIMIT.minusNanos(1));
        assertThat(late).isNotDone();
        pass(Duration.ofNanos(1));
        assertThat(late).isCompleted();
        for (int i = 0; i < 3; i++) {
            String what = "renewal of \"" + List.of("a", "x", "a").get(i) + "\" at etcd://h:2379/p";
            assertThat(late.join().items().get(i))
                    .isInstanceOfSatisfying(
                            RenewReply.Failed.class,
                            failed -> assertThat(failed.error())
                                    .hasMessageStartingWith(what + " was not answered within 2000 ms"));
        }
    }

    /** Each renewal names a longer lease, and no attempt gets the one before. */
    @Test
    void aLockThatIsRenewedForLongerAgainAndAgainIsUnderOneLease() {
        OwnerToken owner = held("a");
        for (int seconds = 40; seconds <= 70; seconds += 10) {
            long sent = runtime.nanoTime();
            assertThat(renewed(item("a", owner, Duration.ofSeconds(seconds))))
                    .containsExactly(new RenewReply.Renewed(sent));
            assertThat(etcd.leases.values())
                    .containsExactly(Duration.ofSeconds(seconds + 2).toNanos());
            pass(Duration.ofSeconds(1));
        }
        release("a", owner);
        assertThat(etcd.leases).isEmpty();
    }

    @Test
    void aLongerLeaseCountsFromTheSendingOfItsRequest() {
        OwnerToken owner = held("a");
        etcd.withhold("lease");
        long sent = runtime.nanoTime();
        CompletableFuture<RenewReply> renewal = renewal(item("a", owner, Duration.ofSeconds(40)));
        pass(Duration.ofSeconds(1));
        etcd.answer("lease");
        assertThat(renewal.join().items()).containsExactly(new RenewReply.Renewed(sent));
    }

    /** It requests less than the promised time. */
    @Test
    void aHolderThatAsksAgainIsKeptNoShorter() {
        OwnerToken owner = held("a");
        renewed(item("a", owner, Duration.ofSeconds(60)));
        assertThat(ask("a", owner)).isInstanceOf(AcquireReply.Granted.class);
        pass(Duration.ofSeconds(60).minusNanos(1));
        assertThat(store.attempts()).isEqualTo(1);
        pass(Duration.ofNanos(1));
        assertThat(store.attempts()).isZero();
    }

    /** The longer lease ended before the key was under it, twice. */
    @Test
    void aLongerLeaseThatHasEndedIsReplacedByOneThatIsAsLong() {
        OwnerToken owner = held("a");
        Duration longer = Duration.ofSeconds(40);
        for (int time = 1; time <= 2; time++) {
            etcd.failNext("move", ScriptedEtcd.broken());
            assertThat(renewed(item("a", owner, longer)).get(0)).isInstanceOf(RenewReply.Failed.class);
            etcd.leases.keySet().removeIf(lease -> etcd.leases.get(lease) > longer.toNanos());
        }
        assertThat(askedBy(() ->
                        assertThat(renewed(item("a", owner, longer)).get(0)).isInstanceOf(RenewReply.Renewed.class)))
                .startsWith("keepAlive 3", "lease 42", "move 4");
        assertThat(etcd.leases.values()).containsExactly(Duration.ofSeconds(42).toNanos());
    }

    /** A renewal for less does not shorten the promise of the one before. */
    @Test
    void aShorterRenewalKeepsALockNoShorter() {
        OwnerToken owner = held("a");
        renewed(item("a", owner, TTL));
        renewed(item("a", owner, Duration.ofSeconds(5)));
        pass(TTL.minusNanos(1));
        assertThat(store.attempts()).isEqualTo(1);
        pass(Duration.ofNanos(1));
        assertThat(store.attempts()).isZero();
    }

    // ---- waiting

    @Test
    void aWaiterThatIsToldAgainAndAgainIsWokenOnceEachTime() {
        OwnerToken owner = owner();
        List<ByteSequence> before = List.of(other("w"), other("w"), other("w"));
        for (int i = 2; i > 0; i--) {
            ask("w", owner);
            etcd.remove(before.get(i));
            assertThat(heard).hasSize(3 - i).containsOnly("wake w");
            assertThat(ask("w", owner)).isInstanceOf(AcquireReply.Queued.class);
            assertThat(etcd.openEars()).as("one is watched").isEqualTo(1);
        }
    }

    /** Its event may have been under way before the watch was closed. */
    @Test
    void whatTheWatchOfAFormerPredecessorTellsWakesNobody() {
        OwnerToken owner = owner();
        other("w");
        ask("w", owner);
        ask("w", owner);
        etcd.ears.get(0).told.accept(EtcdCalls.Heard.DELETED);
        etcd.ears.get(0).told.accept(EtcdCalls.Heard.OVER);
        assertThat(heard).isEmpty();
        pass(Duration.ofSeconds(10));
        assertThat(askedBy(() -> ask("w", owner)))
                .as("the other one is counted on")
                .isEmpty();
    }

    // ---- what the driver throws

    @Test
    void aWaiterWhoseWatchCannotBeMadeIsNotToldFromMemory() {
        OwnerToken owner = owner();
        ByteSequence head = other("w");
        etcd.failNext("watch", new StackOverflowError("made by the test"));
        assertThat(ask("w", owner)).isInstanceOf(AcquireReply.Failed.class);
        pass(Duration.ofSeconds(15));
        assertThat(askedBy(() -> assertThat(ask("w", owner)).isInstanceOf(AcquireReply.Queued.class)))
                .contains("watch");
        heard.clear();
        etcd.remove(head);
        assertThat(heard).containsExactly("wake w");
    }

    @Test
    void aHolderWhoseWatchCannotBeMadeIsRenewedAndWatchedWhenItCan() {
        OwnerToken owner = held("a");
        etcd.failNext("watch", new StackOverflowError("made by the test"));
        etcd.failNext("watch", new IllegalStateException("made by the test"));
        pass(Duration.ofMillis(200));
        RenewReply.Item renewed = new RenewReply.Renewed(runtime.nanoTime());
        assertThat(renewed(item("a", owner, TTL)))
                .as("though it is not watched")
                .containsExactly(renewed);
        assertThat(etcd.openEars()).isZero();
        assertThat(renewed(item("a", owner, TTL))).containsExactly(renewed);
        etcd.remove(keys.of(lock("a"), owner));
        assertThat(heard).containsExactly("lost FORCE_RELEASED");
    }

    @Test
    void aWaiterKeepsItsLeaseThoughTheRequestForItCannotBeSentTwice() {
        OwnerToken owner = owner();
        other("w");
        ask("w", owner);
        etcd.throwNext("keepAlive", new StackOverflowError("made by the test"));
        etcd.throwNext("keepAlive", new IllegalStateException("made by the test"));
        assertThat(askedBy(() -> pass(Duration.ofSeconds(32))))
                .as("each third of 32 s")
                .containsExactly("keepAlive 2", "keepAlive 2", "keepAlive 2");
    }

    @Test
    void aRemovalThatCannotBeSentIsRepeated() {
        OwnerToken owner = held("a");
        etcd.throwNext("delete", new StackOverflowError("made by the test"));
        etcd.throwNext("delete", new IllegalStateException("made by the test"));
        assertThat(release("a", owner).join()).isInstanceOf(ReleaseReply.Failed.class);
        pass(Duration.ofSeconds(2));
        assertThat(etcd.queue(lock("a"), keys)).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    @Test
    void aLossIsToldThoughItsCauseCannotBeAskedFor() {
        OwnerToken owner = held("a");
        pass(Duration.ofMillis(200));
        etcd.throwNext("remaining", new StackOverflowError("made by the test"));
        etcd.remove(keys.of(lock("a"), owner));
        assertThat(heard).containsExactly("lost SESSION_LOST");
    }
}
