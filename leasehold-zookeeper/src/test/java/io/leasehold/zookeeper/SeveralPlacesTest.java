package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The work of one store for several places, sessions and callbacks: for the second as for the first, and the second
 * time as the first time.
 */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class SeveralPlacesTest {

    private static final Duration TTL = Duration.ofSeconds(30);
    private static final Duration RECHECK = Duration.ofSeconds(20);
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private static final long STRANGER = 77;

    private final VirtualRuntime runtime = VirtualRuntime.seeded(1);
    private final ScriptedEnsemble ensemble = new ScriptedEnsemble();
    private final List<String> heard = new ArrayList<>();
    private final Map<OwnerToken, String> names =
            new TreeMap<>((a, b) -> a.publicId().compareTo(b.publicId()));
    private final ZooKeeperStore store = open("?tickTime=2s");

    private ZooKeeperStore open(String options) {
        ZooKeeperStore opened = new ZooKeeperStore(uri(options), runtime, ensemble);
        opened.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                heard.add("wake " + name);
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {
                heard.add("lost " + names.get(owner));
            }

            @Override
            public void suspended(OwnerToken owner) {
                heard.add("suspended " + names.get(owner));
            }

            @Override
            public void reconnected() {
                heard.add("reconnected");
            }
        });
        return opened;
    }

    private static ZooKeeperUri uri(String options) {
        return ZooKeeperUri.parse(StoreUri.parse("zookeeper://h:2181/c" + options));
    }

    private OwnerToken owner(String name) {
        OwnerToken owner = OwnerToken.draw(runtime);
        names.put(owner, name);
        return owner;
    }

    private AcquireReply ask(ZooKeeperStore at, String name, OwnerToken owner, Duration ttl) {
        CompletableFuture<AcquireReply> reply = at.acquire(AcquireRequest.exclusive(
                        List.of(LockName.exactly(name)), owner, "host/1/x", ttl.toNanos(), LIMIT.toNanos())
                .waiting(RECHECK.toNanos()));
        ensemble.connect();
        assertThat(reply).isCompleted();
        return reply.join();
    }

    private OwnerToken held(String name, Duration ttl) {
        OwnerToken owner = owner(name);
        assertThat(ask(store, name, owner, ttl)).isInstanceOf(AcquireReply.Granted.class);
        return owner;
    }

    private OwnerToken waiting(String name) {
        ensemble.put("/c/" + name, "", 0);
        ensemble.enqueue("/c/" + name, OwnerToken.draw(runtime).publicId(), "host/2/y", STRANGER);
        OwnerToken owner = owner(name);
        assertThat(ask(store, name, owner, TTL)).isInstanceOf(AcquireReply.Queued.class);
        return owner;
    }

    private ScriptedEnsemble.Client client() {
        return ensemble.clients.get(0);
    }

    private List<RenewReply.Item> renewed(Duration limit, RenewBatch.Item... items) {
        CompletableFuture<RenewReply> reply = store.renew(new RenewBatch(List.of(items), limit.toNanos()));
        ensemble.connect();
        runtime.runFor(limit);
        assertThat(reply).isCompleted();
        return reply.join().items();
    }

    private static RenewBatch.Item item(String name, OwnerToken owner, Duration ttl) {
        return new RenewBatch.Item(LockName.exactly(name), owner, ttl.toNanos(), 0);
    }

    // ---- what becomes of a session

    @Test
    void eachHolderIsToldEachTimeThatTheConnectionIsGone() {
        held("a", TTL);
        held("b", TTL);
        held("d", TTL);
        for (int time = 1; time <= 3; time++) {
            heard.clear();
            client().state(Watcher.Event.KeeperState.Disconnected);
            assertThat(heard).as("time " + time).containsExactlyInAnyOrder("suspended a", "suspended b", "suspended d");
            client().state(Watcher.Event.KeeperState.SyncConnected);
            assertThat(heard).as("time " + time).hasSize(4).endsWith("reconnected");
        }
    }

    @Test
    void theEndOfASessionIsToldToEachPlaceThatWasInIt() {
        held("a", TTL);
        held("b", TTL);
        waiting("w");
        waiting("x");
        client().state(Watcher.Event.KeeperState.Expired);
        assertThat(heard).containsExactlyInAnyOrder("lost a", "lost b", "wake w", "wake x");
        assertThat(store.attempts()).isZero();
    }

    /** The store receives an event of one place while it reports an event of another. */
    @Test
    void aPlaceThatIsToldOfTheEndOfItsSessionMayAskAnewAtOnce() {
        List<OwnerToken> waiters = List.of(waiting("w"), waiting("x"));
        List<Class<?>> replies = new ArrayList<>();
        store.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                OwnerToken owner = name.text().equals("w") ? waiters.get(0) : waiters.get(1);
                replies.add(ask(store, name.text(), owner, TTL).getClass());
            }

            @Override
            public void lost(OwnerToken owner, LossCause cause) {}

            @Override
            public void suspended(OwnerToken owner) {}

            @Override
            public void reconnected() {}
        });
        client().expire();
        assertThat(replies).containsExactly(AcquireReply.Queued.class, AcquireReply.Queued.class);
        assertThat(store.attempts()).isEqualTo(2);
        assertThat(ensemble.clients).as("both are in the one new session").hasSize(2);
    }

    // ---- renewals

    @Test
    void ofABatchOverSeveralSessionsEachAnswerIsThatOfItsLock() {
        OwnerToken a = held("a", TTL);
        OwnerToken b = held("b", Duration.ofSeconds(10));
        OwnerToken d = held("d", TTL);
        OwnerToken unknown = owner("e");
        ensemble.nodes.keySet().removeIf(path -> path.contains(d.publicId()));
        RenewReply.Item renewed = new RenewReply.Renewed(runtime.nanoTime());
        assertThat(renewed(
                        LIMIT,
                        item("b", b, Duration.ofSeconds(10)),
                        item("e", unknown, TTL),
                        item("d", d, TTL),
                        item("a", a, TTL)))
                .containsExactly(renewed, new RenewReply.NotOurs(), new RenewReply.NotOurs(), renewed);
    }

    @Test
    void theLimitOfABatchIsThatOfEachOfItsLocks() {
        OwnerToken a = held("a", TTL);
        OwnerToken b = held("b", Duration.ofSeconds(10));
        ensemble.withhold("firstMissing");
        ensemble.withhold("sync");
        OwnerToken elsewhere = owner("e");
        List<RenewReply.Item> items =
                renewed(LIMIT, item("a", a, TTL), item("b", b, Duration.ofSeconds(10)), item("e", elsewhere, TTL));
        assertThat(items).hasSize(3);
        for (int i = 0; i < 3; i++) {
            String lock = "renewal of \"" + List.of("a", "b", "e").get(i) + "\"";
            assertThat(items.get(i))
                    .isInstanceOfSatisfying(
                            RenewReply.Failed.class,
                            failed -> assertThat(failed.error())
                                    .hasMessageStartingWith(
                                            lock + " at zk://h:2181/c was not answered within 2000 ms"));
        }
    }

    /** A renewal for less does not shorten the promise of the one before. */
    @Test
    void aShorterRenewalKeepsALockNoShorter() {
        OwnerToken owner = held("a", TTL);
        long begun = runtime.nanoTime();
        renewed(Duration.ofSeconds(1), item("a", owner, TTL));
        renewed(Duration.ofSeconds(1), item("a", owner, Duration.ofSeconds(5)));
        runtime.runFor(Duration.ofNanos(begun + TTL.toNanos() - runtime.nanoTime() - 1));
        assertThat(store.attempts()).isEqualTo(1);
        runtime.runFor(Duration.ofNanos(1));
        assertThat(store.attempts()).isZero();
    }

    // ---- sessions

    @Test
    void sessionsAreAskedForWithTheTickThatTheUriTells() {
        ask(open("?tickTime=4s"), "a", owner("a"), Duration.ofSeconds(10));
        assertThat(client().askedMillis).isEqualTo(21_000);
    }

    @Test
    void theTimeoutThatTheUriTellsIsThatOfEverySession() {
        ZooKeeperStore fixed = open("?sessionTimeout=50s");
        ask(fixed, "a", owner("a"), Duration.ofSeconds(10));
        ask(fixed, "b", owner("b"), Duration.ofSeconds(20));
        fixed.admin().list("*", 1);
        assertThat(ensemble.clients).extracting(client -> client.askedMillis).containsExactly(50_000, 50_000);
    }

    @Test
    void theEndOfASessionIsWaitedForForTwoSeconds() {
        for (int i = 1; i <= 9; i++) {
            OwnerToken owner = owner("a");
            ask(store, "a", owner, Duration.ofSeconds(i));
            store.release(new ReleaseRequest(
                    List.of(LockName.exactly("a")), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
            runtime.runFor(Duration.ofSeconds(2));
        }
        assertThat(ensemble.clients)
                .filteredOn(client -> client.patienceMillis > 0)
                .as("one is closed for the ninth")
                .hasSize(1);
        store.close();
        assertThat(ensemble.clients)
                .hasSize(9)
                .allSatisfy(client -> assertThat(client.patienceMillis)
                        .as("of an idle one, and at the close")
                        .isEqualTo(2_000));
    }

    @Test
    void sessionsBeyondTheUsualNumberAreClosedOnceTheyAreIdle() {
        for (int i = 1; i <= 12; i++) {
            OwnerToken owner = owner("a" + i);
            ask(store, "a", owner, Duration.ofSeconds(i));
            store.release(new ReleaseRequest(
                    List.of(LockName.exactly("a")), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
        }
        runtime.runFor(Duration.ofSeconds(10).minusNanos(1));
        assertThat(openSessions()).as("a request may not have its place yet").isEqualTo(12);
        runtime.runFor(Duration.ofNanos(1));
        assertThat(openSessions()).isEqualTo(8);
        runtime.runFor(Duration.ofHours(1));
        assertThat(openSessions()).as("the usual number stays").isEqualTo(8);
    }

    /** The timer is armed again until they are idle. */
    @Test
    void sessionsThatWereInUseAtTheFirstLookAreClosedLater() {
        List<OwnerToken> owners = new ArrayList<>();
        for (int i = 1; i <= 9; i++) {
            owners.add(held("a" + i, Duration.ofSeconds(600 + i)));
        }
        runtime.runFor(Duration.ofSeconds(35));
        assertThat(openSessions()).isEqualTo(9);
        store.release(new ReleaseRequest(
                List.of(LockName.exactly("a3")), owners.get(2), 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
        runtime.runFor(Duration.ofSeconds(10));
        assertThat(openSessions()).isEqualTo(8);
    }

    /** A request may be longer than those of operators. */
    @Test
    void aSessionIsNotIdleBeforeTheTimeLimitOfItsRequest() {
        for (int i = 1; i <= 9; i++) {
            askAndRelease(Duration.ofSeconds(100 + i), Duration.ofSeconds(25));
        }
        runtime.runFor(Duration.ofSeconds(24));
        assertThat(openSessions()).isEqualTo(9);
        runtime.runFor(Duration.ofSeconds(10));
        assertThat(openSessions()).isEqualTo(8);
    }

    /** Requests with many ttls and short limits, one after another, do not each open a session. */
    @Test
    void aSessionIsNotIdleInTheFirstTenSecondsEvenIfItsRequestIsShorter() {
        for (int i = 1; i <= 8; i++) {
            askAndRelease(Duration.ofSeconds(100 + i), Duration.ofSeconds(1));
        }
        runtime.runFor(Duration.ofSeconds(9));
        askAndRelease(Duration.ofSeconds(109), Duration.ofSeconds(1));
        assertThat(openSessions()).isEqualTo(9);
        runtime.runFor(Duration.ofSeconds(1));
        askAndRelease(Duration.ofSeconds(110), Duration.ofSeconds(1));
        assertThat(openSessions()).isEqualTo(8);
    }

    private void askAndRelease(Duration ttl, Duration limit) {
        OwnerToken owner = owner("a");
        store.acquire(AcquireRequest.exclusive(
                List.of(LockName.exactly("a")), owner, "host/1/x", ttl.toNanos(), limit.toNanos()));
        ensemble.connect();
        store.release(new ReleaseRequest(
                List.of(LockName.exactly("a")), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
    }

    private long openSessions() {
        return ensemble.clients.stream().filter(client -> !client.closed).count();
    }

    /** Its request has no place in it yet, and would fail although the ensemble is healthy. */
    @Test
    void aSessionThatStillConnectsOrWasJustHandedOutIsNotIdle() {
        List<CompletableFuture<AcquireReply>> replies = new ArrayList<>();
        for (int i = 1; i <= 12; i++) {
            replies.add(store.acquire(AcquireRequest.exclusive(
                    List.of(LockName.exactly("lock" + i)),
                    owner("a" + i),
                    "host/1/x",
                    Duration.ofSeconds(i).toNanos(),
                    LIMIT.toNanos())));
        }
        ensemble.connect();
        assertThat(replies).allSatisfy(reply -> assertThat(reply.join()).isInstanceOf(AcquireReply.Granted.class));
        assertThat(ensemble.clients)
                .hasSize(12)
                .allSatisfy(client -> assertThat(client.patienceMillis).isZero());
        for (int i = 0; i < 12; i++) {
            runtime.runFor(Duration.ofSeconds(i));
        }
        assertThat(store.attempts()).as("their leases have ended").isZero();
        ask(store, "next", owner("next"), Duration.ofSeconds(29));
        assertThat(ensemble.clients)
                .filteredOn(client -> client.patienceMillis == 0)
                .as("the number is the usual one again")
                .hasSize(8);
    }

    @Test
    void aClientThatCannotBeMadeIsToldAsAStoreThatIsNotThere() {
        ZooKeeperStore none = new ZooKeeperStore(uri(""), runtime, (millis, events) -> {
            throw new IOException("no such host");
        });
        CompletableFuture<AcquireReply> reply = none.acquire(AcquireRequest.exclusive(
                List.of(LockName.exactly("a")), owner("a"), "host/1/x", TTL.toNanos(), LIMIT.toNanos()));
        assertThat(reply.join()).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failed.error())
                    .isInstanceOf(StoreUnavailableException.class)
                    .hasMessageStartingWith("no client for zk://h:2181/c")
                    .hasMessageContaining("no such host");
        });
    }

    /** The limit of the ensemble may have changed in the meantime. */
    @Test
    void whatIsSureFollowsFromTheTimeoutOfTheLastConnection() {
        OwnerToken owner = held("a", TTL);
        ensemble.longestMillis = 30_000;
        client().state(Watcher.Event.KeeperState.Disconnected);
        client().state(Watcher.Event.KeeperState.SyncConnected);
        long sent = runtime.nanoTime();
        // The leader may not have heard of a third of it, and of a tick.
        assertThat(renewed(LIMIT, item("a", owner, TTL)))
                .containsExactly(
                        new RenewReply.Renewed(sent - Duration.ofSeconds(12).toNanos()));
    }

    // ---- nodes

    /** A lock's node goes when it is empty, and what is above it stays. */
    @Test
    void theNodesAboveALockStayAndItsOwnGoesWhenItIsEmpty() {
        held("a", TTL);
        assertThat(ensemble.modes)
                .containsEntry("/c", CreateMode.PERSISTENT)
                .containsEntry("/c/a", CreateMode.CONTAINER);
    }

    @Test
    void aHolderIsNamedAsItIsWrittenInAnyLanguage() {
        CompletableFuture<AcquireReply> reply = store.acquire(AcquireRequest.exclusive(
                List.of(LockName.exactly("a")), owner("a"), "wirt-ä-主", TTL.toNanos(), LIMIT.toNanos()));
        ensemble.connect();
        assertThat(reply.join()).isInstanceOf(AcquireReply.Granted.class);
        assertThat(store.admin()
                        .describe(LockName.exactly("a"))
                        .join()
                        .orElseThrow()
                        .holder()
                        .id())
                .isEqualTo("wirt-ä-主");
    }

    /** The store sends no later request for its remaining state. */
    @Test
    void whatEndedWithItsSessionIsNotRemovedOnceMore() {
        held("a", TTL);
        waiting("w");
        client().expire();
        int before = ensemble.asked.size();
        runtime.runFor(Duration.ofMinutes(5));
        assertThat(ensemble.askedSince(before)).isEmpty();
    }

    @Test
    void aWatchThatCouldNotBeSetLeavesNoSecondQuestion() {
        ensemble.failNext("watch", KeeperException.Code.CONNECTIONLOSS);
        OwnerToken owner = held("a", TTL);
        renewed(LIMIT, item("a", owner, TTL));
        int before = ensemble.asked.size();
        ensemble.remove("/c/a/" + ensemble.queue("/c/a").get(0));
        assertThat(heard).containsExactly("lost a");
        assertThat(ensemble.askedSince(before).stream().filter(call -> call.startsWith("read")))
                .as("why it was lost")
                .hasSize(1);
    }

    // ---- callbacks

    @Test
    void eachOfSeveralCallbacksOfOneNodeIsCalledUnlessItIsForgotten() {
        List<String> called = new ArrayList<>();
        Session session = Session.open(uri(""), VirtualRuntime.seeded(1), 10_000, ensemble, new Session.Listener() {
            @Override
            public void suspended(Session one) {}

            @Override
            public void resumed(Session one) {}

            @Override
            public void ended(Session one) {}
        });
        ensemble.connect();
        ensemble.put("/c/n", "", 0);
        Consumer<Watcher.Event.EventType> first = event -> called.add("first");
        session.onEvent("/c/n", first);
        session.onEvent("/c/n", event -> called.add("second"));
        session.onEvent("/c/n", event -> called.add("third"));
        session.forget("/c/n", first);
        session.read("/c/n", true);
        ensemble.remove("/c/n");
        assertThat(called).containsExactly("second", "third");
    }

    // ---- what is thrown instead of answered

    /** No watch of the node before it exists then, so the store is asked at the next recheck. */
    @Test
    void aWatchWhoseRequestCannotBeSentIsNotCountedOn() {
        ensemble.put("/c/w", "", 0);
        String head = ensemble.enqueue("/c/w", OwnerToken.draw(runtime).publicId(), "host/2/y", STRANGER);
        OwnerToken owner = owner("w");
        ensemble.throwNext("watch", new StackOverflowError("made by the test"));
        assertThat(ask(store, "w", owner, TTL)).isInstanceOf(AcquireReply.Failed.class);
        runtime.runFor(RECHECK);
        int before = ensemble.asked.size();
        assertThat(ask(store, "w", owner, TTL))
                .isInstanceOfSatisfying(
                        AcquireReply.Queued.class,
                        queued -> assertThat(queued.holder())
                                .extracting(Holder::id)
                                .isEqualTo("host/2/y"));
        assertThat(ensemble.askedSince(before)).isNotEmpty();
        ensemble.remove(head);
        assertThat(heard).containsExactly("wake w");
    }

    @Test
    void aWatchOfAHolderThatCannotBeSentIsSetByTheNextRenewal() {
        ensemble.throwNext("watch", new StackOverflowError("made by the test"));
        OwnerToken owner = owner("a");
        ask(store, "a", owner, TTL);
        renewed(LIMIT, item("a", owner, TTL));
        ensemble.remove("/c/a/" + ensemble.queue("/c/a").get(0));
        assertThat(heard).containsExactly("lost a");
    }

    /** The request for the node was sent before, and no caller waits for its answer any more. */
    @Test
    void aNodeWhoseQueueCannotBeAskedForIsRemovedWithTheRelease() {
        ensemble.put("/c/a", "", 0);
        ensemble.throwNext("children", new StackOverflowError("made by the test"));
        OwnerToken owner = owner("a");
        assertThat(ask(store, "a", owner, TTL)).isInstanceOf(AcquireReply.Failed.class);
        store.release(new ReleaseRequest(
                List.of(LockName.exactly("a")), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
        assertThat(ensemble.queue("/c/a")).isEmpty();
    }

    @Test
    void aRemovalThatCannotBeSentIsRepeated() {
        OwnerToken owner = held("a", TTL);
        ensemble.throwNext("delete", new StackOverflowError("made by the test"));
        ensemble.throwNext("delete", new IllegalStateException("made by the test"));
        CompletableFuture<ReleaseReply> reply = store.release(new ReleaseRequest(
                List.of(LockName.exactly("a")), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT.toNanos()));
        assertThat(reply.join()).isInstanceOf(ReleaseReply.Failed.class);
        runtime.runFor(Duration.ofSeconds(2));
        assertThat(ensemble.queue("/c/a")).isEmpty();
        assertThat(store.attempts()).isZero();
    }

    /** The ensemble refuses no other request in the meantime. */
    @Test
    void aQueueThatCannotBeReadFailsTheRequestAndKeepsItsNodeForTheNext() {
        ensemble.put("/c/w", "", 0);
        OwnerToken owner = owner("w");
        ensemble.failNext("children", KeeperException.Code.CONNECTIONLOSS);
        assertThat(ask(store, "w", owner, TTL)).isInstanceOf(AcquireReply.Failed.class);
        assertThat(ask(store, "w", owner, TTL)).isInstanceOf(AcquireReply.Granted.class);
        assertThat(ensemble.queue("/c/w")).hasSize(1);
    }
}
