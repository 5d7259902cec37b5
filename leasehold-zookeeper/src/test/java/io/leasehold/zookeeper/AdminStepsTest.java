package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.Finding;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The requests of operators to an ensemble, their sessions and their time limits; in the time of the test. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class AdminStepsTest {

    private static final LockName LOCK = LockName.exactly("n");
    private static final String PATH = "/c/n";
    private static final long STRANGER = 77;

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEnsemble ensemble = new ScriptedEnsemble();
    private final ZooKeeperStore store = store("");

    private ZooKeeperStore store(String more) {
        return new ZooKeeperStore(ZooKeeperUri.parse(StoreUri.parse("zookeeper://h:2181/c" + more)), runtime, ensemble);
    }

    @BeforeEach
    void tree() {
        ensemble.put("/c", "", 0);
        ensemble.put(PATH, "", 0);
    }

    /** The session is connected a moment after it was opened. */
    private <T> T now(Supplier<CompletableFuture<T>> question) {
        CompletableFuture<T> answer = question.get();
        ensemble.connect();
        assertThat(answer).isCompleted();
        return answer.join();
    }

    private String enqueue(String lock, String holder) {
        if (!ensemble.nodes.containsKey("/c/" + lock)) {
            ensemble.put("/c/" + lock, "", 0);
        }
        return ensemble.enqueue("/c/" + lock, OwnerToken.draw(runtime).publicId(), holder, STRANGER);
    }

    private List<String> names(String glob, int limit) {
        return now(() -> store.admin().list(glob, limit)).stream()
                .map(HeldLock::name)
                .map(LockName::text)
                .toList();
    }

    // ---- before use

    private void verify(ZooKeeperStore opened) {
        runtime.schedule(1_000_000, ensemble::connect);
        opened.verify(() -> {
            throw new AssertionError("it is not silent");
        });
    }

    @Test
    void theFirstStoreWritesTheBaseOfTokensAndOthersCompareIt() {
        ensemble.nodes.clear();
        verify(store("?tokenBase=7"));
        assertThat(ensemble.nodes).containsKeys("/c", "/c/@tokens");
        verify(store("?tokenBase=7"));
        assertThatThrownBy(() -> verify(store("?tokenBase=8")))
                .isInstanceOf(UnsafeStoreException.class)
                .hasMessageContainingAll("tokenBase is 8", "/c/@tokens", "tokenBase=7");
        ensemble.failNext("read", KeeperException.Code.CONNECTIONLOSS);
        assertThatThrownBy(() -> verify(store("?tokenBase=7")))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("connecting");
    }

    @Test
    void ofTwoStoresThatBeginTogetherTheSecondComparesWhatTheFirstHasWritten() {
        ensemble.withhold("read");
        runtime.schedule(2_000_000, () -> {
            ensemble.put("/c/@tokens", "tokenBase=7", 0);
            ensemble.answer("read");
        });
        assertThatThrownBy(() -> verify(store("?tokenBase=8"))).isInstanceOf(UnsafeStoreException.class);
        assertThat(ensemble.asked.stream().filter("read @tokens"::equals)).hasSize(2);
        ensemble.removeUnheard("/c/@tokens");
        ensemble.failNext("create", KeeperException.Code.NOAUTH);
        ensemble.failNext("create", KeeperException.Code.NOAUTH);
        assertThatThrownBy(() -> verify(store("?tokenBase=8"))).hasMessageContaining("lacks a right");
    }

    @Test
    void whereNoSessionBeginsWithinASecondTheReasonIsLookedFor() {
        List<Duration> looked = new ArrayList<>();
        long before = runtime.nanoTime();
        assertThatThrownBy(() -> store.verify(() -> looked.add(Duration.ofNanos(runtime.nanoTime() - before))))
                .hasMessageContaining("not answered within 10000 ms");
        assertThat(looked).containsExactly(Duration.ofSeconds(1));
        assertThat(Duration.ofNanos(runtime.nanoTime() - before)).isEqualTo(Duration.ofSeconds(10));
        assertThatThrownBy(() -> store.verify(() -> {
                    throw new StoreUnavailableException("the port is closed", null);
                }))
                .hasMessage("the port is closed");
    }

    // ---- looking

    @Test
    void aLockIsDescribedByTheHeadOfItsQueue() {
        assertThat(now(() -> store.admin().describe(LOCK))).isEmpty();
        assertThat(now(() -> store.admin().describe(LockName.exactly("unknown"))))
                .isEmpty();
        enqueue("n", "host/1/x");
        long token = ensemble.zxid;
        enqueue("n", "host/2/y");
        Holder holder = now(() -> store.admin().describe(LOCK)).orElseThrow().holder();
        assertThat(holder.id()).isEqualTo("host/1/x");
        assertThat(holder.fencingToken()).hasValue(token);
        assertThat(holder.ends()).isEqualTo(Holder.Ends.WITH_SESSION);
        ensemble.put("/c/kept", "", 0);
        ensemble.enqueue("/c/kept", OwnerToken.draw(runtime).publicId(), "a stranger", 0);
        assertThat(now(() -> store.admin().describe(LockName.exactly("kept")))
                        .orElseThrow()
                        .holder()
                        .ends())
                .isEqualTo(Holder.Ends.NEVER);
    }

    /** The head went between the list and the reading of its node. */
    @Test
    void aHeadThatLeavesWhileItIsReadIsFollowedByTheNext() {
        String head = enqueue("n", "host/1/x");
        enqueue("n", "host/2/y");
        now(() -> store.admin().describe(LOCK));
        ensemble.withhold("sync");
        CompletableFuture<?> described = store.admin().describe(LOCK);
        ensemble.removeUnheard(head);
        ensemble.answer("sync");
        assertThat(described.join().toString()).contains("host/2/y");
    }

    @Test
    void aQuestionThatFailsOrIsNotAnsweredIsToldSo() {
        CompletableFuture<?> late = store.admin().describe(LOCK);
        CompletableFuture<?> list = store.admin().list("*", 5);
        runtime.runFor(Duration.ofSeconds(10).minusMillis(1));
        assertThat(late).isNotDone();
        runtime.runFor(Duration.ofMillis(1));
        assertThatThrownBy(late::join).hasMessageContaining("inspection of \"n\"");
        runtime.runFor(Duration.ofSeconds(50).minusMillis(1));
        assertThat(list).isNotDone();
        runtime.runFor(Duration.ofMillis(1));
        assertThatThrownBy(list::join).hasMessageContaining("list of locks");
        ensemble.connect();
        ensemble.failNext("children", KeeperException.Code.CONNECTIONLOSS);
        assertThat(store.admin().describe(LOCK)).isCompletedExceptionally();
    }

    @Test
    void eachQuestionAboutOneLockHasTenSeconds() {
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
    void waitersAreThoseBehindTheHeadUpToTheLimit() {
        for (int i = 0; i < 4; i++) {
            enqueue("n", "host/1/" + i);
        }
        assertThat(now(() -> store.admin().waiters(LOCK, 2)))
                .containsExactly(new QueuedWaiter("host/1/1", null), new QueuedWaiter("host/1/2", null));
        assertThat(now(() -> store.admin().waiters(LOCK, 9))).hasSize(3);
        assertThat(now(() -> store.admin().waiters(LockName.exactly("free"), 9)))
                .isEmpty();
    }

    @Test
    void locksAreListedInTheOrderOfTheirNamesUpToTheLimitInASessionOfTheirOwn() {
        for (String name : List.of("b", "a", "c")) {
            enqueue(name, "host/1/x");
        }
        assertThat(names("*", 10)).as("a free lock is none").containsExactly("a", "b", "c");
        assertThat(names("*", 2)).containsExactly("a", "b");
        assertThat(names("b*", 2)).containsExactly("b");
        assertThat(names("*", 0)).isEmpty();
        assertThat(ensemble.clients).hasSize(1);
        now(() -> store.admin().describe(LOCK));
        assertThat(ensemble.clients).as("not that of locks").hasSize(2);
        ensemble.clients.get(0).state(Watcher.Event.KeeperState.Expired);
        assertThat(names("*", 10)).hasSize(3);
        assertThat(ensemble.clients).as("another list, another session").hasSize(3);
    }

    @Test
    void manyLocksAreAskedForInParts() {
        for (int i = 0; i < 201; i++) {
            enqueue("lock-%03d".formatted(i), "host/1/x");
        }
        assertThat(names("*", 1_000)).hasSize(201).isSorted();
        ensemble.asked.clear();
        assertThat(names("lock-*", 100)).hasSize(100);
        assertThat(ensemble.asked.stream().filter(call -> call.startsWith("children lock")))
                .as("no more than are wanted")
                .hasSize(100);
        ensemble.asked.clear();
        assertThat(names("lock-*", 101)).hasSize(101);
        assertThat(ensemble.asked.stream().filter(call -> call.startsWith("children lock")))
                .hasSize(200);
    }

    // ---- repairing

    @Test
    void aForcedReleaseDeletesTheHeadIfItIsTheOneThatIsMeant() {
        assertThat(now(() -> store.admin().forceRelease(LOCK, null))).isFalse();
        enqueue("n", "host/1/x");
        String second = enqueue("n", "host/2/y");
        assertThat(now(() -> store.admin().forceRelease(LOCK, "host/2/y"))).isFalse();
        assertThat(ensemble.queue(PATH)).hasSize(2);
        assertThat(now(() -> store.admin().forceRelease(LOCK, "host/1/x"))).isTrue();
        assertThat(ensemble.nodes).containsKey(second);
        assertThat(now(() -> store.admin().forceRelease(LOCK, null))).isTrue();
        assertThat(ensemble.queue(PATH)).isEmpty();
    }

    /** The head left by itself, before its node was read and after. */
    @Test
    void aForcedReleaseMeetsWhoeverHoldsWhenItComes() {
        now(() -> store.admin().describe(LOCK));
        for (String withheld : new String[] {"sync", "read"}) {
            for (String wanted : new String[] {null, "host/1/x"}) {
                String head = enqueue("n", "host/1/x");
                enqueue("n", "host/1/x");
                String third = enqueue("n", "host/2/y");
                ensemble.withhold(withheld);
                CompletableFuture<Boolean> released = store.admin().forceRelease(LOCK, wanted);
                ensemble.removeUnheard(head);
                ensemble.answer(withheld);
                assertThat(released).as("%s %s", withheld, wanted).isCompletedWithValue(true);
                assertThat(ensemble.queue(PATH)).containsExactly(third.substring(PATH.length() + 1));
                ensemble.removeUnheard(third);
            }
        }
        String head = enqueue("n", "host/1/x");
        enqueue("n", "host/2/y");
        ensemble.withhold("read");
        CompletableFuture<Boolean> released = store.admin().forceRelease(LOCK, "host/1/x");
        ensemble.removeUnheard(head);
        ensemble.answer("read");
        assertThat(released).as("another holds").isCompletedWithValue(false);
        assertThat(ensemble.queue(PATH)).hasSize(1);
    }

    @Test
    void whatAStoreSaysOfItself() {
        assertThat(store.description()).isEqualTo("zk://h:2181/c");
        assertThat(store.guarantees().scope()).isNotNull();
        assertThat(now(() -> store.operations().diagnose()))
                .extracting(Finding::check)
                .containsExactly("session", "tick");
    }

    @Test
    void aDiagnosisWithoutASessionEnds() {
        CompletableFuture<List<Finding>> late = store.operations().diagnose();
        runtime.runFor(Duration.ofSeconds(10).minusMillis(1));
        assertThat(late).isNotDone();
        runtime.runFor(Duration.ofMillis(1));
        assertThat(late).isDone();
        assertThatThrownBy(late::join).hasMessageContaining("diagnosis at zk://h:2181/c was not answered");
    }
}
