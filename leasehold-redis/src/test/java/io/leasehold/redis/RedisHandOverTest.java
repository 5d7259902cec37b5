package io.leasehold.redis;

import static io.leasehold.redis.NodeBench.until;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Attempt;
import io.leasehold.Fairness;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.ReleaseOutcome;
import io.leasehold.simulator.proxy.ScheduledLoss;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.testkit.process.ChildJvm;
import io.lettuce.core.RedisURI;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests of hand-overs between processes, with lost, late and duplicate messages, and with waiters that leave at the
 * wrong moment.
 */
@Timeout(180)
@Tag("full")
class RedisHandOverTest {

    private static final Duration FOR_LONG = Duration.ofMinutes(2);
    private static final String LOCK = "handed";
    private static final String KEY = "lock:{handed}";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final Deque<AutoCloseable> opened = new ArrayDeque<>();

    @AfterEach
    void closeAll() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    private <T extends AutoCloseable> T closedAtTheEnd(T resource) {
        opened.push(resource);
        return resource;
    }

    private LockClient client() {
        return client(SERVER.server().port(), LockOptions.defaults());
    }

    private LockClient client(int port, LockOptions options) {
        return closedAtTheEnd(Leasehold.builder()
                .store("redis://127.0.0.1:" + port)
                .defaults(options)
                .connect());
    }

    private TcpProxy proxy() {
        return closedAtTheEnd(TcpProxy.to(SERVER.server().port()));
    }

    /** Starts to wait; when this returns, the waiter is in the queue. */
    private CompletableFuture<Lease> queue(LockClient client) {
        long before = waiting();
        CompletableFuture<Lease> lease =
                client.named(LOCK).attemptAsync(FOR_LONG).thenApply(Attempt::orElseThrow);
        until("the waiter is queued", () -> waiting() > before);
        return lease;
    }

    private static long waiting() {
        return StoredQueue.of(SERVER.redis().get(KEY + ":queued")).waiters().size();
    }

    private static Lease soon(CompletableFuture<Lease> lease) throws Exception {
        return lease.get(FOR_LONG.toSeconds(), TimeUnit.SECONDS);
    }

