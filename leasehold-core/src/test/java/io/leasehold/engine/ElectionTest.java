package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Candidacy;
import io.leasehold.Candidate;
import io.leasehold.Election;
import io.leasehold.HandOverOutcome;
import io.leasehold.Holder;
import io.leasehold.Leader;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.Term;
import io.leasehold.admin.ClientRecord;
import io.leasehold.memory.InMemoryNode;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.StoreOperations;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Callbacks that block their thread, and the leader as seen by other clients. */
@Tag("quick")
@Timeout(120)
final class ElectionTest {

    private static final LockName NAME = LockName.exactly("scheduler");

    private static void untilInterrupted() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void resigningInterruptsACallbackThatBlocksAndTheNextCandidateLeads() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            LinkedBlockingQueue<String> led = new LinkedBlockingQueue<>();
            Candidacy first = locks.election(NAME).stand(term -> {
                led.add("first " + term.isValid());
                untilInterrupted();
            });
            assertThat(led.take()).isEqualTo("first true");
            Candidacy second = locks.election(NAME).stand(term -> {
                led.add("second " + term.isValid());
                untilInterrupted();
            });
            assertThat(first.resign()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(led.take()).isEqualTo("second true");
            second.close();
            assertThat(led.take()).as("it has stood again").isEqualTo("first true");
            first.close();
            assertThat(locks.election(NAME).leader()).isEmpty();
        }
    }

    /** The callback is interrupted; the caller is interrupted while it waits, and still receives the outcome. */
    @Test
    void handingOverInterruptsACallbackThatBlocksAndTheNamedCandidateLeads() throws Exception {
        SystemLockRuntime runtime = new SystemLockRuntime();
        InMemoryNode node = new InMemoryNode(runtime);
        LinkedBlockingQueue<String> led = new LinkedBlockingQueue<>();
        LockClient one = member(node, runtime);
        LockClient two = member(node, runtime);
        LockClient three = member(node, runtime);
        Candidacy first = one.election(NAME).stand(term -> {
            led.add("first");
            untilInterrupted();
        });
        assertThat(led.take()).isEqualTo("first");
        two.election(NAME).stand(term -> {
            led.add("second");
            untilInterrupted();
        });
        awaitCandidates(one, two.holderId());
        three.election(NAME).stand(term -> led.add("third"));
        awaitCandidates(one, two.holderId(), three.holderId());
        Thread.currentThread().interrupt();
        assertThat(first.handOver(three.holderId())).isEqualTo(HandOverOutcome.HANDED_OVER);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(led.take()).isEqualTo("third");
        assertThat(led.take()).as("it has ended its term itself").isEqualTo("second");
        List.of(one, two, three).forEach(LockClient::close);
        runtime.close();
    }

    /** A callback hands over itself, and waits for the outcome in its own thread. */
    @Test
    void aCallbackHandsOverItself() throws Exception {
        SystemLockRuntime runtime = new SystemLockRuntime();
        InMemoryNode node = new InMemoryNode(runtime);
        LinkedBlockingQueue<Object> led = new LinkedBlockingQueue<>();
        LockClient one = member(node, runtime);
        LockClient two = member(node, runtime);
        CompletableFuture<Candidacy> own = new CompletableFuture<>();
        own.complete(one.election(NAME).stand(term -> {
            awaitCandidates(one, two.holderId());
            led.add(own.join().handOver(two.holderId()));
            led.add(term.isValid());
            untilInterrupted();
        }));
        two.election(NAME).stand(term -> {
            led.add("second");
            untilInterrupted();
        });
        assertThat(List.of(led.take(), led.take(), led.take()))
                .containsExactlyInAnyOrder(HandOverOutcome.HANDED_OVER, false, "second");
        List.of(one, two).forEach(LockClient::close);
        runtime.close();
    }

    private static LockClient member(InMemoryNode node, SystemLockRuntime runtime) {
        return Leasehold.builder().store(new SingleNodeStore(node, runtime)).connect();
    }

    private static void awaitCandidates(LockClient asking, String... ids) {
        List<String> waiting;
        do {
            LockSupport.parkNanos(1_000_000L);
            waiting = asking.election(NAME).candidates(10).stream()
                    .map(Candidate::holderId)
                    .toList();
        } while (!waiting.equals(List.of(ids)));
    }

    @Test
    void aLossInterruptsACallbackThatBlocks() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            LinkedBlockingQueue<Long> led = new LinkedBlockingQueue<>();
            Candidacy candidacy = locks.election(NAME).stand(term -> {
                led.add(term.fencingToken());
                untilInterrupted();
            });
            long first = led.take();
            assertThat(locks.admin().forceRelease(NAME, null)).isTrue();
            assertThat(led.take()).as("it stands again").isGreaterThan(first);
            assertThat(candidacy.term()).isPresent();
        }
    }

    /**
     * The executor checks this at the end of the task: a pool of the JDK would clear an interrupt itself before the
     * next task.
     */
    @Test
    void anInterruptThatACallbackHasNotHeardIsNoneOfTheNextTask() throws Exception {
        CompletableFuture<Boolean> stillInterrupted = new CompletableFuture<>();
        Executor thread = task -> new Thread(() -> {
                    task.run();
                    stillInterrupted.complete(Thread.currentThread().isInterrupted());
                })
                .start();
        try (LockClient locks =
                Leasehold.builder().store("memory:").workExecutor(thread).connect()) {
            CompletableFuture<Term> began = new CompletableFuture<>();
            CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
            CountDownLatch goOn = new CountDownLatch(1);
            Candidacy candidacy = locks.election(NAME).stand(term -> {
                began.complete(term);
                while (goOn.getCount() > 0) {
                    Thread.onSpinWait();
                }
                interrupted.complete(Thread.currentThread().isInterrupted());
            });
            Term term = began.get();
            CompletableFuture<Void> closed = candidacy.closeAsync();
            assertThat(term.isValid()).isFalse();
            goOn.countDown();
            closed.get();
            assertThat(interrupted.get()).as("inside").isTrue();
            assertThat(stillInterrupted.get()).as("after it").isFalse();
        }
    }

    @Test
    void aCallbackMayResignAndCloseItself() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            AtomicReference<Candidacy> candidacy = new AtomicReference<>();
            CountDownLatch known = new CountDownLatch(1);
            AtomicInteger terms = new AtomicInteger();
            CompletableFuture<ReleaseOutcome> outcome = new CompletableFuture<>();
            CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
            candidacy.set(locks.election(NAME).stand(term -> {
                awaitQuietly(known);
                if (terms.incrementAndGet() == 1) {
                    outcome.complete(candidacy.get().resign());
                } else {
                    candidacy.get().close();
                    interrupted.complete(Thread.currentThread().isInterrupted());
                }
            }));
            known.countDown();
            assertThat(outcome.get()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(interrupted.get()).as("by itself").isFalse();
            candidacy.get().whenEnded().toCompletableFuture().get();
            assertThat(terms).hasValue(2);
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void aCallbackThatHasResignedItselfAndGoesOnIsInterruptedByTheClose() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            AtomicReference<Candidacy> candidacy = new AtomicReference<>();
            CountDownLatch known = new CountDownLatch(1);
            CountDownLatch resigned = new CountDownLatch(1);
            candidacy.set(locks.election(NAME).stand(term -> {
                awaitQuietly(known);
                candidacy.get().resign();
                resigned.countDown();
                untilInterrupted();
            }));
            known.countDown();
            resigned.await();
            candidacy.get().close();
            candidacy.get().whenEnded().toCompletableFuture().get(1, TimeUnit.MINUTES);
        }
    }

    /** Closes once during each election, as far as the test can achieve that. */
    @Test
    void aCloseThatMeetsAnElectionIsNotLost() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            for (int i = 0; i < 2_000; i++) {
                Candidacy candidacy = locks.election(NAME).standAsync(term -> {
                    CompletableFuture<Void> work = new CompletableFuture<>();
                    term.onEnd(end -> work.complete(null));
                    return work;
                });
                candidacy.closeAsync().get(1, TimeUnit.MINUTES);
            }
            assertThat(locks.election(NAME).leader()).isEmpty();
        }
    }

    @Test
    void aClosedClientShowsNoLeader() {
        LockClient locks = Leasehold.connect("memory:");
        Election closed = locks.election(NAME);
        locks.close();
        assertThatThrownBy(() -> closed.observe(leader -> {})).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aCallbackThatWaitsForItsOwnLockIsRefused() throws Exception {
        try (LockClient locks = Leasehold.connect("memory:")) {
            CompletableFuture<Throwable> refused = new CompletableFuture<>();
            Candidacy candidacy = locks.election(NAME).stand(term -> {
                try {
                    locks.named(NAME).acquire();
                } catch (IllegalStateException | InterruptedException e) {
                    refused.complete(e);
                }
                untilInterrupted();
            });
            assertThat(refused.get()).isInstanceOf(IllegalStateException.class).hasMessageContaining("wait for itself");
            candidacy.close();
        }
    }

    @Test
    void manyCandidatesNeverLeadTogether() throws Exception {
        AtomicInteger leading = new AtomicInteger();
        AtomicInteger overlaps = new AtomicInteger();
        AtomicInteger terms = new AtomicInteger();
        CountDownLatch enough = new CountDownLatch(200);
        List<Candidacy> all = new ArrayList<>();
        try (LockClient locks = Leasehold.connect("memory:")) {
            for (int i = 0; i < 8; i++) {
                all.add(locks.election(NAME).stand(term -> {
                    if (leading.incrementAndGet() != 1) {
                        overlaps.incrementAndGet();
                    }
                    terms.incrementAndGet();
                    enough.countDown();
                    leading.decrementAndGet();
                }));
            }
            assertThat(enough.await(60, TimeUnit.SECONDS)).isTrue();
            all.forEach(Candidacy::close);
            int afterwards = terms.get();
            assertThat(locks.election(NAME).leader()).isEmpty();
            assertThat(terms).hasValue(afterwards);
            assertThat(overlaps).hasValue(0);
        }
    }

    // ---- the leader, as seen by other clients

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final LockClient client = Leasehold.builder()
            .store(store)
            .runtime(runtime)
            .defaults(LockOptions.defaults().recheck(Duration.ofSeconds(3)))
            .connect();
    private final Election election = client.election(NAME);

    private void leads(String holderId, long token) {
        store.tells(NAME, new Holder(holderId, Duration.ofSeconds(20), OptionalLong.of(token)));
    }

    @Test
    void theLeaderIsToldWithWhatItsRecordSays() {
        assertThat(election.leader()).isEmpty();
        leads("h:1:c", 7);
        assertThat(election.leader()).contains(new Leader("h:1:c", "", OptionalLong.of(7), Optional.empty()));
        Instant since = Instant.ofEpochMilli(1_700_000_000_000L);
        store.operations(new StoreOperations() {
            @Override
            public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
                var hold = new ClientRecord.ClientHold(NAME.text(), "work", since, 3);
                return CompletableFuture.completedFuture(
                        Optional.of(new ClientRecord(holderId, "h", 1, "billing", Instant.EPOCH, List.of(hold))));
            }
        });
        assertThat(election.leader()).contains(new Leader("h:1:c", "billing", OptionalLong.of(7), Optional.of(since)));
    }

    @Test
    void whatARecordWouldAddIsNotWorthAFailure() {
        leads("h:1:c", 7);
        store.operations(new StoreOperations() {
            @Override
            public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
                throw new IllegalStateException("made by the test");
            }
        });
        assertThat(election.leader()).contains(new Leader("h:1:c", "", OptionalLong.of(7), Optional.empty()));
    }

    @Test
    void anObserverIsToldOfEachChangeOnce() {
        List<String> told = new ArrayList<>();
        Election.Observation observation = election.observe(
                leader -> told.add(leader.map(l -> l.holderId() + l.term()).orElse("none")));
        assertThat(told).containsExactly("none");
        runtime.pass(Duration.ofSeconds(10));
        leads("a", 1);
        runtime.pass(Duration.ofSeconds(4));
        runtime.pass(Duration.ofSeconds(10));
        leads("a", 2);
        runtime.pass(Duration.ofSeconds(4));
        store.tells(NAME, null);
        runtime.pass(Duration.ofSeconds(4));
        assertThat(told).containsExactly("none", "a" + OptionalLong.of(1), "a" + OptionalLong.of(2), "none");
        observation.close();
        leads("b", 3);
        runtime.pass(Duration.ofMinutes(1));
        assertThat(told).hasSize(4);
        assertThat(runtime.timers()).as("nothing is left").isLessThanOrEqualTo(1);
    }

    @Test
    void anObserverIsToldAgainOnceTheStoreAnswers() throws Exception {
        List<String> told = new ArrayList<>();
        String log = CandidacyEdgesTest.logged(() -> {
            store.showsNothing = true;
            election.observe(leader -> told.add(leader.map(Leader::holderId).orElse("none")));
            runtime.pass(Duration.ofSeconds(20));
            leads("a", 1);
            store.showsNothing = false;
            runtime.pass(Duration.ofSeconds(4));
            store.showsNothing = true;
            runtime.pass(Duration.ofSeconds(20));
        });
        assertThat(told).containsExactly("a");
        assertThat(log.lines().filter(line -> line.contains("is unknown at the moment")))
                .as("once for each outage")
                .hasSize(2);
    }

    /** Whichever read of a clock fails in a poll, the next one follows. */
    @Test
    void anErrorInAPollEndsNoObservation() {
        boolean met = true;
        for (int fatal = 1; met; fatal++) {
            ElectionTest own = new ElectionTest();
            List<String> told = new ArrayList<>();
            own.election.observe(leader -> told.add(leader.map(Leader::holderId).orElse("none")));
            AtomicInteger reads = new AtomicInteger();
            int at = fatal;
            own.runtime.beforeAClockIsRead(() -> {
                if (reads.incrementAndGet() == at) {
                    throw new InternalError("made by the test");
                }
            });
            own.runtime.pass(Duration.ofSeconds(4));
            own.runtime.beforeAClockIsRead(() -> {});
            met = reads.get() >= fatal;
            own.leads("a", 1);
            own.runtime.pass(Duration.ofSeconds(8));
            assertThat(told).as("read %d", fatal).containsExactly("none", "a");
        }
    }

    @Test
    void anObserverThatThrowsIsToldOfTheNextChangeToo() {
        List<String> told = new ArrayList<>();
        election.observe(leader -> {
            told.add(leader.map(Leader::holderId).orElse("none"));
            throw new AssertionError("made by the test");
        });
        leads("a", 1);
        runtime.pass(Duration.ofSeconds(4));
        assertThat(told).containsExactly("none", "a");
    }

    @Test
    void badInputIsRefusedAtTheDoor() {
        assertThatThrownBy(() -> election.stand(null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> election.standAsync(null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> election.observe(null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> client.election((LockName) null)).isInstanceOf(NullPointerException.class);
        assertThat(store.acquires()).isEmpty();
    }
}
