package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.Finding;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.node.Ballot;
import io.leasehold.node.NodeReply;
import io.leasehold.redis.node.NodeSettings;
import io.leasehold.redis.node.RedisNode;
import io.leasehold.redis.store.NodeOpening;
import io.leasehold.redis.store.RedisGuarantees;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.virtual.SteppedRuntime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests of a node over connections without a server: the routing of requests, their results, and their ends; only the
 * test advances the time.
 */
@Tag("quick")
@Timeout(120)
@SuppressWarnings("FutureReturnValueIgnored") // the test sees the results at the driver
final class StillNodeTest {

    private static final Duration LIMIT = Duration.ofSeconds(4);
    private static final Duration OPERATOR = Duration.ofSeconds(5);
    private static final Duration AGAIN = Duration.ofMillis(50);
    private static final Duration NANO = Duration.ofNanos(1);
    private static final List<Throwable> THROWN =
            List.of(new IllegalStateException("made by the test"), new NoClassDefFoundError("made by the test"));
    private final ServerRefusal tryAgain = new ServerRefusal("TRYAGAIN Multiple keys request", null);

    private final SteppedRuntime runtime = new SteppedRuntime(new SystemLockRuntime());
    private final StillDriver driver = new StillDriver();
    private final OwnerToken owner = OwnerToken.draw(runtime);
    private final List<String> signals = new ArrayList<>();

    @AfterEach
    void close() {
        runtime.close();
    }

    private static NodeSettings settings() {
        return NodeSettings.standard(RedisGuarantees.single(false));
    }

    private RedisNode node(Topology topology, NodeSettings settings) {
        RedisNode node = new RedisNode("the node", settings, topology, errors(topology), runtime);
        node.listen(new StoreSignals() {
            @Override
            public void wake(LockName name) {
                signals.add("wake " + name);
            }

            @Override
            public void handedOver(HandOver handOver) {
                signals.add("handed " + handOver.name()
                        + (handOver.channel() == null
                                ? ""
                                : " over " + handOver.channel().server().id()));
            }

            @Override
            public void lost(OwnerToken of, LossCause cause) {
                signals.add("lost");
            }

            @Override
            public void takenAway(LockName name) {
                signals.add("taken " + name);
            }

            @Override
            public void reconnected() {
                signals.add("reconnected");
            }
        });
        return node;
    }

    private static RedisErrors errors(Topology of) {
        return new RedisErrors(of instanceof ClusterTopology ? "cluster" : "server");
    }

    private StillDriver.Connection master;

    private RedisNode single(NodeSettings settings) {
        Deployment where = Deployment.parse(StoreUri.parse("redis://here"));
        Topology topology = new MasterTopology(where, driver, where.errors(), runtime);
        topology.open();
        master = driver.made();
        return node(topology, settings);
    }

    private String version = "7.0.0";

    private String info(String life) {
        return "run_id:" + life + "\r\nredis_version:" + version + "\r\nrole:master\r\ncluster_enabled:1\r\n";
    }

    private StillDriver.Connection connected(String life) {
        StillDriver.Connection made = new StillDriver.Connection();
        driver.asked.get(driver.asked.size() - 1).answer().complete(made);
        made.answers("INFO", info(life));
        return made;
    }

    private StillDriver.Connection one;
    private StillDriver.Connection two;

    /** Two masters, of which the first serves the lower half. */
    private void tells(StillDriver.Connection visit) {
        visit.answers(
                "CLUSTER SLOTS",
                List.of(0L, 8_191L, List.of("one", 6379L, "id")),
                List.of(8_192L, 16_383L, List.of("two", 6379L, "id")));
        visit.answers("CLUSTER INFO", "cluster_current_epoch:5");
    }

    private void links() {
        for (StillDriver.Asked<RedisConnection> asked : List.copyOf(driver.asked)) {
            if (!asked.answer().isDone()) {
                StillDriver.Connection made = new StillDriver.Connection();
                String host = asked.server().host();
                asked.answer().complete(made);
                made.answers("INFO", info("life-of-" + host));
                if (host.equals("one")) {
                    one = made;
                } else {
                    two = made;
                }
            }
        }
    }

    private RedisNode cluster() {
        Deployment where = Deployment.parse(StoreUri.parse("redis-cluster://one"));
        Topology topology = new ClusterTopology(where, driver, where.errors(), runtime);
        topology.open();
        tells(connected("visit"));
        links();
        return node(topology, settings());
    }