    /** Opens a separate listener on the channel of the only waiting client. */
    private BlockingQueue<String> overhear() {
        BlockingQueue<String> messages = new LinkedBlockingQueue<>();
        StatefulRedisPubSubConnection<String, String> ear =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        closedAtTheEnd(ear);
        ear.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
                messages.add(message);
            }
        });
        ear.sync().subscribe(onlyChannel());
        return messages;
    }

    private static String onlyChannel() {
        return SERVER.redis().pubsubChannels("lock:wake:*").get(0);
    }

    private static long calls(String command) {
        return SERVER.redis()
                .info("commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_" + command + ":calls="))
                .mapToLong(line -> Long.parseLong(line.substring(line.indexOf('=') + 1, line.indexOf(','))))
                .sum();
    }

    @Test
    void theLockIsTheNextHoldersBeforeItHasAskedAgain() throws Exception {
        TcpProxy proxy = proxy();
        LockClient waiter = client(proxy.port(), LockOptions.defaults());
        Lease held = client().named(LOCK).acquire();
        CompletableFuture<Lease> next = queue(waiter);
        proxy.toClient().stall();

        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);

        LockClient third = client();
        assertThat(third.admin().inspect(held.lockName()).orElseThrow().id()).isEqualTo(waiter.holderId());
        assertThat(third.named(LOCK).tryAcquire(Duration.ZERO)).isNull();
        proxy.toClient().resume();
        assertThat(soon(next).fencingToken()).isGreaterThan(held.fencingToken());
    }

    @Test
    void aLostPushCostsNoMoreThanTheRecheck() throws Exception {
        TcpProxy proxy = proxy();
        LockClient waiter = client(proxy.port(), LockOptions.defaults().recheck(Duration.ofMillis(700)));
        Lease held = client().named(LOCK).acquire();
        CompletableFuture<Lease> next = queue(waiter);
        ScheduledLoss loss = proxy.loseNextPush(message -> message.contains("handed@"));
        long asked = calls("evalsha");

        held.release();

        loss.await(FOR_LONG);
        Lease lease = soon(next);
        assertThat(lease.fencingToken()).isGreaterThan(held.fencingToken());
        assertThat(lease.remainingValidity()).isGreaterThan(Duration.ofSeconds(20));
        assertThat(calls("evalsha") - asked)
                .as("the release, what the recheck took, and rechecks before the release")
                .isBetween(2L, 6L);
        assertThat(lease.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void doubledAndLatePushesDoNothing() throws Exception {
        LockClient waiter = client();
        LockClient holder = client();
        Lease held = holder.named(LOCK).acquire();
        CompletableFuture<Lease> next = queue(waiter);
        BlockingQueue<String> messages = overhear();
        held.release();
        String push = messages.poll(60, TimeUnit.SECONDS);
        Lease first = soon(next);
        String channel = onlyChannel();

        for (int i = 0; i < 20; i++) {
            SERVER.redis().publish(channel, push);
        }
        assertThat(first.isValid()).isTrue();
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(SERVER.redis().exists(KEY)).isZero();

        Lease again = holder.named(LOCK).acquire();
        CompletableFuture<Lease> waitsAgain = queue(waiter);
        long asked = calls("evalsha");
        for (int i = 0; i < 20; i++) {
            SERVER.redis().publish(channel, push);
        }
        SERVER.redis().publish(channel, "handed 0000000000000000 1 2 3 " + KEY);
        SERVER.redis().publish(channel, "handed x y z");
        assertThat(waitsAgain).isNotDone();
        assertThat(calls("evalsha") - asked).as("they were for another attempt").isLessThanOrEqualTo(2);
        again.release();
        assertThat(soon(waitsAgain).fencingToken()).isGreaterThan(again.fencingToken());
    }

    @Test
    void whoCancelsAfterTheHandOverPassesTheLockOn() throws Exception {
        passesOn(future -> future.cancel(false), proxied -> {});
    }

    @Test
    void whoClosesItsClientAfterTheHandOverPassesTheLockOn() throws Exception {
        passesOn(future -> {}, client -> client.close(Duration.ofMillis(100)));
    }

    private interface Act<T> {
        void on(T subject) throws Exception;
    }

    private void passesOn(Act<CompletableFuture<?>> onFuture, Act<LockClient> onClient) throws Exception {
        TcpProxy proxy = proxy();
        LockClient leaving = client(proxy.port(), LockOptions.defaults());
        Lease held = client().named(LOCK).acquire();
        long before = waiting();
        CompletableFuture<Attempt<Lease>> leaves = leaving.named(LOCK).attemptAsync(FOR_LONG);
        until("it is queued", () -> waiting() > before);
        CompletableFuture<Lease> stays = queue(client());
        proxy.toClient().stall();
        held.release();
        assertThat(SERVER.redis().get(KEY)).endsWith(leaving.holderId());

        onFuture.on(leaves);
        onClient.on(leaving);

        assertThat(soon(stays).fencingToken()).isGreaterThan(held.fencingToken());
        proxy.heal();
    }

    @Test
    void whoIsInterruptedAfterTheHandOverPassesTheLockOn() throws Exception {
        TcpProxy proxy = proxy();
        LockClient leaving = client(proxy.port(), LockOptions.defaults());
        Lease held = client().named(LOCK).acquire();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread thread = NewestThreads.unstarted(() -> {
            try {
                leaving.named(LOCK).acquire();
            } catch (InterruptedException e) {
                thrown.set(e);
            }
        });
        thread.start();
        until("it is queued", () -> waiting() == 1);
        CompletableFuture<Lease> stays = queue(client());
        proxy.toClient().stall();
        held.release();
        assertThat(SERVER.redis().get(KEY)).endsWith(leaving.holderId());

        thread.interrupt();

        assertThat(soon(stays).fencingToken()).isGreaterThan(held.fencingToken());
        thread.join(FOR_LONG.toMillis());
        assertThat(thrown.get()).isInstanceOf(InterruptedException.class);
        proxy.heal();
    }

    @Test
    void aKilledWaiterIsSkipped() throws Exception {
        Lease held = client().named(LOCK).acquire();
        ChildJvm child = waitingChild();
        CompletableFuture<Lease> next = queue(client());
        List<String> listening = SERVER.redis().pubsubChannels("lock:wake:*");
        child.kill();
        until(
                "its subscription has ended",
                () -> !SERVER.redis().pubsubChannels("lock:wake:*").containsAll(listening));

        held.release();

        assertThat(waiting()).isZero();
        assertThat(soon(next).fencingToken()).isGreaterThan(held.fencingToken());
    }

    @Test
    void aFrozenWaiterCostsItsClaimAndFindsItsPlaceGone() throws Exception {
        Lease held = client().named(LOCK).acquire();
        ChildJvm child = waitingChild();
        CompletableFuture<Lease> next = queue(client());
        child.freeze();
        held.release();
        assertThat(SERVER.redis().get(KEY)).contains("/" + child.pid() + "/");
        assertThat(SERVER.redis().pttl(KEY)).isBetween(1L, 4_000L);

        Lease lease = soon(next);

        child.thaw();
        assertThat(lease.fencingToken()).isGreaterThan(held.fencingToken());
        assertThat(lease.isValid()).isTrue();
        lease.release();
        assertThat(token(child)).isGreaterThan(lease.fencingToken());
    }

    private ChildJvm waitingChild() {
        long before = waiting();
        ChildJvm child = closedAtTheEnd(ChildJvm.of(WaiterMain.class)
                .jvmArgument("-Xmx64m")
                .arguments("redis://127.0.0.1:" + SERVER.server().port(), LOCK)
                .start());
        until("the child is queued", () -> waiting() > before);
        return child;
    }

    @Test
    void processesGetTheLockInTheOrderInWhichTheyQueued() throws Exception {
        LockClient here = client(SERVER.server().port(), LockOptions.defaults().fairness(Fairness.STRICT_FIFO));
        Lease held = here.named(LOCK).acquire();
        ChildJvm first = waitingChild();
        CompletableFuture<Lease> second = queue(here);
        CompletableFuture<Attempt<Lease>> behind = here.named(LOCK).attemptAsync(FOR_LONG);
        ChildJvm third = waitingChild();

        held.release();

        long one = token(first);
        assertThat(one).isGreaterThan(held.fencingToken());
        assertThat(second).isNotDone();
        first.closeInput();
        Lease two = soon(second);
        assertThat(two.fencingToken()).isGreaterThan(one);
        two.release();
        long three = token(third);
        assertThat(three).as("before the second of this process").isGreaterThan(two.fencingToken());
        assertThat(behind).isNotDone();
        third.closeInput();
        assertThat(soon(behind.thenApply(Attempt::orElseThrow)).fencingToken()).isGreaterThan(three);
    }

    private static long token(ChildJvm holder) throws InterruptedException {
        return Long.parseLong(holder.awaitLine("HELD", FOR_LONG).substring("HELD ".length()));
    }

    @Test
    void aSubscriptionThatIsKilledWhileItsClientWaitsLosesNothingForGood() throws Exception {
        LockClient waiter = client();
        LockClient holder = client();
        for (int i = 0; i < 10; i++) {
            Lease held = holder.named(LOCK).acquire();
            CompletableFuture<Lease> next = queue(waiter);
            assertThat(SERVER.server().call("CLIENT", "KILL", "TYPE", "pubsub")).isNotEqualTo("0");

            held.release();

            Lease lease = soon(next);
            assertThat(lease.fencingToken()).isGreaterThan(held.fencingToken());
            lease.release();
        }
    }

    @Test
    void nothingIsPublishedWhenNobodyWaits() throws Exception {
        LockClient client = client();
        SERVER.redis().configResetstat();
        for (int i = 0; i < 100; i++) {
            client.named(LOCK).acquire().release();
        }
        assertThat(calls("publish")).isZero();
        until(
                "no client has subscribed",
                () -> SERVER.redis().pubsubChannels("lock:wake:*").isEmpty());
    }

    @Test
    void aForcedReleaseHandsTheLockOn() throws Exception {
        LockClient operator = client();
        Lease held = client().named(LOCK).acquire();
        CompletableFuture<Lease> next = queue(client());

        assertThat(operator.admin().forceRelease(held.lockName(), null)).isTrue();

        assertThat(soon(next).fencingToken()).isGreaterThan(held.fencingToken());
        assertThat(held.release()).isEqualTo(ReleaseOutcome.ALREADY_LOST);
    }

    @Test
    void aWaiterWithoutPatienceLeftLeavesNothing() throws Exception {
        Lease held = client().named(LOCK).acquire();
        LockClient waiter = client();
        Attempt<Lease> attempt = waiter.named(LOCK).attempt(Duration.ofMillis(50));
        assertThatThrownBy(attempt::orElseThrow).isInstanceOf(io.leasehold.LockBusyException.class);
        held.release();
        until("nothing is left", () -> SERVER.redis().exists(KEY, KEY + ":queued") == 0);
    }
}
