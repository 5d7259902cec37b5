package io.leasehold.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreUri;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A caller that is interrupted while a store is being opened is told so, and stays interrupted. */
@Tag("quick")
final class InterruptedOpeningTest {

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final LockRuntime runtime = new SystemLockRuntime();

    @AfterEach
    void close() {
        runtime.close();
    }

    private static void isToldAndKept(ThrowingCallable opening) {
        Thread.currentThread().interrupt();
        Throwable told = catchThrowable(opening);
        boolean kept = Thread.interrupted();
        assertThat(told).isInstanceOf(StoreUnavailableException.class).hasMessageContaining("interrupted");
        assertThat(kept).as("it is interrupted still").isTrue();
    }

    @Test
    void ofOneServer() {
        isToldAndKept(() -> RedisStore.at(SERVER.server().uri()).open(runtime));
    }

    @Test
    void ofOneServerForPlainLocks() {
        isToldAndKept(() -> RedisStore.at(SERVER.server().uri()).openPlain(runtime));
    }

    @Test
    void ofASetOfNodes() {
        String node = "redis%3A%2F%2F127.0.0.1%3A";
        int port = SERVER.server().port();
        isToldAndKept(() -> new RedlockStoreProvider()
                .open(
                        StoreUri.parse("redlock:?node=" + node + port + "&node=" + node + "1&node=" + node + "2"),
                        runtime));
    }
}