    private static LockName served(boolean byTheFirst) {
        return Stream.iterate(0, i -> i + 1)
                .map(i -> LockName.of("n" + i))
                .filter(name -> Slots.of(KeyLayout.standard().lock(name)) < 8_192 == byTheFirst)
                .findFirst()
                .orElseThrow();
    }

    private CompletableFuture<ReleaseReply> release(RedisNode node, LockName name) {
        return node.release(new ReleaseRequest(List.of(name), owner, 77, ReleaseRequest.Kind.UNDO, LIMIT.toNanos()));
    }

    private AcquireRequest request(LockName... names) {
        return AcquireRequest.exclusive(List.of(names), owner, "host/1/x", 30_000_000_000L, LIMIT.toNanos());
    }

    private static <T> T told(CompletableFuture<T> answer) {
        assertThat(answer).isDone();
        return answer.join();
    }

    private static int count(StillDriver.Connection at, String begin) {
        return (int) at.sent.stream().filter(words -> words.startsWith(begin)).count();
    }

    // ---- the routing

    /** The silence belongs to the server to which the request was redirected. */
    @Test
    void aRequestWithoutAnAnswerIsThatOfTheServerThatWasAskedLast() {
        RedisNode node = cluster();
        CompletableFuture<ReleaseReply> reply = release(node, served(true));
        one.fails("EVALSHA", new ServerRefusal("MOVED " + Slots.of("lock:{" + served(true) + "}") + " two:6379", null));
        assertThat(two.sent).anyMatch(words -> words.startsWith("release.lua"));
        StillDriver.Connection asked = two;
        one.questions.clear();
        one.close();
        runtime.advance(LIMIT);
        assertThat(told(reply)).isInstanceOf(ReleaseReply.Failed.class);
        assertThat(asked.open).as("nothing was heard on it for longer than 3 s").isFalse();
    }

    /** The script replies with the error of its command, in the words of Redis 7 or of Redis 6.2; no exception reports it. */
    @Test
    void aRenewalThatAReplicaRefusesEndsItsLink() {
        String readOnly = "READONLY You can't write against a read only replica. (at the 'pexpire' command)";
        for (String words : List.of(readOnly, "@user_script: 34: -" + readOnly)) {
            RedisNode node = single(settings());
            CompletableFuture<RenewReply> full = renew(node);
            master.answers("EVALSHA", 0L, 1L, "OOM command not allowed (at the 'pexpire' command)");
            assertThat(told(full).items()).hasOnlyElementsOfType(RenewReply.Failed.class);
            assertThat(master.open).as("a full server is still the right one").isTrue();
            CompletableFuture<RenewReply> refused = renew(node);
            master.answers("EVALSHA", 0L, 1L, words);
            assertThat(told(refused).items())
                    .satisfiesExactly(item -> assertThat(((RenewReply.Failed) item).error())
                            .hasMessageContaining("READONLY")
                            .hasMessageContaining("connect to its primary"));
            assertThat(master.open).isFalse();
        }
    }

    private CompletableFuture<RenewReply> renew(RedisNode node) {
        return node.renew(new RenewBatch(
                List.of(new RenewBatch.Item(LockName.of("x"), owner, LIMIT.toNanos())), LIMIT.toNanos()));
    }

    @Test
    void theClockOfALockIsThatOfItsMaster() {
        RedisNode node = cluster();
        CompletableFuture<NodeReply> low = node.probe(served(true), LIMIT.toNanos());
        CompletableFuture<NodeReply> high = node.probe(served(false), LIMIT.toNanos());
        one.answers("TIME", "5", "6");
        two.answers("TIME", "7", "8");
        assertThat(told(low)).isEqualTo(new NodeReply.Stale(0, new Incarnation("life-of-one"), 5_000_006));
        assertThat(told(high)).isEqualTo(new NodeReply.Stale(0, new Incarnation("life-of-two"), 7_000_008));
    }

