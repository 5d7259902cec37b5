package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.cdi.Container.Application;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of the time for holders at the end of an application. */
@ParameterizedClass
@MethodSource("io.leasehold.cdi.Container#ofThisRun")
@Tag("full")
class ClosingTest {

    private final Container container;

    ClosingTest(Container container) {
        this.container = container;
    }

    @AfterEach
    void forgetSettings() {
        System.clearProperty("leasehold.uri");
        System.clearProperty("leasehold.shutdown.await");
    }

    /** Without a setting it is two and a half seconds. */
    @Test
    void holdersAreWaitedForForAsLongAsIsSaid() throws Exception {
        System.setProperty("leasehold.uri", "memory:");
        System.setProperty("leasehold.shutdown.await", "1d");
        Application application = container.start(StartTest.Orders.class);
        Lease lease = application.get(LockClient.class).named("any").acquire();
        Thread closing = new Thread(application::close);
        closing.start();
        closing.join(Duration.ofSeconds(3).toMillis());
        assertThat(closing.isAlive()).as("it waits for the holder").isTrue();
        lease.close();
        closing.join(Duration.ofMinutes(1).toMillis());
        assertThat(closing.isAlive()).isFalse();
    }
}
