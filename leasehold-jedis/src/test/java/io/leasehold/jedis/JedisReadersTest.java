package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.RedisStore;
import io.leasehold.servers.RedisServer;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Readers over Jedis and over Lettuce share a lock, and exclude writers of both. */
@Tag("quick")
final class JedisReadersTest {

    private static final LockName NAME = LockName.exactly("catalog");
    private static final long TTL_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(20);

    private static AcquireReply acquire(LockStore store, LockName name, OwnerToken owner) {
        return store.acquire(request(name, owner)).join();
    }

    private static AcquireRequest request(LockName name, OwnerToken owner) {
        return AcquireRequest.exclusive(List.of(name), owner, "host/1/test", TTL_NANOS, TIMEOUT_NANOS);
    }

    private static ReleaseReply release(LockStore store, LockName name, OwnerToken owner, AcquireReply granted) {
        long ballot = ((AcquireReply.Granted) granted).grant().tokens().last();
        return store.release(
                        new ReleaseRequest(List.of(name), owner, ballot, ReleaseRequest.Kind.RELEASE, TIMEOUT_NANOS))
                .join();
    }

    @Test
    void readersOfBothShareALock() throws Exception {
        LockRuntime runtime = new SystemLockRuntime();
        try (RedisServer server = Servers.one();
                LockStore jedis = JedisStore.at(server.uri()).open(runtime);
                LockStore lettuce = RedisStore.at(server.uri()).open(runtime)) {
            OwnerToken writer = OwnerToken.draw(runtime);
            OwnerToken one = OwnerToken.draw(runtime);
            OwnerToken other = OwnerToken.draw(runtime);
            assertThat(jedis.keepsReaders()).isTrue();
            assertThat(acquire(jedis, NAME, writer)).isInstanceOf(AcquireReply.Granted.class);
            assertThat(acquire(lettuce, NAME.asRead(), other)).isInstanceOf(AcquireReply.Busy.class);
            AcquireReply first =
                    jedis.downgrade(request(NAME.asRead(), one), writer).join();
            assertThat(first).isInstanceOf(AcquireReply.Granted.class);
            AcquireReply second = acquire(lettuce, NAME.asRead(), other);
            assertThat(second).isInstanceOf(AcquireReply.Granted.class);
            assertThat(acquire(lettuce, NAME, OwnerToken.draw(runtime))).isInstanceOf(AcquireReply.Busy.class);
            assertThat(jedis.renew(new RenewBatch(
                                    List.of(new RenewBatch.Item(NAME.asRead(), one, 2 * TTL_NANOS)), TIMEOUT_NANOS))
                            .join()
                            .items())
                    .allMatch(item -> item instanceof RenewReply.Renewed);
            assertThat(jedis.admin().readers(NAME, 10).join()).hasSize(2);
            assertThat(release(jedis, NAME.asRead(), one, first)).isInstanceOf(ReleaseReply.Released.class);
            assertThat(release(lettuce, NAME.asRead(), other, second)).isInstanceOf(ReleaseReply.Released.class);
            assertThat(acquire(jedis, NAME, OwnerToken.draw(runtime))).isInstanceOf(AcquireReply.Granted.class);
        } finally {
            runtime.close();
        }
    }
}