    @Test
    void aListLooksAtEachMaster() {
        RedisNode node = cluster();
        List<Long> seen = new ArrayList<>();
        node.operations().onProgress(seen::add);
        CompletableFuture<List<HeldLock>> list = node.admin().list("*", 10);
        one.answers("SCAN", "0", List.of(KeyLayout.standard().lock(served(true))));
        assertThat(count(one, "SCAN")).isOne();
        two.answers("SCAN", "7", List.of());
        two.answers("SCAN", "0", List.of(KeyLayout.standard().lock(served(false))));
        assertThat(count(two, "SCAN")).isEqualTo(2);
        one.answers("EVALSHA", "held", "host/1/a::", "host/1/a", "9");
        two.answers("EVALSHA", "free");
        assertThat(told(list)).extracting(HeldLock::name).containsExactly(served(true));
        assertThat(seen).containsExactly(100L, 200L, 300L);
    }

    /** Each master is diagnosed by its own name. */
    @Test
    void eachMasterIsDiagnosedByItsNumber() {
        RedisNode node = cluster();
        CompletableFuture<List<Finding>> findings = node.operations().diagnose();
        driver.askedForPushes.get(0).answer().completeExceptionally(new IllegalStateException("no"));
        for (StillDriver.Connection master : List.of(one, two)) {
            for (int i = 0; i < 5; i++) {
                master.fails(
                        "CONFIG", new ServerRefusal("NOPERM no permissions to run the 'config|get' command", null));
            }
            for (int i = 0; i < 3; i++) {
                master.answers("INFO", info("life"));
            }
            master.answers("TIME", Long.toString(runtime.wallMillis() / 1_000), "0");
        }
        assertThat(told(findings).stream()
                        .filter(one -> one.check().equals("version"))
                        .map(Finding::reason))
                .satisfiesExactly(
                        first -> assertThat(first).startsWith("the node (master 1) is"),
                        second -> assertThat(second).startsWith("the node (master 2) is"));
    }

    /** A Cluster has a life for each master, and each is checked. */
    @Test
    void theConfigurationOfEachMasterIsThatOfItsLife() {
        Deployment where = Deployment.parse(StoreUri.parse("redis-cluster://one"));
        NodeOpening opening = new NodeOpening(where, driver, runtime);
        tells(connected("visit"));
        links();
        for (StillDriver.Connection master : List.of(one, two)) {
            master.answers(
                    "CONFIG",
                    "appendonly",
                    master == one ? "yes" : "no",
                    "appendfsync",
                    "always",
                    "no-appendfsync-on-rewrite",
                    "no");
            master.answers("CONFIG", "maxmemory-policy", "noeviction");
            master.answers("INFO", "");
            master.answers("INFO", "");
        }
        NodeOpening.Outcome outcome = told(opening.outcome());
        assertThat(outcome.found()).containsOnlyKeys(new Incarnation("life-of-one"), new Incarnation("life-of-two"));
        assertThat(outcome.found().get(new Incarnation("life-of-one")).durableNow())
                .isTrue();
        assertThat(outcome.found().get(new Incarnation("life-of-two")).durableNow())
                .isFalse();
        assertThat(outcome.weakest()).isNotNull();
        one.thrown = new NoClassDefFoundError("made by the test");
        CompletableFuture<?> again = opening.look();
        two.fails("CONFIG", new ServerRefusal("NOPERM no", null));
        two.fails("CONFIG", new ServerRefusal("NOPERM no", null));
        assertThat(again).as("one that throws keeps the other from nothing").isNotCompletedExceptionally();
    }

    // ---- ends and results

    @Test
    void whatAnOperatorAsksHasFiveSeconds() {
        RedisNode node = single(settings());
        CompletableFuture<?> record = node.admin().describe(LockName.of("x"));
        CompletableFuture<?> leaks = node.operations().leaks();
        runtime.advance(OPERATOR.minus(NANO));
        assertThat(record).isNotDone();
        assertThat(leaks).isNotDone();
        runtime.advance(NANO);
        assertThat(record).isDone();
        assertThatThrownBy(record::join)
                .hasCauseInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("inspect lock \"x\" within 5000 ms");
        assertThat(leaks).isCompletedExceptionally();
    }

