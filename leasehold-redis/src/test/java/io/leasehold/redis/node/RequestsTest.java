package io.leasehold.redis.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.redis.RedisUnderTest;
import io.leasehold.redis.topology.Deployment;
import io.leasehold.redis.topology.DriverThreads;
import io.leasehold.redis.topology.Topology;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreUri;
import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The time limit of a request, when the sending thread stands still for longer. */
@Tag("quick")
final class RequestsTest {

    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(7);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    /** What has the limit is due before its scheduling has returned. */
    private static LockRuntime standingStill(LockRuntime real) {
        return (LockRuntime) Proxy.newProxyInstance(
                RequestsTest.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("schedule") && arguments[0].equals(LIMIT_NANOS)) {
                        ((Runnable) arguments[1]).run();
                        return (LockRuntime.Timer) () -> {};
                    }
                    return method.invoke(real, arguments);
                });
    }

    @Test
    void aThreadThatStoodStillForLongerThanTheLimitTellsSoAndSendsNothing() throws Exception {
        LockRuntime real = new SystemLockRuntime();
        LockRuntime runtime = standingStill(real);
        RedisErrors errors = new RedisErrors("the server");
        Deployment where = Deployment.parse(StoreUri.parse(SERVER.server().uri()));
        try (Topology topology = Topology.of(where, errors, runtime, new DriverThreads())) {
            topology.open().get(60, TimeUnit.SECONDS);
            CompletableFuture<Object> answer = new Requests(topology, errors, runtime)
                    .<String, Object>send(
                            "set",
                            LIMIT_NANOS,
                            "key",
                            (link, then) -> link.send(redis -> redis.set("key", "late"), then),
                            (done, link) -> done,
                            failure -> failure.kind());

            assertThat(answer.get(60, TimeUnit.SECONDS)).isEqualTo(FailureKind.UNKNOWN);
            // The caller may have begun to undo it by now. Requests of one link are carried out in their order.
            CompletableFuture<Void> after = new CompletableFuture<>();
            topology.connected().get(0).send(redis -> redis.ping(), (pong, error) -> after.complete(null));
            after.get(60, TimeUnit.SECONDS);
            assertThat(SERVER.redis().exists("key")).isZero();
        } finally {
            real.close();
        }
    }
}
