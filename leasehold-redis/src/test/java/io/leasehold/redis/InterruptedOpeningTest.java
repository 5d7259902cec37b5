package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreUri;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Tests that a caller that is interrupted during the opening of a store gets an error, stays interrupted, and leaves no
 * connection.
 */
@Tag("quick")
final class InterruptedOpeningTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final LockRuntime runtime = new SystemLockRuntime();

    @AfterEach
    void close() {
        runtime.close();
    }

    private static void isToldAndKept(TcpProxy proxy, ThrowingCallable opening) {
        Thread.currentThread().interrupt();
        Throwable told = catchThrowable(opening);
        boolean kept = Thread.interrupted();
        assertThat(told).isInstanceOf(StoreUnavailableException.class).hasMessageContaining("interrupted");
        assertThat(kept).as("it is interrupted still").isTrue();
        NodeBench.until("no connection is left", () -> proxy.connections().open() == 0);
    }

    @Test
    void ofOneServer() {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
            isToldAndKept(
                    proxy,
                    () -> RedisStore.at("redis://127.0.0.1:" + proxy.port()).open(runtime));
        }
    }

    @Test
    void ofOneServerForPlainLocks() {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
            isToldAndKept(
                    proxy,
                    () -> RedisStore.at("redis://127.0.0.1:" + proxy.port()).openPlain(runtime));
        }
    }

    @Test
    void ofASetOfNodes() {
        try (TcpProxy proxy = TcpProxy.to(SERVER.server().port())) {
            String node = "redis%3A%2F%2F127.0.0.1%3A" + proxy.port();
            String gone = "redis%3A%2F%2F127.0.0.1%3A";
            isToldAndKept(
                    proxy,
                    () -> new RedlockStoreProvider()
                            .open(
                                    StoreUri.parse("redlock:?node=" + node + "&node=" + gone + "1&node=" + gone + "2"),
                                    runtime));
        }
    }
}