    /**
     * After the driver throws, the request may have been sent or not; it is no longer in flight, and its timer is
     * cancelled.
     */
    @Test
    void aRequestThatTheDriverThrowsBackIsAnsweredAtOnce() {
        RedisNode node = single(settings());
        // The first release also asks how the server sees the connection.
        release(node, LockName.of("before"));
        master.answers("EVALSHA", "released");
        for (Throwable thrown : THROWN) {
            master.thrown = thrown;
            ReleaseReply reply = told(release(node, LockName.of("x")));
            assertThat(reply).isInstanceOfSatisfying(ReleaseReply.Failed.class, failed -> {
                assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
                assertThat(failed.error())
                        .hasMessageContaining("release lock \"x\"")
                        .hasMessageContaining("made by the test");
            });
            assertThat(runtime.isDueWithin(LIMIT)).as("limits that are left").isFalse();
            // More than the maximum number of requests in flight.
            for (int i = 0; i < 9_000; i++) {
                master.thrown = thrown;
                release(node, LockName.of("x"));
            }
            CompletableFuture<ReleaseReply> next = release(node, LockName.of("x"));
            master.answers("EVALSHA", "released");
            assertThat(told(next)).isInstanceOf(ReleaseReply.Released.class);
        }
    }

    /**
     * A message names the server whose time it contains. A proxy may have connected the connection to another server
     * since it reported its run id, so the script asks its own server.
     */
    @Test
    void aScriptIsToldItsServerOnlyOnAConnectionThatIsProvedToLeadToIt() {
        LockName name = LockName.of("x");
        for (boolean direct : new boolean[] {false, true}) {
            RedisNode node = single(settings());
            master.direct = direct;
            release(node, name);
            assertThat(master.sent.get(master.sent.size() - 1))
                    .as("not proved yet")
                    .endsWith(" volatile");
            master.answers("CLIENT", "id=1 addr=127.0.0.1:9 laddr=127.0.0.1:6379");
            release(node, name);
            assertThat(master.sent.get(master.sent.size() - 1)).endsWith(direct ? " life" : " volatile");
            assertThat(master.sent.stream().filter(one -> one.startsWith("CLIENT")))
                    .hasSize(1);
        }
    }

    @Test
    void whatAServerSaysThatLeadsNowhereIsItsAnswer() {
        RedisNode node = cluster();
        for (String words : List.of("MOVED x two:6379", "MOVED 16384 two:6379", "ASK 5 two:x", "MOVED 5 two:999999")) {
            CompletableFuture<ReleaseReply> reply = release(node, served(true));
            one.fails("EVALSHA", new ServerRefusal(words, null));
            assertThat(reply).as(words).isDone();
            assertThat(told(reply)).as(words).isInstanceOf(ReleaseReply.Failed.class);
        }
    }

    /** While its slot moves, unanswered requests are repeated like refused ones. */
    @Test
    void aReleaseDuringAMoveIsRepeatedHoweverTheRepetitionFails() {
        RedisNode node = single(settings());
        CompletableFuture<ReleaseReply> reply = release(node, LockName.of("x"));
        master.fails("EVALSHA", tryAgain);
        master.answers("EVALSHA", "released");
        master.answers("EVALSHA", "released");
        assertThat(told(reply)).isInstanceOf(ReleaseReply.Released.class);
        runtime.advance(AGAIN);
        assertThat(count(master, "release.lua")).isEqualTo(2);
        master.fails("EVALSHA", new IllegalStateException("reset"));
        runtime.advance(AGAIN);
        assertThat(count(master, "release.lua"))
                .as("after one without an answer")
                .isEqualTo(3);
        master.thrown = new NoClassDefFoundError("made by the test");
        master.fails("EVALSHA", tryAgain);
        runtime.advance(AGAIN);
        assertThat(count(master, "release.lua"))
                .as("after one that was refused")
                .isEqualTo(4);
        runtime.advance(AGAIN);
        assertThat(count(master, "release.lua"))
                .as("after one that was thrown back")
                .isEqualTo(5);
        master.answers("EVALSHA", "released");
        runtime.advance(AGAIN.multipliedBy(10));
        assertThat(count(master, "release.lua")).isEqualTo(5);
    }

    // ---- keys

    /** A name whose key would be the side key of another lock, even if it is not the first name. */
    @Test
    void ofSeveralNamesEachHasToHaveAKey() {
        RedisNode node = single(settings().keys(KeyLayout.of("*")));
        int before = master.asked;
        for (LockName[] names : List.of(
                new LockName[] {LockName.exactly("{x}:fence"), LockName.of("x")},
                new LockName[] {LockName.of("x"), LockName.exactly("{x}:fence")})) {
            NodeReply reply = told(node.acquire(new Ballot(request(names), 5_000, 1)));
            assertThat(reply).isInstanceOfSatisfying(NodeReply.Failed.class, failed -> {
                assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
                assertThat(failed.error()).hasMessageContaining("{x}:fence");
            });
        }
        assertThat(master.asked).isEqualTo(before);
    }

