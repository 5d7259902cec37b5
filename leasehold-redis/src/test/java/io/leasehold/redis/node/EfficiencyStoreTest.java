package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.LettuceDriver;
import io.leasehold.redis.topology.Topologies;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.CompareAndDelete;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.StoreUri;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of the compare-and-delete of the plain store, and of its steps after a request with an unknown outcome. */
@Tag("quick")
class EfficiencyStoreTest {

    private static final LockName NAME = LockName.exactly("job");
    private static final String KEY = "lock:{job}";
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final LockRuntime runtime = new SystemLockRuntime();
    private EfficiencyStore store;

    @BeforeEach
    void open() throws Exception {
        Deployment where = Deployment.parse(StoreUri.parse(SERVER.server().uri()));
        RedisErrors errors = new RedisErrors(where.toString());
        Topology topology = Topologies.of(where, LettuceDriver.of(where, new DriverThreads()), errors, runtime);
        answer(topology.open());
        store = new EfficiencyStore(where.toString(), KeyLayout.standard(), topology, errors, runtime);
    }

    @AfterEach
    void close() {
        store.close();
        runtime.close();
    }

    private static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private AcquireRequest request(OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(NAME), owner, "host/1/test", 300 * SECOND, 20 * SECOND);
    }

    private ReleaseReply release(OwnerToken owner) throws Exception {
        return answer(
                store.release(new ReleaseRequest(List.of(NAME), owner, 1, ReleaseRequest.Kind.RELEASE, 20 * SECOND)));
    }

    @Test
    void thisServerTellsWhatItHas() throws Exception {
        CompareAndDelete told = answer(store.detect());
        boolean known = told == CompareAndDelete.SCRIPT
                || SERVER.redis().command().stream()
                        .anyMatch(c -> String.valueOf(c).contains(told.name().toLowerCase(Locale.ROOT)));
        assertThat(known).as("the server has %s", told).isTrue();
    }

    /** DELEX was not run on a real server: none that has it could be had. Without the commands the script runs. */
    @ParameterizedTest
    @EnumSource(CompareAndDelete.class)
    void whatTheServerDoesNotKnowIsDoneByScript(CompareAndDelete way) throws Exception {
        OwnerToken owner = OwnerToken.draw(runtime);
        assertThat(answer(store.acquire(request(owner)))).isInstanceOf(AcquireReply.Granted.class);
        store.comparing(way);

        assertThat(release(OwnerToken.draw(runtime))).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(SERVER.redis().get(KEY)).isEqualTo(owner.hex() + "::host/1/test");
        store.comparing(way);
        assertThat(release(owner)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(SERVER.redis().exists(KEY)).isZero();
        if (SERVER.redis().command().stream()
                .noneMatch(c -> String.valueOf(c).contains(way.name().toLowerCase(Locale.ROOT)))) {
            assertThat(store.comparison()).isEqualTo(CompareAndDelete.SCRIPT);
        }
    }

    @Test
    void aRequestWhoseAnswerWasLostIsFoundAgain() throws Exception {
        OwnerToken owner = OwnerToken.draw(runtime);
        assertThat(answer(store.acquire(request(owner)))).isInstanceOf(AcquireReply.Granted.class);
        SERVER.redis().pexpire(KEY, 1_000);

        // The engine sends this request when the first answer did not arrive.
        assertThat(answer(store.acquire(request(owner).ballotSoFar(1)))).isInstanceOf(AcquireReply.Granted.class);
        assertThat(SERVER.redis().pttl(KEY)).isGreaterThan(200_000);

        OwnerToken other = OwnerToken.draw(runtime);
        assertThat(answer(store.acquire(request(other).ballotSoFar(1)))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(answer(store.acquire(request(other)))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(release(owner)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(answer(store.acquire(request(other).ballotSoFar(1)))).isInstanceOf(AcquireReply.Granted.class);
    }

    @Test
    void aKeyOfAnotherTypeIsBusyAndNotTouched() throws Exception {
        SERVER.redis().sadd(KEY, "member");
        OwnerToken owner = OwnerToken.draw(runtime);

        assertThat(answer(store.acquire(request(owner)))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(answer(store.acquire(request(owner).ballotSoFar(1)))).isInstanceOf(AcquireReply.Busy.class);
        assertThat(release(owner)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(SERVER.redis().type(KEY)).isEqualTo("set");
    }

    /** The first of its requests may still arrive, so the next one also checks whether the key is its own. */
    @Test
    void whoseRequestMayHaveArrivedGoesOnLooking() throws Exception {
        OwnerToken owner = OwnerToken.draw(runtime);
        SERVER.redis().set(KEY, "another's");

        AcquireReply reply = answer(store.acquire(request(owner).ballotSoFar(1)));

        assertThat(reply).isEqualTo(new AcquireReply.Busy(null, 1, List.of()));
        assertThat(answer(store.acquire(request(owner)))).isEqualTo(new AcquireReply.Busy(null, 0, List.of()));
    }
}
