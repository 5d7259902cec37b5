package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the ballots of one attempt at a real server, from its first request to its end. */
@Tag("quick")
class RedisBallotTest {

    private static final LockName NAME = LockName.exactly("ballots");
    private static final String KEY = "lock:{ballots}";
    private static final long LONG_NANOS = Duration.ofMinutes(5).toNanos();
    private static final long TIMEOUT_NANOS = Duration.ofSeconds(20).toNanos();
    private static final long SECOND = 1_000_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final LockRuntime runtime = new SystemLockRuntime();
    private LockStore store;

    @BeforeEach
    void open() {
        store = new RedisStoreProvider()
                .open(StoreUri.parse("redis://127.0.0.1:" + SERVER.server().port()), runtime);
    }

    @AfterEach
    void close() {
        store.close();
        runtime.close();
    }

    private AcquireRequest waiting(OwnerToken owner, long ballotSoFar) {
        return AcquireRequest.exclusive(List.of(NAME), owner, "host/1/test", LONG_NANOS, TIMEOUT_NANOS)
                .waiting(LONG_NANOS)
                .claiming(LONG_NANOS)
                .ballotSoFar(ballotSoFar);
    }

    private AcquireReply ask(AcquireRequest request) {
        return NodeBench.answer(store.acquire(request));
    }

    private ReleaseReply end(OwnerToken owner, long ballot) {
        return NodeBench.answer(store.release(
                new ReleaseRequest(List.of(NAME), owner, ballot, ReleaseRequest.Kind.UNDO, TIMEOUT_NANOS)));
    }

    private static long fence() {
        return Long.parseLong(SERVER.redis().get(KEY + ":fence"));
    }

    private static List<String> queue() {
        return StoredQueue.of(SERVER.redis().get(KEY + ":queued")).owners();
    }

    @Test
    void rechecksRiseAndTheUndoOfTheLastOneEndsThemAll() {
        OwnerToken holder = OwnerToken.draw(runtime);
        long held = ask(waiting(holder, 0)).ballot();
        OwnerToken waiter = OwnerToken.draw(runtime);
        long ballot = held + SECOND;
        for (int i = 0; i < 5; i++) {
            AcquireReply reply = ask(waiting(waiter, ballot));
            assertThat(reply).isInstanceOf(AcquireReply.Queued.class);
            assertThat(reply.ballot()).as("ahead of the estimate, one by one").isEqualTo(ballot + 1);
            ballot = reply.ballot();
        }
        assertThat(fence()).as("who waits raises no fence").isEqualTo(held);
        assertThat(queue()).containsExactly(waiter.hex());

        assertThat(end(waiter, ballot)).isInstanceOf(ReleaseReply.NotOurs.class);

        assertThat(fence()).isEqualTo(ballot);
        assertThat(queue()).isEmpty();
        assertThat(end(holder, held)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(SERVER.redis().exists(KEY)).isZero();
    }

    @Test
    void onlyABallotThatBeatsTheFloorEntersTheQueue() {
        OwnerToken holder = OwnerToken.draw(runtime);
        long held = ask(waiting(holder, 0)).ballot();
        long raised = held + 3 * SECOND;
        end(OwnerToken.draw(runtime), raised);
        OwnerToken waiter = OwnerToken.draw(runtime);

        AcquireReply reply = ask(waiting(waiter, 0));

        assertThat(reply).isInstanceOf(AcquireReply.Queued.class);
        assertThat(reply.ballot()).as("the ballot with which it entered").isGreaterThan(raised);
    }

    @Test
    void whatWouldRunTooFarAheadIsNotSent() {
        OwnerToken holder = OwnerToken.draw(runtime);
        long held = ask(waiting(holder, 0)).ballot();
        SERVER.redis().configResetstat();

        AcquireReply reply = ask(waiting(OwnerToken.draw(runtime), held + 60 * SECOND));

        assertThat(reply)
                .isInstanceOfSatisfying(
                        AcquireReply.Refused.class,
                        refused -> assertThat(refused.spent()).isTrue());
        assertThat(SERVER.redis().info("commandstats")).doesNotContain("cmdstat_evalsha");
        assertThat(queue()).isEmpty();
    }
}