    @Test
    void whatIsPushedIsReadByTheTemplateOfTheKeys() {
        RedisNode node = single(settings().keys(KeyLayout.of("jobs:{*}")));
        AcquireRequest waiting = request(LockName.of("x")).waiting(1_000_000_000L);
        CompletableFuture<NodeReply> asked = node.acquire(new Ballot(waiting, 5_000, 2));
        master.answers("EVALSHA", "held", "5", "host/1/a::", "host/1/a", "9");
        StillDriver.Pushes pushes = driver.pushes().begins();
        assertThat(asked).isNotDone();
        assertThat(master.sent.get(master.sent.size() - 1)).startsWith("acquire.lua jobs:{x}");
        for (String lock : List.of("jobs:{x}", "lock:{y}")) {
            pushes.listener.message("wake id 5 " + lock);
            pushes.listener.message("taken " + lock);
            pushes.listener.message("handed id 5 6 7 " + lock);
            pushes.listener.message("unknown " + lock);
        }
        assertThat(signals).containsExactly("wake x", "taken x", "handed x");
    }

    /** A slot moves between servers with other clocks, and a broadcast passes through all of them. */
    @Test
    void theTimeOfAHandOverOnAClusterIsComparedWithNothing() {
        for (String each : List.of("7.0.0", "6.2.0")) {
            for (boolean byTheFirst : new boolean[] {true, false}) {
                version = each;
                RedisNode node = cluster();
                LockName name = served(byTheFirst);
                String life = "life-of-" + (byTheFirst ? "one" : "two");
                node.acquire(new Ballot(request(name).waiting(1_000_000_000L), 5_000, 2));
                (byTheFirst ? one : two).answers("EVALSHA", "held", "5", "host/1/a::", "host/1/a", "9");
                StillDriver.Pushes pushes = driver.pushes();
                pushes.info.complete(info(life));
                pushes.begins();
                assertThat(pushes.subscribed.get(0).sharded()).isEqualTo(each.equals("7.0.0"));
                signals.clear();
                pushes.listener.message(
                        "handed@" + life + " id 5 6 7 " + KeyLayout.standard().lock(name));
                assertThat(signals).containsExactly("handed " + name);
            }
        }
    }

    @Test
    void theTimeOfAHandOverAtOneServerIsThatOfItsClock() {
        RedisNode node = single(settings());
        node.acquire(new Ballot(request(LockName.of("x")).waiting(1_000_000_000L), 5_000, 2));
        master.answers("EVALSHA", "held", "5", "host/1/a::", "host/1/a", "9");
        StillDriver.Pushes pushes = driver.pushes();
        pushes.info.complete(info("life"));
        pushes.begins();
        pushes.listener.message("handed@life id 5 6 7 lock:{x}");
        assertThat(signals).containsExactly("handed x over life");
    }

    /** The message also names the key. */
    @Test
    void whatWasTakenIsToldByTheKeyOfTheLock() {
        RedisNode node = single(settings());
        CompletableFuture<Boolean> taken = node.admin().forceRelease(LockName.of("x"), "host/1/a");
        master.answers("EVALSHA", "removed");
        master.answers("MGET", "lock:wake:c\nrecord");
        assertThat(master.sent.get(master.sent.size() - 1)).isEqualTo("PUBLISH lock:wake:c taken lock:{x}");
        for (StillDriver.Connection.Question question : List.copyOf(master.questions)) {
            question.then().accept(null, new ServerRefusal("NOPERM no permissions to run the 'publish' command", null));
        }
        assertThat(told(taken)).as("whether it could be told does not matter").isTrue();
    }

    /** After the close, the node reports nothing any more. */
    @Test
    void afterTheCloseNothingIsMadeOrRepeated() {
        RedisNode node = single(settings());
        CompletableFuture<ReleaseReply> reply = release(node, LockName.of("x"));
        master.fails("EVALSHA", tryAgain);
        master.answers("EVALSHA", "released");
        master.answers("EVALSHA", "released");
        assertThat(reply).isDone();
        node.close();
        assertThat(driver.closed).isTrue();
        int asked = master.asked;
        runtime.advance(Duration.ofMinutes(2));
        assertThat(master.asked).isEqualTo(asked);
        assertThat(driver.asked).hasSize(1);
        assertThat(signals).isEmpty();
    }
}
