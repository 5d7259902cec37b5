package io.leasehold.jdbc.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.jdbc.dialect.Dialect;
import io.leasehold.jdbc.dialect.PostgresDialect;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When it is tried to listen; that it hears is shown at a real server. */
@Tag("quick")
@Timeout(60)
class NotificationWatchTest {

    /** The system had no thread to give, once: waiters poll, and are woken again later. */
    @Test
    void aThreadThatCouldNotStartIsTriedAgain() throws Exception {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        AtomicInteger threads = new AtomicInteger();
        CompletableFuture<Void> listens = new CompletableFuture<>();
        NotificationWatch watch = new NotificationWatch(
                runtime,
                ((Dialect.ByNotifications) PostgresDialect.dialect().waking()).driver(),
                () -> {
                    listens.complete(null);
                    throw new SQLException("nobody there");
                },
                echo -> {},
                new NotificationWatch.Ear(name -> {}, word -> {}),
                "here",
                task -> threads.incrementAndGet() == 1 ? new Unstartable() : NotificationWatch.thread(task));
        assertThat(watch.isReady()).isFalse();
        assertThat(watch.isReady()).isFalse();
        assertThat(threads).as("not at once").hasValue(1);
        runtime.runFor(Duration.ofSeconds(10));
        assertThat(watch.isReady()).isFalse();
        listens.get(30, TimeUnit.SECONDS);
        watch.close();
    }

    private static final class Unstartable extends Thread {
        @Override
        public synchronized void start() {
            throw new OutOfMemoryError("unable to create native thread");
        }
    }
}
