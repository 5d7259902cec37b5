package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The requests of operators to a cluster, their pages and their time limits; in the time of the test. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class AdminStepsTest {

    private static final LockName LOCK = LockName.exactly("n");

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEtcd etcd = new ScriptedEtcd();
    private final Keys keys = new Keys("p");
    private final EtcdStore store = store("");

    private EtcdStore store(String more) {
        return new EtcdStore(EtcdUri.parse(StoreUri.parse("etcd://h:2379/p" + more)), runtime, etcd, false);
    }

    private ByteSequence put(LockName lock, String holder, long lease) {
        ByteSequence key = keys.of(lock, OwnerToken.draw(runtime));
        etcd.put(key, holder, lease);
        return key;
    }

    private static <T> T now(CompletableFuture<T> future) {
        assertThat(future).isCompleted();
        return future.join();
    }

    private static List<String> names(List<HeldLock> records) {
        return records.stream().map(record -> record.name().text()).toList();
    }

    // ---- before use

    @Test
    void theFirstStoreWritesTheBaseOfTokensAndOthersCompareIt() {
        store("?tokenBase=7").verify();
        assertThat(etcd.asked).containsExactly("get", "putIfAbsent");
        store("?tokenBase=7").verify();
        assertThatThrownBy(() -> store("?tokenBase=8").verify())
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll("tokenBase is 8", "p@tokens", "tokenBase=7");
        etcd.failNext("get", ScriptedEtcd.broken());
        assertThatThrownBy(store::verify)
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContainingAll("connecting", "etcd://h:2379/p");
        etcd.withhold("get");
        long before = runtime.nanoTime();
        assertThatThrownBy(store::verify).hasMessageContaining("not answered within 10000 ms");
        assertThat(Duration.ofNanos(runtime.nanoTime() - before)).isEqualTo(Duration.ofSeconds(10));
    }

    /** Both read nothing; the one that writes second reads again. */
    @Test
    void ofTwoStoresThatBeginTogetherTheSecondComparesWhatTheFirstHasWritten() {
        etcd.withhold("get");
        CompletableFuture<Throwable> second = new CompletableFuture<>();
        runtime.startThread("second", () -> {
            try {
                store("?tokenBase=8").verify();
            } catch (RuntimeException e) {
                second.complete(e);
            }
        });
        runtime.runFor(Duration.ofMillis(1));
        assertThat(etcd.asked).containsExactly("get");
        etcd.putIfAbsent(keys.tokens(), Keys.bytes("tokenBase=7"));
        etcd.answer("get");
        runtime.runFor(Duration.ofMillis(1));
        assertThat(second.join()).isInstanceOf(UnsafeStoreException.class);
    }

    // ---- looking

    @Test
    void aLockIsDescribedByTheFirstOfItsQueue() {
        assertThat(now(store.admin().describe(LOCK))).isEmpty();
        put(LOCK, "host/1/x", etcd.newLease(60));
        long token = etcd.revision;
        put(LOCK, "host/2/y", etcd.newLease(60));
        Holder holder = now(store.admin().describe(LOCK)).orElseThrow().holder();
        assertThat(holder.id()).isEqualTo("host/1/x");
        assertThat(holder.remainingTtl()).isEqualTo(Duration.ofSeconds(30));
        assertThat(holder.fencingToken()).hasValue(token);
        etcd.leases.remove(1L);
        assertThat(now(store.admin().describe(LOCK))).as("it has just ended").isEmpty();
        LockName kept = LockName.exactly("kept");
        put(kept, "a stranger", 0);
        assertThat(now(store.admin().describe(kept)).orElseThrow().holder().ends())
                .isEqualTo(Holder.Ends.NEVER);
    }

    /** The head ended between the reading of its key and that of its lease. */
    @Test
    void aHeadThatEndsWhileItIsReadIsFollowedByTheNext() {
        ByteSequence head = put(LOCK, "host/1/x", etcd.newLease(60));
        put(LOCK, "host/2/y", etcd.newLease(60));
        etcd.withhold("first");
        CompletableFuture<Optional<HeldLock>> described = store.admin().describe(LOCK);
        CompletableFuture<List<HeldLock>> listed = store.admin().list("*", 5);
        etcd.leases.remove(1L);
        etcd.removeUnheard(head);
        etcd.answer("first");
        assertThat(now(described).orElseThrow().holder().id()).isEqualTo("host/2/y");
        assertThat(names(now(listed))).containsExactly("n");
    }

    @Test
    void aQuestionThatFailsOrIsNotAnsweredIsToldSo() {
        etcd.failNext("first", ScriptedEtcd.broken());
        assertThat(store.admin().describe(LOCK)).isCompletedExceptionally();
        etcd.withhold("first");
        CompletableFuture<?> late = store.admin().describe(LOCK);
        runtime.runFor(Duration.ofSeconds(10).minusMillis(1));
        assertThat(late).isNotDone();
        runtime.runFor(Duration.ofMillis(1));
        assertThatThrownBy(late::join).hasMessageContaining("inspection of \"n\"");
        etcd.withhold("keysUntil");
        CompletableFuture<?> list = store.admin().list("*", 5);
        runtime.runFor(Duration.ofSeconds(60).minusMillis(1));
        assertThat(list).isNotDone();
        runtime.runFor(Duration.ofMillis(1));
        assertThatThrownBy(list::join).hasMessageContaining("list of locks");
    }

    @Test
    void eachQuestionAboutOneLockHasTenSeconds() {
        etcd.withhold("first");
        etcd.withhold("inOrder");
        List<CompletableFuture<?>> asked = List.of(
                store.admin().describe(LOCK),
                store.admin().waiters(LOCK, 5),
                store.admin().forceRelease(LOCK, null));
        runtime.runFor(Duration.ofSeconds(10).minusNanos(1));
        assertThat(asked).noneMatch(CompletableFuture::isDone);
        runtime.runFor(Duration.ofNanos(1));
        assertThat(asked).allMatch(CompletableFuture::isCompletedExceptionally);
    }

    @Test
    void waitersAreThoseBehindTheFirstUpToTheLimit() {
        for (int i = 0; i < 4; i++) {
            put(LOCK, "host/1/" + i, 0);
        }
        assertThat(now(store.admin().waiters(LOCK, 2)))
                .containsExactly(new QueuedWaiter("host/1/1", null), new QueuedWaiter("host/1/2", null));
        assertThat(now(store.admin().waiters(LOCK, 9))).hasSize(3);
        assertThat(etcd.asked).containsExactly("inOrder 3", "inOrder 10");
        assertThat(now(store.admin().waiters(LockName.exactly("free"), 9))).isEmpty();
    }

    @Test
    void aLongQueueIsReadInPages() {
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < 1_003; i++) {
            put(LOCK, "host/1/" + i, 0);
            expected.add("host/1/" + i);
        }
        List<String> found = now(store.admin().waiters(LOCK, 1_001)).stream()
                .map(QueuedWaiter::holderId)
                .toList();
        assertThat(found).isEqualTo(expected.subList(1, 1_002));
        assertThat(etcd.asked).containsExactly("inOrder 500", "inOrder 500", "inOrder 2");
        etcd.asked.clear();
        assertThat(now(store.admin().waiters(LOCK, 1_000))).hasSize(1_000);
        assertThat(etcd.asked).as("as many as are wanted").containsExactly("inOrder 500", "inOrder 500", "inOrder 1");
        etcd.asked.clear();
        assertThat(now(store.admin().waiters(LOCK, 999))).hasSize(999);
        assertThat(etcd.asked).containsExactly("inOrder 500", "inOrder 500");
    }

    @Test
    void locksAreListedInTheOrderOfTheirNamesUpToTheLimit() {
        for (String name : List.of("b", "a", "c", "order:1", "a!")) {
            put(LockName.exactly(name), "host/1/x", etcd.newLease(60));
        }
        put(LockName.exactly("b"), "host/2/y", etcd.newLease(60));
        assertThat(names(now(store.admin().list("*", 10)))).containsExactly("a", "a!", "b", "c", "order:1");
        assertThat(names(now(store.admin().list("*", 2)))).containsExactly("a", "a!");
        assertThat(names(now(store.admin().list("order:*", 2)))).containsExactly("order:1");
        assertThat(now(store.admin().list("none*", 2))).isEmpty();
    }

    @Test
    void manyLocksAreListedInPages() {
        for (int i = 0; i < 501; i++) {
            put(LockName.exactly("lock-%03d".formatted(i)), "host/1/x", etcd.newLease(60));
        }
        List<HeldLock> all = now(store.admin().list("*", 1_000));
        assertThat(all).hasSize(501);
        assertThat(names(all)).isSorted().doesNotHaveDuplicates();
        assertThat(etcd.asked.stream().filter(call -> call.startsWith("keysUntil")))
                .hasSize(2);
        etcd.asked.clear();
        etcd.expire(501);
        assertThat(now(store.admin().list("*", 1_000))).hasSize(500);
        assertThat(etcd.asked.stream().filter(call -> call.startsWith("keysUntil")))
                .as("a full page may be followed by another")
                .hasSize(2);
    }

    /** The page ends within a long queue; the next page has other locks. */
    @Test
    void aPageThatEndsWithinAQueueIsFollowedByTheNextLock() {
        for (int i = 0; i < 600; i++) {
            put(LockName.exactly("a"), "host/1/" + i, 0);
        }
        put(LockName.exactly("b"), "host/1/x", 0);
        assertThat(names(now(store.admin().list("*", 10)))).containsExactly("a", "b");
    }

    // ---- repairing

    @Test
    void aForcedReleaseDeletesTheFirstIfItIsTheOneThatIsMeant() {
        assertThat(now(store.admin().forceRelease(LOCK, null))).isFalse();
        put(LOCK, "host/1/x", etcd.newLease(60));
        ByteSequence second = put(LOCK, "host/2/y", etcd.newLease(60));
        assertThat(now(store.admin().forceRelease(LOCK, "host/2/y"))).isFalse();
        assertThat(etcd.queue(LOCK, keys)).hasSize(2);
        assertThat(now(store.admin().forceRelease(LOCK, "host/1/x"))).isTrue();
        assertThat(etcd.queue(LOCK, keys)).containsExactly(second);
        assertThat(now(store.admin().forceRelease(LOCK, null))).isTrue();
        assertThat(etcd.queue(LOCK, keys)).isEmpty();
    }

    /** The head left by itself between the two requests. */
    @Test
    void aForcedReleaseMeetsWhoeverHoldsWhenItComes() {
        for (String wanted : new String[] {null, "host/1/x"}) {
            ByteSequence head = put(LOCK, "host/1/x", etcd.newLease(60));
            put(LOCK, "host/1/x", etcd.newLease(60));
            ByteSequence third = put(LOCK, "host/2/y", etcd.newLease(60));
            etcd.withhold("first");
            CompletableFuture<Boolean> released = store.admin().forceRelease(LOCK, wanted);
            etcd.removeUnheard(head);
            etcd.answer("first");
            assertThat(now(released)).isTrue();
            assertThat(etcd.queue(LOCK, keys)).containsExactly(third);
            etcd.removeUnheard(third);
        }
        ByteSequence head = put(LOCK, "host/1/x", etcd.newLease(60));
        ByteSequence other = put(LOCK, "host/2/y", etcd.newLease(60));
        etcd.withhold("first");
        CompletableFuture<Boolean> released = store.admin().forceRelease(LOCK, "host/1/x");
        etcd.removeUnheard(head);
        etcd.answer("first");
        assertThat(now(released)).as("another holds").isFalse();
        assertThat(etcd.queue(LOCK, keys)).containsExactly(other);
    }

    @Test
    void whatAStoreSaysOfItself() {
        assertThat(store.description()).isEqualTo("etcd://h:2379/p");
        assertThat(store.guarantees().scope()).isNotNull();
        assertThat(store.operations()).isNotNull();
    }

    @Test
    void aDiagnosisAsksForMembersAndAlarmsAndSaysWhatItMayNotRead() {
        assertThat(now(store.operations().diagnose()))
                .extracting(finding -> finding.check() + " " + finding.grade())
                .containsExactly("quorum GOOD", "alarms GOOD");
        assertThat(etcd.asked).containsExactly("members", "silentMembers", "alarms");
        etcd.failNext("members", ScriptedEtcd.broken());
        etcd.failNext("alarms", ScriptedEtcd.broken());
        assertThat(now(store.operations().diagnose()))
                .extracting(finding -> finding.check() + " " + finding.grade())
                .containsExactly("quorum UNKNOWN", "alarms UNKNOWN");
    }
}
