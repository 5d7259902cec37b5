package io.leasehold.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LockBusyException;
import io.leasehold.LockClient;
import io.leasehold.MultiLease;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** Tests of methods that take a lock as readers. */
@Tag("quick")
class LockedReadersTest {

    private final AnnotationConfigApplicationContext application = Application.of(MemoryLocks.class, Catalog.class);
    private final LockClient locks = application.getBean(LockClient.class);
    private final Catalog catalog = application.getBean(Catalog.class);

    @AfterEach
    void close() {
        application.close();
    }

    static class Catalog {

        @Locked(name = "catalog", mode = LockMode.READ, maxWait = "0")
        public <T> T read(Lease lease, Supplier<T> body) {
            assertThat(lease.isValid()).isTrue();
            assertThat(lease.lockName().isRead()).isTrue();
            return body.get();
        }

        @Locked(name = "catalog", mode = LockMode.READ, maxWait = "0", maxHold = "1h")
        public long tokenOfAReader(@FencingToken long token) {
            return token;
        }

        @Locked(name = "archive", mode = LockMode.READ, maxWait = "0", ttl = "10m")
        public <T> T forTenMinutes(Supplier<T> body) {
            return body.get();
        }

        @Locked(name = "catalog", maxWait = "0")
        public long write(@FencingToken long token) {
            return token;
        }

        @Locked(name = "catalog", maxWait = "0")
        public <T> T writing(Supplier<T> body) {
            return body.get();
        }

        @Locked(name = "shelf:{}", key = "#shelf", mode = LockMode.READ, maxWait = "0")
        public String shelf(Object shelf) {
            return Locks.current().lockName().text();
        }
    }

    @Test
    void optionsOfTheMethodAreThoseOfItsReader() {
        Duration left = catalog.forTenMinutes(
                () -> locks.admin().inspect("archive").orElseThrow().remainingTtl());
        assertThat(left).isGreaterThan(Duration.ofMinutes(5));
    }

    /** Otherwise the caller would wait for itself, and a SKIP would look like another holder each time. */
    @Test
    void aWriterInsideItsReaderIsRefusedAtOnceAsAReaderInsideItsWriter() {
        assertThatThrownBy(() -> catalog.read(null, () -> catalog.write(0)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("not reentrant");
        assertThatThrownBy(() -> catalog.writing(() -> catalog.tokenOfAReader(0)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("not reentrant");
        assertThat(locks.admin().inspect("catalog")).isEmpty();
    }

    @Test
    void readersShareTheLockAndExcludeWriters() throws Exception {
        try (Lease reader = locks.readWrite("catalog").read().acquire()) {
            assertThat(catalog.read(null, () -> "read")).as("beside %s", reader).isEqualTo("read");
            assertThatThrownBy(() -> catalog.write(0)).isInstanceOf(LockBusyException.class);
        }
        long written = catalog.write(0);
        assertThat(catalog.tokenOfAReader(0)).isGreaterThan(written);
        try (Lease writer = locks.named("catalog").acquire()) {
            assertThatThrownBy(() -> catalog.tokenOfAReader(0))
                    .as("beside %s", writer)
                    .isInstanceOf(LockBusyException.class);
        }
        application.getBean(MemoryLocks.Counting.class).assertNoneHeld();
    }

    @Test
    void aKeyNamesOneLock() {
        assertThat(catalog.shelf(7)).isEqualTo("shelf:7");
        assertThatThrownBy(() -> catalog.shelf(List.of(1, 2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a call takes a lock for reading of one name");
    }

    static class Both {
        @Locked(permits = "2", mode = LockMode.READ, maxWait = "0")
        public void run() {}
    }

    static class Several {
        @Locked(mode = LockMode.READ, maxWait = "0")
        public void run(MultiLease lease) {}
    }

    @Test
    void whatCannotWorkIsRefusedAtTheStart() {
        assertThat(Application.refused(MemoryLocks.class, Both.class))
                .hasMessageContaining("has permits and mode = READ");
        assertThat(Application.refused(MemoryLocks.class, Several.class))
                .hasMessageContaining("takes a lock for reading of several names");
    }

    /** Readers and a writer of one name are no disagreement. */
    @Test
    void bothModesOfANameAreAccepted() {
        try (AnnotationConfigApplicationContext strict =
                Application.of(MemoryLocks.class, LockedRefusalTest.Strict.class, Catalog.class)) {
            assertThat(strict.getBean(Catalog.class).write(0)).isPositive();
        }
    }
}
