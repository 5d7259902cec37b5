package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.AmbiguousAcquireException;
import io.leasehold.Attempt;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.MultiLease;
import io.leasehold.ReleaseOutcome;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of several locks of one real server at once, and of the failures that can occur. */
@Tag("quick")
class RedisMultiLockTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static final LockName[] NAMES =
            IntStream.range(0, 5).mapToObj(i -> LockName.exactly("part:" + i)).toArray(LockName[]::new);

    private static LockClient client(int port) {
        return Leasehold.builder()
                .store("redis://127.0.0.1:" + port)
                .defaults(LockOptions.defaults().ttl(Duration.ofSeconds(20)).recheck(Duration.ofMillis(300)))
                .connect();
    }

    private static long locks() {
        return SERVER.redis().keys("lock:*}").size();
    }

    private static long scriptCalls() {
        return SERVER.server()
                .call("INFO", "commandstats")
                .lines()
                .filter(line -> line.startsWith("cmdstat_evalsha:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("^cmdstat_evalsha:calls=(\\d+),.*", "$1")
                        .strip()))
                .sum();
    }

    @Test
    void fiveLocksCostOneScriptCall() throws InterruptedException {
        try (LockClient client = client(SERVER.server().port())) {
            client.all(NAMES).acquire().release();
            long before = scriptCalls();
            MultiLease lease = client.all(NAMES).acquire();
            assertThat(scriptCalls() - before).isEqualTo(1);
            assertThat(locks()).isEqualTo(5);
            lease.release();
            assertThat(locks()).isZero();
        }
    }

    @Test
    void aLostReplyIsUndoneForAllParts() throws InterruptedException {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port());
                LockClient client = client(proxy.port())) {
            client.all(NAMES).acquire().release();
            proxy.loseNextReplyTo(request -> request.contains("part:4"));
            assertThatThrownBy(() -> client.all(NAMES).attempt(Duration.ZERO))
                    .isInstanceOf(AmbiguousAcquireException.class)
                    .hasMessageContaining("part:0");
            NodeBench.until("all parts are undone", () -> locks() == 0);
        }
    }

    @Test
    void aLostReplyIsSurvivedByWhoeverHasPatience() throws InterruptedException {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port());
                LockClient client = client(proxy.port())) {
            client.all(NAMES).acquire().release();
            proxy.loseNextReplyTo(request -> request.contains("part:4"));
            try (MultiLease lease =
                    client.all(NAMES).attempt(Duration.ofSeconds(60)).orElseThrow()) {
                assertThat(lease.isValid()).isTrue();
            }
            NodeBench.until("nothing is left", () -> locks() == 0);
        }
    }

    @Test
    void aKeyOfAnotherTypeIsBusyAndIsLeftAlone() throws InterruptedException {
        SERVER.redis().lpush("lock:{part:3}", "something else");
        try (LockClient client = client(SERVER.server().port())) {
            Attempt<MultiLease> attempt = client.all(NAMES).attempt(Duration.ofMillis(200));
            assertThat(attempt).isInstanceOf(Attempt.Busy.class);
            assertThat(((Attempt.Busy<MultiLease>) attempt).lockName()).isEqualTo(NAMES[3]);
            NodeBench.until("the others are free", () -> locks() == 1);
            assertThat(SERVER.redis().lrange("lock:{part:3}", 0, -1)).containsExactly("something else");
        }
    }

    @Test
    void closingDuringTheRequestGivesTheGrantBack() {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
            LockClient client = client(proxy.port());
            CompletableFuture<MultiLease> warm = client.all(NAMES).acquireAsync();
            warm.thenCompose(MultiLease::releaseAsync)
                    .orTimeout(60, TimeUnit.SECONDS)
                    .join();
            proxy.toClient().delay(Duration.ofMillis(300));
            CompletableFuture<MultiLease> future = client.all(NAMES).acquireAsync();
            NodeBench.until("the locks are held", () -> locks() == 5);
            client.close();
            assertThat(locks()).isZero();
            assertThatThrownBy(future::join).hasCauseInstanceOf(IllegalStateException.class);
        }
    }

    /** Even if it is the last one, after others were released. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2, 4})
    void aReleaseIsRepeatedUntilEachPartIsFree(int part) throws InterruptedException {
        RedisServer server = SERVER.server();
        server.call(Stream.concat(
                        Stream.of("ACL", "SETUSER", "app", "on", ">secret", "resetchannels"),
                        Stream.of(RedisErrors.RIGHTS.split(" ")))
                .toArray(String[]::new));
        try (LockClient client = Leasehold.connect("redis://app:secret@127.0.0.1:" + server.port())) {
            MultiLease lease = client.all(NAMES)
                    .with(options -> options.ttl(Duration.ofMinutes(5)))
                    .acquire();
            server.call(Stream.concat(
                            Stream.of("ACL", "SETUSER", "app", "resetkeys"),
                            IntStream.range(0, NAMES.length)
                                    .filter(i -> i != part)
                                    .mapToObj(i -> "~lock:{" + NAMES[i].text() + "}*"))
                    .toArray(String[]::new));
            CompletableFuture<ReleaseOutcome> released = lease.releaseAsync();
            NodeBench.until("the others are free", () -> locks() == 1);
            server.call("ACL", "SETUSER", "app", "~lock:*");

            NodeBench.until("all are free", () -> locks() == 0);
            released.orTimeout(60, TimeUnit.SECONDS).join();
        }
    }

    /**
     * As with the release of several locks whose grant the caller did not get: it is over if all of them are released,
     * else repeated.
     */
    @ParameterizedTest
    @CsvSource({
        "HELD HELD,Released",
        "HELD FREE,Released",
        "FREE HELD,Released",
        "FREE FREE,NotOurs",
        "HELD DENIED,Failed",
        "DENIED HELD,Failed",
        "FREE DENIED,Failed",
        "DENIED FREE,Failed",
        "HELD DENIED HELD,Failed",
        "FREE HELD FREE,Released"
    })
    void anEndOfSeveralIsAsGoodAsItsWorst(String states, String expected) {
        RedisServer server = SERVER.server();
        server.call(Stream.concat(
                        Stream.of("ACL", "SETUSER", "app", "on", ">secret", "resetkeys", "resetchannels"),
                        Stream.of(RedisErrors.RIGHTS.split(" ")).filter(right -> !right.startsWith("~")))
                .toArray(String[]::new));
        try (NodeBench bench = new NodeBench("redis://app:secret@127.0.0.1:" + server.port())) {
            OwnerToken owner = bench.owner();
            List<LockName> names = new ArrayList<>();
            for (String state : states.split(" ", -1)) {
                LockName name = NAMES[names.size()];
                names.add(name);
                if (!state.equals("DENIED")) {
                    server.call("ACL", "SETUSER", "app", "~lock:{" + name.text() + "}*");
                }
                if (!state.equals("FREE")) {
                    server.call("SET", "lock:{" + name.text() + "}", owner.hex() + ":5:host/1/test", "PX", "600000");
                }
            }
            ReleaseReply reply = NodeBench.answer(bench.node.release(
                    new ReleaseRequest(names, owner, 7, ReleaseRequest.Kind.UNDO, TimeUnit.SECONDS.toNanos(20))));

            assertThat(reply.getClass().getSimpleName()).isEqualTo(expected);
            if (reply instanceof ReleaseReply.Failed failed) {
                assertThat(failed.kind()).as("it is repeated").isNotEqualTo(FailureKind.PERMANENT);
            }
        }
    }

    @Test
    void moreThanAHundredAreTakenInOrder() throws InterruptedException {
        LockName[] many = IntStream.range(0, 150)
                .mapToObj(i -> LockName.exactly("many:" + i))
                .toArray(LockName[]::new);
        try (LockClient client = client(SERVER.server().port());
                MultiLease lease = client.all(many).acquire()) {
            assertThat(lease.lockNames()).hasSize(150);
            assertThat(locks()).isEqualTo(150);
        }
        assertThat(locks()).isZero();
    }
}
